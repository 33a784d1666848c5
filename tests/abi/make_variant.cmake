# Writes a copy of the boundary's headers as they were or will be, for plugins of another time:
#   cmake -D INPUT=<include/assay> -D OUTPUT=<folder> -D VARIANT=<name> -P make_variant.cmake
#
#   older           the structs end earlier: slots and fields that were appended later are missing
#   newer           the structs end later, a minor that still accepts this host
#   newer_only      the same, but a minor that no longer accepts this host
#   older_only      a minor that this host no longer accepts
#   other_major     the next major: another symbol
file(REMOVE_RECURSE "${OUTPUT}/assay")
file(COPY "${INPUT}/" DESTINATION "${OUTPUT}/assay")
file(READ "${INPUT}/backend.h" text)

# Every edit has to find what it edits, else the variant would silently be this very header.
function(edit pattern replacement)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "${VARIANT}: nothing in backend.h matches ${pattern}")
  endif()
  string(REGEX REPLACE "${pattern}" "${replacement}" edited "${text}")
  set(text "${edited}" PARENT_SCOPE)
endfunction()

# "} <type>;" with fields before it.
macro(append type field)
  edit("\n} ${type};" "\n  ${field};\n} ${type};")
endmacro()

# Cuts <type> before the declaration that contains `marker`, up to its end.
macro(cut_from type first_line)
  string(FIND "${text}" "${first_line}" begin)
  string(FIND "${text}" "\n} ${type};" end)
  if(begin EQUAL -1 OR end LESS begin)
    message(FATAL_ERROR "${VARIANT}: ${type} has no ${first_line}")
  endif()
  string(SUBSTRING "${text}" 0 ${begin} head)
  string(SUBSTRING "${text}" ${end} -1 tail)
  set(text "${head}${tail}")
endmacro()

macro(minor number oldest)
  edit("ABI_MINOR [0-9]+" "ABI_MINOR ${number}")
  edit("ABI_MINOR_OLDEST [0-9]+" "ABI_MINOR_OLDEST ${oldest}")
endmacro()

macro(lengthen)
  append(assay_host "void (*future_service)(void)")
  append(assay_load_request "int64_t future_field")
  append(assay_runtime_traits "uint32_t future_trait")
  append(assay_compile_table "int32_t (*future_slot)(void)")
  append(assay_runtime_table "int32_t (*future_slot)(void)")
  append(assay_plugin "int32_t (*future_slot)(void)")
endmacro()

if(VARIANT STREQUAL "older")
  cut_from(assay_host "  /* An extension of the host by name")
  cut_from(assay_compile_table "  /* Optional, called before compile")
  cut_from(assay_runtime_table "  /* Optional. */\n  /* Can this machine")
  cut_from(assay_plugin "  /* An extension by name")
  cut_from(assay_runtime_traits "  uint32_t max_in_flight;")
elseif(VARIANT STREQUAL "newer")
  minor(9 1)
  lengthen()
elseif(VARIANT STREQUAL "newer_only")
  minor(9 9)
  lengthen()
elseif(VARIANT STREQUAL "older_only")
  minor(0 0)
elseif(VARIANT STREQUAL "other_major")
  edit("ABI_MAJOR 0" "ABI_MAJOR 1")
  edit("assay_backend_v0" "assay_backend_v1")
else()
  message(FATAL_ERROR "unknown variant ${VARIANT}")
endif()
file(WRITE "${OUTPUT}/assay/backend.h" "${text}")
