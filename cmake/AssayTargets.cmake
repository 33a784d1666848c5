# assay_library(<room> SOURCES ... [DEPS <rooms>...] [LIBS <third-party targets>...] [TESTS ...])
#
# Makes the static library assay_<room> (alias assay::<room>) and, from TESTS, the test program
# assay_<room>_test. Includes are written from src/: #include "base/status.h". A room may include
# only rooms that its DEPS name; tools/check_layering holds it to that.
include(GoogleTest)

function(assay_library room)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS;TESTS;TEST_LIBS" ${ARGN})
  set(target assay_${room})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(assay::${room} ALIAS ${target})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  list(TRANSFORM ARG_DEPS PREPEND assay::)
  target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_LIBS} assay_warnings)
  if(ASSAY_BUILD_TESTS AND ARG_TESTS)
    assay_test(${target}_test SOURCES ${ARG_TESTS} DEPS ${room} LIBS ${ARG_LIBS} ${ARG_TEST_LIBS})
  endif()
endfunction()

# assay_test(<program> SOURCES ... [DEPS <rooms>...] [LIBS ...] [LABELS slow|device|net|worker ...])
# Data of a test is found below ASSAY_SOURCE_DIR; scratch space is ::testing::TempDir().
function(assay_test program)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS;LABELS" ${ARGN})
  add_executable(${program} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND assay::)
  target_link_libraries(${program} PRIVATE ${ARG_DEPS} ${ARG_LIBS} GTest::gmock GTest::gtest_main assay_warnings)
  target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${program} PRIVATE
    ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ASSAY_BINARY_DIR="${PROJECT_BINARY_DIR}")
  set(properties)
  if(ARG_LABELS)
    set(properties PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  gtest_discover_tests(${program} DISCOVERY_TIMEOUT 60 ${properties})
endfunction()
