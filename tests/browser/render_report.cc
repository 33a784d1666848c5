// render_report RESULT.json REPORT.html: draws one report, for the browser test.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "report/html.h"
#include "report/json.h"

namespace {

assay::Status render(const char* result_path, const char* report_path) {
  ASSIGN_OR_RETURN(const assay::Json result, assay::report::read_result(result_path));
  return assay::write_file_atomic(report_path, assay::report::render_html(result));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: render_report RESULT.json REPORT.html\n", stderr);
    return 2;
  }
  const assay::Status status = render(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
