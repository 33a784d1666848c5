# What a backend is built with; the same in this tree and, installed, in a vendor's own.
#
# assay::backend_api      the headers, and a linker script by which only the entry leaves a library,
#                         whatever visibility the vendor compiles with
#
# assay_add_backend(<HW> SOURCES ... [LIBS ...])
#   Builds assay_backend_<hw> from SOURCES and lays it out, with manifest.json and <HW>.json (when
#   there is one) of the current folder, in ${ASSAY_BACKENDS_OUTPUT}/<HW>; installs the same to
#   lib/assay/backends/<HW>. ASSAY_BACKENDS names such a folder to Assay.
include(GNUInstallDirs)
set(ASSAY_BACKENDS_OUTPUT "${CMAKE_BINARY_DIR}/backends" CACHE PATH
    "Folder in which built backends are laid out")

if(NOT TARGET assay::backend_api)
  add_library(assay_backend_api INTERFACE)
  add_library(assay::backend_api ALIAS assay_backend_api)
  set_target_properties(assay_backend_api PROPERTIES EXPORT_NAME backend_api)
  target_compile_features(assay_backend_api INTERFACE cxx_std_17)
  target_include_directories(assay_backend_api INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  foreach(kind IN ITEMS MODULE_LIBRARY SHARED_LIBRARY)
    set(is_kind "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,${kind}>")
    set(exports "assay/backend_exports.map")
    target_link_options(assay_backend_api INTERFACE
      "$<BUILD_INTERFACE:$<${is_kind}:LINKER:--version-script=${PROJECT_SOURCE_DIR}/include/${exports}>>"
      "$<INSTALL_INTERFACE:$<${is_kind}:LINKER:--version-script=$<INSTALL_PREFIX>/${CMAKE_INSTALL_INCLUDEDIR}/${exports}>>")
  endforeach()
endif()

function(assay_add_backend hardware_type)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  string(TOLOWER "${hardware_type}" name)
  set(target assay_backend_${name})
  set(folder "${ASSAY_BACKENDS_OUTPUT}/${hardware_type}")
  add_library(${target} MODULE ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE assay::backend_api ${ARG_LIBS})
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${folder}")
  set(files "${CMAKE_CURRENT_SOURCE_DIR}/manifest.json")
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${hardware_type}.json")
    list(APPEND files "${CMAKE_CURRENT_SOURCE_DIR}/${hardware_type}.json")
  endif()
  foreach(file IN LISTS files)
    get_filename_component(file_name "${file}" NAME)
    configure_file("${file}" "${folder}/${file_name}" COPYONLY)
  endforeach()
  set(destination "${CMAKE_INSTALL_LIBDIR}/assay/backends/${hardware_type}")
  install(TARGETS ${target} LIBRARY DESTINATION "${destination}")
  install(FILES ${files} DESTINATION "${destination}")
endfunction()
