# Third-party libraries. Distribution packages by find_package; pinned ones from ASSAY_DEPS_DIR,
# where tools/setup put them. A build never downloads.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
if(ASSAY_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
