#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it so
class App;
class ParseError;
}  // namespace CLI

namespace assay::cli {

// What is wrong with a command line that `app` refused, in the words of who typed it: the command
// or option that is unknown, with the nearest that there is.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace assay::cli
