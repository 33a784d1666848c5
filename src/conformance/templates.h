#pragma once

// The files of a new backend, as part of the program. @HW@ and @hw@ stand for its hardware type.

#include <string_view>

namespace assay::conformance {

// NOLINTBEGIN(readability-identifier-naming): named as the files
extern const std::string_view cpp_cmakelists_in;
extern const std::string_view cpp_manifest_in;
extern const std::string_view cpp_compile_h_in;
extern const std::string_view cpp_compile_cc_in;
extern const std::string_view cpp_runtime_h_in;
extern const std::string_view cpp_runtime_cc_in;
extern const std::string_view cpp_plugin_in;
extern const std::string_view cpp_readme_in;
extern const std::string_view py_compile_in;
extern const std::string_view py_runtime_in;
extern const std::string_view py_manifest_in;
extern const std::string_view py_readme_in;
// NOLINTEND(readability-identifier-naming)

}  // namespace assay::conformance
