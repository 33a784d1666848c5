#include "host/compile_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "host/boundary.h"
#include "host/data_loader.h"
#include "host/document.h"

namespace assay::host {
namespace {

struct SizeCollector {
  std::vector<std::int64_t> sizes;
  bool written = false;
  bool lost = false;

  static void write(void* context, const std::int64_t* values, std::uint64_t count) {
    auto& self = *static_cast<SizeCollector*>(context);
    self.written = true;
    try {
      self.sizes.insert(self.sizes.end(), values, values + count);
    } catch (const std::exception&) {
      self.lost = true;
    }
  }
};

// Returns 1 to ask for an end, as the boundary wants it.
std::uint32_t forward_progress(void* context, double done, const char* stage) {
  const auto& progress = *static_cast<const CompileProgress*>(context);
  try {
    return progress(done, stage == nullptr ? "" : stage) ? 0 : 1;
  } catch (const std::exception&) {
    return 1;
  }
}

}  // namespace

CompileBackend::CompileBackend(Library library, assay_compiler* compiler)
    : library_(std::move(library)), compiler_(compiler, Destroy{library_.plugin().compile}) {}

Result<CompileBackend> CompileBackend::create(const Library& library) {
  CallError error;
  assay_compiler* compiler = nullptr;
  const std::int32_t code =
      library.plugin().compile->create(&library.host(), &compiler, error.get());
  RETURN_IF_ERROR(error.to_status(code, library.name(), "create"));
  if (compiler == nullptr) {
    return internal_error(library.name() + ": create succeeded without a compiler");
  }
  return CompileBackend(library, compiler);
}

Result<CompileTraits> CompileBackend::traits() {
  CallError error;
  assay_compile_traits traits{};
  traits.struct_size = sizeof traits;
  const std::int32_t code = table().get_traits(compiler_.get(), &traits, error.get());
  RETURN_IF_ERROR(error.to_status(code, library_.name(), "get_traits"));
  return CompileTraits{text_or_empty(traits.hardware_type), traits.need_reload != 0,
                       traits.need_quant != 0};
}

Result<std::string> CompileBackend::get_interact_profile(std::string_view configs) {
  if (!ASSAY_HAS(&table(), get_interact_profile)) return std::string();
  ASSIGN_OR_RETURN(const BoundaryDocument document, BoundaryDocument::parse(configs));
  const assay_document lent = document.get();
  CallError error;
  TextCollector text;
  const std::int32_t code =
      table().get_interact_profile(compiler_.get(), &lent, text.sink(), error.get());
  RETURN_IF_ERROR(error.to_status(code, library_.name(), "get_interact_profile"));
  RETURN_IF_ERROR(text.status());
  return text.take();
}

Result<std::optional<std::string>> CompileBackend::pre_optimize(
    std::string_view configs, const std::filesystem::path& folder) {
  if (!ASSAY_HAS(&table(), pre_optimize)) return std::optional<std::string>();
  ASSIGN_OR_RETURN(const BoundaryDocument document, BoundaryDocument::parse(configs));
  const assay_document lent = document.get();
  CallError error;
  TextCollector text;
  const std::int32_t code =
      table().pre_optimize(compiler_.get(), &lent, folder.c_str(), text.sink(), error.get());
  RETURN_IF_ERROR(error.to_status(code, library_.name(), "pre_optimize"));
  RETURN_IF_ERROR(text.status());
  std::string written = text.take();
  if (written.empty()) return std::optional<std::string>();
  return std::optional<std::string>(std::move(written));
}

Result<std::optional<std::vector<std::int64_t>>> CompileBackend::get_best_batch_size() {
  using Sizes = std::optional<std::vector<std::int64_t>>;
  if (!ASSAY_HAS(&table(), get_best_batch_size)) return Sizes();
  SizeCollector collector;
  const assay_int64_sink sink{sizeof sink, 0, &collector, &SizeCollector::write};
  CallError error;
  const std::int32_t code = table().get_best_batch_size(compiler_.get(), &sink, error.get());
  RETURN_IF_ERROR(error.to_status(code, library_.name(), "get_best_batch_size"));
  if (!collector.written) return Sizes();
  const bool sound =
      !collector.lost && !collector.sizes.empty() &&
      std::all_of(collector.sizes.begin(), collector.sizes.end(), [](auto n) { return n >= 1; });
  if (!sound) {
    return internal_error(fmt::format(
        "{}: get_best_batch_size gave [{}], wanted: at least one batch size, each 1 or more",
        library_.name(), fmt::join(collector.sizes, ",")));
  }
  return Sizes(std::move(collector.sizes));
}

Result<std::string> CompileBackend::compile(const CompileRequest& request, CalibrationData& data) {
  ASSIGN_OR_RETURN(const BoundaryDocument document, BoundaryDocument::parse(request.configs));
  const assay_document configs = document.get();
  const LoaderBridge loader(data);
  CompileProgress progress = request.progress;

  assay_compile_request lent{};
  lent.struct_size = sizeof lent;
  lent.configs = &configs;
  lent.artifact_folder = borrowed(request.artifact_folder.native());
  lent.loader = loader.get();
  if (progress) {
    lent.progress_context = &progress;
    lent.progress = forward_progress;
  }
  CallError error;
  TextCollector text;
  const std::int32_t code = table().compile(compiler_.get(), &lent, text.sink(), error.get());
  RETURN_IF_ERROR(error.to_status(code, library_.name(), "compile"));
  RETURN_IF_ERROR(text.status());
  std::string result = text.take();
  if (result.empty()) {
    return internal_error(library_.name() + ": compile succeeded without a compile result");
  }
  return result;
}

}  // namespace assay::host
