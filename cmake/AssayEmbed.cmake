# assay_embed_files(<variable> NAMESPACE <a::b> HEADER <file.h> FILES <file>...)
#
# Makes a .cc at build time that defines, for each file, `const std::string_view <name>` in the
# namespace: the file's bytes, <name> its file name with '.' and '-' turned into '_'
# (workload.schema.json -> workload_schema_json). HEADER declares them. The .cc's path goes to
# <variable>, to be named among a target's SOURCES.
function(assay_embed_files variable)
  cmake_parse_arguments(ARG "" "NAMESPACE;HEADER" "FILES" ${ARGN})
  string(REPLACE "::" "_" stem "${ARG_NAMESPACE}")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/embedded_${stem}.cc")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake")
  string(REPLACE ";" "|" files "${ARG_FILES}")
  add_custom_command(
    OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" -D "OUTPUT=${source}" -D "NAMESPACE=${ARG_NAMESPACE}"
            -D "HEADER=${ARG_HEADER}" -D "FILES=${files}" -P "${script}"
    DEPENDS ${ARG_FILES} "${script}"
    COMMENT "Embedding files for ${ARG_NAMESPACE}"
    VERBATIM)
  set(${variable} "${source}" PARENT_SCOPE)
endfunction()
