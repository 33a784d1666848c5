# Installs BUILD to a fresh prefix, builds examples/backend_cpp and a plain C consumer against it,
# and uses the example: see CMakeLists.txt.
file(REMOVE_RECURSE "${SCRATCH}")
set(prefix "${SCRATCH}/prefix with a space")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# One symbol leaves `library`, whatever the vendor's flags.
function(expect_one_symbol library)
  run("${NM}" -D --defined-only "${library}")
  if(NOT output MATCHES "^[0-9a-f]+ T assay_backend_v0\n$")
    message(FATAL_ERROR "${library} exports:\n${output}")
  endif()
endfunction()

function(build_against_prefix source binary)
  run("${CMAKE_COMMAND}" -S "${source}" -B "${binary}" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_C_COMPILER=${C_COMPILER}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"
    "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror" "-DCMAKE_CXX_VISIBILITY_PRESET=default" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${binary}")
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

build_against_prefix("${SOURCE}/tests/install/consumer" "${SCRATCH}/consumer"
  "-DPLUGIN_SOURCE=${SOURCE}/tests/abi/plugin_of_another_time.c")
expect_one_symbol("${SCRATCH}/consumer/libconsumer.so")

build_against_prefix("${SOURCE}/examples/backend_cpp" "${SCRATCH}/example")
set(backends "${SCRATCH}/example/backends")
expect_one_symbol("${backends}/LINEAR/libassay_backend_linear.so")

set(model "${SOURCE}/examples/backend_cpp/model/linear.onnx")
file(MAKE_DIRECTORY "${SCRATCH}/artifact")
run("${CHECK}" "${backends}" "${model}" "${SCRATCH}/artifact")

# Installing the example puts it where an installed Assay finds it by itself.
run("${CMAKE_COMMAND}" --install "${SCRATCH}/example" --prefix "${prefix}")
if(NOT EXISTS "${prefix}/lib/assay/backends/LINEAR/manifest.json")
  message(FATAL_ERROR "the example was not installed to lib/assay/backends/LINEAR")
endif()

if(PROGRAM)
  # 1: a criterion is not met; on a busy machine a row may not count. Anything else is broken.
  execute_process(COMMAND "${prefix}/${PROGRAM}" run --model "${model}" --hardware_type LINEAR
      --quick --output "${SCRATCH}/result"
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code MATCHES "^[01]$")
    message(FATAL_ERROR "assay run failed with ${code}:\n${output}")
  endif()
  # The example keeps the contract, and so does a backend that nobody has filled yet.
  run("${CMAKE_COMMAND}" -E env "ASSAY_BACKENDS=${backends}" "${prefix}/${PROGRAM}" check-backend LINEAR --quick
    --model "${model}")
  run("${prefix}/${PROGRAM}" new-backend NEW_CARD --language cpp --output "${SCRATCH}/new")
  build_against_prefix("${SCRATCH}/new/NEW_CARD" "${SCRATCH}/new_card")
  expect_one_symbol("${SCRATCH}/new_card/backends/NEW_CARD/libassay_backend_new_card.so")
  run("${CMAKE_COMMAND}" -E env "ASSAY_BACKENDS=${SCRATCH}/new_card/backends" "${prefix}/${PROGRAM}"
    check-backend NEW_CARD --quick --junit "${SCRATCH}/new_card.xml")
  file(READ "${SCRATCH}/result/result.json" result)
  string(JSON hardware GET "${result}" hardware_type)
  if(NOT hardware STREQUAL "LINEAR")
    message(FATAL_ERROR "result.json is about ${hardware}")
  endif()
endif()
