# Third-party libraries as targets. Distribution packages are found by find_package; pinned ones
# lie in ASSAY_DEPS_DIR, where tools/setup put them at the versions of tools/deps.lock. A build
# never downloads. What is missing is reported once, by name, with the command that brings it.
#
# Always:      fmt::fmt  nlohmann_json::nlohmann_json  OpenSSL::Crypto  CLI11::CLI11  assay_valijson
#              JPEG::JPEG  PNG::PNG  ZLIB::ZLIB  libzip::zip  protobuf::libprotobuf
#              ftxui::screen  ftxui::dom  ftxui::component
#              assay_onnxruntime_headers (headers only: the library is opened at run time)
#              ASSAY_PYTHON_INCLUDE_DIR (headers only: the symbols are the interpreter's)
# Tests:       GTest::*          Bench: benchmark::benchmark
# Variables:   ASSAY_ONNXRUNTIME_DIR  ASSAY_ONNXRUNTIME_LIBRARY  ASSAY_UPLOT_DIR  ASSAY_ONNX_PROTO
#              ASSAY_LOADGEN_DIR (empty when tools/setup --bench has not been run)
#              ASSAY_OPENVINO_DIR (empty when nobody has asked for that backend: tools/lib/backends.sh)

# assay_pinned_dir(<name> <result> [OPTIONAL]): the folder of a pinned dependency.
# OPTIONAL sets <result> to "" when the folder is missing; otherwise that is an error.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/deps.lock")
file(STRINGS "${PROJECT_SOURCE_DIR}/tools/deps.lock" assay_lock REGEX "^[a-z]")

function(assay_pinned_dir name result)
  cmake_parse_arguments(ARG "OPTIONAL" "" "" ${ARGN})
  set(version)
  foreach(line IN LISTS assay_lock)
    if(line MATCHES "^${name} +([^ ]+) ")
      set(version "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  if(NOT version)
    message(FATAL_ERROR "tools/deps.lock does not name ${name}")
  endif()
  set(dir "${ASSAY_DEPS_DIR}/${name}-${version}")
  if(NOT EXISTS "${dir}")
    if(NOT ARG_OPTIONAL)
      message(FATAL_ERROR "${name} ${version} is not in ${ASSAY_DEPS_DIR}.\nRun tools/setup, or see "
        "docs/guide/other-distributions.md to supply it yourself.")
    endif()
    set(dir "")
  endif()
  set(${result} "${dir}" PARENT_SCOPE)
endfunction()

# Distribution packages.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(CLI11 REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Protobuf REQUIRED)
find_package(PkgConfig REQUIRED)
if(ASSAY_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(ASSAY_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()

# libzip's own CMake package names its command-line tools, which Debian packs apart.
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
add_library(libzip::zip ALIAS PkgConfig::LIBZIP)

find_path(ASSAY_VALIJSON_INCLUDE_DIR valijson/validator.hpp REQUIRED)
add_library(assay_valijson INTERFACE)
target_include_directories(assay_valijson SYSTEM INTERFACE "${ASSAY_VALIJSON_INCLUDE_DIR}")

# Headers of CPython, any from 3.8 on: the bridge to Python backends uses the limited C API alone.
# FindPython3 knows only the interpreter that it finds first, which may come without headers.
find_package(Python3 COMPONENTS Interpreter)
set(assay_python_hint)
if(Python3_FOUND)
  execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_path('include'))"
    OUTPUT_VARIABLE assay_python_hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(GLOB assay_python_places "/usr/include/python3.*")
find_path(ASSAY_PYTHON_INCLUDE_DIR Python.h HINTS "${assay_python_hint}" PATHS ${assay_python_places}
  DOC "Holds Python.h" REQUIRED)

# Pinned dependencies.
assay_pinned_dir(onnxruntime ASSAY_ONNXRUNTIME_DIR)
set(ASSAY_ONNXRUNTIME_LIBRARY "${ASSAY_ONNXRUNTIME_DIR}/lib/libonnxruntime.so")
add_library(assay_onnxruntime_headers INTERFACE)
target_include_directories(assay_onnxruntime_headers SYSTEM INTERFACE
  "${ASSAY_ONNXRUNTIME_DIR}/include" "${ASSAY_ONNXRUNTIME_DIR}/include/onnxruntime")

assay_pinned_dir(ftxui assay_ftxui_dir)
find_package(ftxui REQUIRED CONFIG PATHS "${assay_ftxui_dir}" NO_DEFAULT_PATH)

assay_pinned_dir(uplot ASSAY_UPLOT_DIR)

assay_pinned_dir(onnx-proto assay_onnx_proto_dir)
set(ASSAY_ONNX_PROTO "${assay_onnx_proto_dir}/onnx/onnx-ml.proto")

assay_pinned_dir(loadgen ASSAY_LOADGEN_DIR OPTIONAL)

# Of backends that come on demand.
assay_pinned_dir(openvino ASSAY_OPENVINO_DIR OPTIONAL)
assay_pinned_dir(libtorch ASSAY_LIBTORCH_DIR OPTIONAL)
