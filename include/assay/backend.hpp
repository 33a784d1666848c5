#ifndef ASSAY_BACKEND_HPP_
#define ASSAY_BACKEND_HPP_

// C++17 classes over backend.h. A backend derives from CompileBackend and RuntimeBackend and ends
// with ASSAY_EXPORT_BACKEND(CompileBackendX, RuntimeBackendX). Any exception may be thrown from any
// method: it is caught here and becomes a code and a message. Versions and sizes are stamped here.
//
// Threads: one call at a time on one object, except where thread_rule() or AsyncRuntime say more.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/backend.h"

#if defined(__GNUC__)
#define ASSAY_HIDDEN_ __attribute__((visibility("hidden")))
#else
#define ASSAY_HIDDEN_
#endif

namespace assay {
namespace backend {

namespace detail ASSAY_HIDDEN_ {
struct Access;
}

// A failure with its code. Other exceptions cross as ASSAY_UNKNOWN with what() as the message,
// std::bad_alloc as ASSAY_RESOURCE_EXHAUSTED, std::invalid_argument as ASSAY_INVALID_ARGUMENT.
class Error : public std::runtime_error {
 public:
  Error(std::int32_t code, const std::string& message)
      : std::runtime_error(message), code_(code == ASSAY_OK ? ASSAY_UNKNOWN : code) {}
  std::int32_t code() const { return code_; }

 private:
  std::int32_t code_;
};

enum class DType : std::uint32_t {
  kFloat64 = ASSAY_FLOAT64,
  kFloat32 = ASSAY_FLOAT32,
  kFloat16 = ASSAY_FLOAT16,
  kBFloat16 = ASSAY_BFLOAT16,
  kFloat8E4M3 = ASSAY_FLOAT8E4M3,
  kInt64 = ASSAY_INT64,
  kInt32 = ASSAY_INT32,
  kInt16 = ASSAY_INT16,
  kInt8 = ASSAY_INT8,
  kUInt8 = ASSAY_UINT8,
  kBool = ASSAY_BOOL,
  kUInt16 = ASSAY_UINT16,
  kUInt32 = ASSAY_UINT32,
  kUInt64 = ASSAY_UINT64,
};

// Bytes of one element; 0 for a number that is none of the list.
std::size_t size_of(DType dtype);

// ---- JSON without a library ---------------------------------------------------------------------

// A JSON document. Leaves are found by dotted names: text("model_info.model_path"),
// integer("interact_info.threads", 1), text("segments.0.compiled_model.0.compiled_obj").
class Document {
 public:
  Document() = default;
  explicit Document(const assay_document& document);

  // The whole text, for a JSON library of your choice.
  const std::string& json() const { return json_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // With a fallback: that when the leaf is absent or null. Without: throws when it is.
  // A leaf of another type throws, naming it.
  std::string text(std::string_view name) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  double number(std::string_view name, double fallback) const;
  bool flag(std::string_view name, bool fallback) const;

 private:
  struct Leaf {
    std::string name;
    std::string value;
    std::uint32_t kind;
  };
  const Leaf* find(std::string_view name) const;  // null when absent or JSON null
  const Leaf& require(std::string_view name) const;

  std::string json_;
  std::vector<Leaf> leaves_;
};

// `text` as a JSON string, with its quotes.
std::string json_quoted(std::string_view text);

// The usual compile result: one segment, one object per batch size. Write your own JSON for more.
struct CompileResult {
  struct Object {
    std::int64_t batch_size;  // 1 with a model of free batch serves every batch size
    std::string file;         // relative to the artifact folder
  };
  std::string model;
  std::string framework;
  std::string compile_precision;        // what is executed, free text: "FP32", "int16_mix"
  std::vector<std::string> input_type;  // "FLOAT32", in input order
  std::int64_t max_batch_size = 1;
  std::int64_t instance_count = 1;
  std::int64_t device_count = 1;
  std::vector<Object> objects;

  std::string to_json() const;
};

// ---- Tensors ------------------------------------------------------------------------------------

struct TensorSpec {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;  // outermost first; -1: free
};

struct Signature {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};

// A contiguous host tensor, borrowed.
class Tensor {
 public:
  explicit Tensor(const assay_tensor& tensor) : tensor_(&tensor) {}

  const char* name() const { return tensor_->name; }
  DType dtype() const { return static_cast<DType>(tensor_->dtype); }
  std::size_t rank() const { return tensor_->rank; }
  std::int64_t dim(std::size_t axis) const { return tensor_->shape[axis]; }
  const std::int64_t* shape() const { return tensor_->shape; }
  std::size_t size_bytes() const { return static_cast<std::size_t>(tensor_->size_bytes); }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(tensor_->data);
  }

 private:
  const assay_tensor* tensor_;
};

// The inputs of one call, in the order of the signature. Valid until the call returns.
class Inputs {
 public:
  Inputs(const assay_tensor* tensors, std::uint64_t count)
      : tensors_(tensors), count_(static_cast<std::size_t>(count)) {}

  std::size_t size() const { return count_; }
  Tensor operator[](std::size_t index) const { return Tensor(tensors_[index]); }
  const assay_tensor* data() const { return tensors_; }  // as they came over the boundary

 private:
  const assay_tensor* tensors_;
  std::size_t count_;
};

// Gives memory for the outputs of one call. Every output is allocated exactly once, in any order.
// Cheap to copy; valid until the call returns or completes.
class Outputs {
 public:
  Outputs(const assay_output_sink& sink, const std::vector<TensorSpec>& specs)
      : context_(sink.context), alloc_(sink.alloc_output), specs_(&specs) {}

  std::size_t size() const { return specs_->size(); }

  // Memory for output `index` of this concrete shape: 64-byte aligned, content undefined.
  // Throws what the host has against it.
  void* allocate(std::size_t index, const std::int64_t* shape, std::size_t rank);

  template <typename T>
  T* allocate(std::size_t index, std::initializer_list<std::int64_t> shape) {
    return static_cast<T*>(allocate(index, shape.begin(), shape.size()));
  }
  template <typename T>
  T* allocate(std::size_t index, const std::vector<std::int64_t>& shape) {
    return static_cast<T*>(allocate(index, shape.data(), shape.size()));
  }

 private:
  void* context_;
  std::int32_t (*alloc_)(void*, std::uint32_t, assay_tensor*, assay_error*);
  const std::vector<TensorSpec>* specs_;
};

// Samples for calibration and for benchmark().
class DataLoader {
 public:
  explicit DataLoader(const assay_data_loader& loader) : loader_(&loader) {}

  std::uint64_t size() const { return loader_->sample_count; }  // samples; 0: there is no data
  bool disjoint() const { return loader_->disjoint != 0; }      // from those of the evaluation
  // Samples [first, first + count) as one batch; valid until the next read.
  Inputs read(std::uint64_t first, std::uint64_t count);

 private:
  const assay_data_loader* loader_;
};

// ---- The classes to derive from -----------------------------------------------------------------

// What both kinds of backend may use of the host. Not yet usable in a constructor.
class HostAccess {
 protected:
  // A line for the log of the run, `level` one of ASSAY_LOG_*. Never the way to report a failure.
  void log(std::uint32_t level, std::string_view line) const {
    if (host_ != nullptr && ASSAY_HAS(host_, log)) {
      host_->log(host_->context, level, line.data(), line.size());
    }
  }
  // An extension of the host, or nullptr.
  const void* host_extension(const char* name) const {
    if (host_ == nullptr || !ASSAY_HAS(host_, get_extension)) return nullptr;
    return host_->get_extension(host_->context, name);
  }

 private:
  friend struct detail::Access;
  const assay_host* host_ = nullptr;
};

// One compilation: where the artifact goes and who is waiting for it.
class CompileJob {
 public:
  explicit CompileJob(const assay_compile_request& request) : request_(&request) {}

  // Absolute path of `file` in the artifact folder. The result names files without the folder.
  std::string path(std::string_view file) const {
    return std::string(request_->artifact_folder.data, request_->artifact_folder.size)
        .append("/")
        .append(file);
  }
  // Says that compile is alive; call it every few seconds. `done` in 0..1, negative: unknown.
  // Throws ASSAY_CANCELLED when compile should end.
  void progress(double done, const char* stage) const {
    if (!ASSAY_HAS(request_, progress)) return;
    if (request_->progress(request_->progress_context, done, stage) != 0) {
      throw Error(ASSAY_CANCELLED, "the host asked compile to end");
    }
  }

 private:
  const assay_compile_request* request_;
};

// configs = {workload, model_info, interact_info}.
class CompileBackend : public HostAccess {
 public:
  virtual ~CompileBackend() = default;

  // The name of the backend's folder: "CPU".
  virtual std::string hardware_type() = 0;
  // Compiles once, for every batch size; returns the compile result (CompileResult::to_json()).
  virtual std::string compile(const Document& configs, DataLoader& dataloader, CompileJob& job) = 0;

  // The questions to ask the user, a JSON list; "" for none.
  virtual std::string get_interact_profile(const Document& /*configs*/) { return {}; }
  // May write a changed model into `folder` and return the whole configs that describe it.
  virtual std::optional<std::string> pre_optimize(const Document& /*configs*/,
                                                  const std::string& /*folder*/) {
    return std::nullopt;
  }
  // Batch sizes that replace the workload's; nullopt keeps those.
  virtual std::optional<std::vector<std::int64_t>> get_best_batch_size() { return std::nullopt; }
  virtual bool need_reload() { return false; }
  virtual bool need_quant() { return false; }
};

struct LoadRequest {
  Document configs;
  Document compile_result;
  std::string artifact_folder;
  std::int64_t batch_size = 1;
  std::vector<std::int32_t> device_ids;  // use these and no others; empty: the default
  std::vector<std::int32_t> cpus;        // CPUs this process may use
  std::int32_t numa_node = -1;           // -1: any

  // Absolute path of a file that the compile result names.
  std::string path(std::string_view file) const {
    return std::string(artifact_folder).append("/").append(file);
  }
};

struct Device {
  std::int32_t id = 0;
  std::string name;
  std::string serial;              // "": unknown
  std::int32_t numa_node = -1;     // -1: unknown
  std::uint64_t memory_bytes = 0;  // 0: unknown
};

struct ProbeResult {
  bool available = false;
  std::string reason;  // why not, and what to do
  std::string driver_version;
  std::string sdk_version;
  std::vector<Device> devices;
};

enum class ThreadRule : std::uint32_t {
  kOneCall = ASSAY_THREADS_ONE_CALL,  // one predict at a time
  kAny = ASSAY_THREADS_ANY,           // any number of predicts at once
};

class RuntimeBackend : public HostAccess {
 public:
  virtual ~RuntimeBackend() = default;

  // Versions of runtime, driver and firmware, for the report.
  virtual std::string version() = 0;
  // Gets ready to predict with request.batch_size; may be called again for another one.
  virtual void load(const LoadRequest& request) = 0;
  // What the loaded model takes and gives. Asked once after each load.
  virtual Signature signature() = 0;
  // One call, one batch. The inputs are as the signature says; returns when the bytes of all
  // outputs are in host memory.
  virtual void predict(const Inputs& inputs, Outputs& outputs) = 0;

  // When it differs from the one asked for; nullopt: it is the one asked for.
  virtual std::optional<std::int64_t> get_loaded_batch_size() { return std::nullopt; }
  virtual ThreadRule thread_rule() { return ThreadRule::kOneCall; }
  // Gives the device back. Nothing follows but the destructor.
  virtual void close() {}
  // Makes the loaded state usable again after a predict that failed.
  virtual void recover() { throw Error(ASSAY_UNIMPLEMENTED, "this backend cannot recover"); }
  virtual bool is_qs_mode_supported() { return false; }
  virtual std::string generate_qs_config() {
    throw Error(ASSAY_UNIMPLEMENTED, "this backend has no QS mode");
  }
  // The backend's own figures as JSON (assay_runtime_table.benchmark says which members are read);
  // shown as the vendor's claim. Called after the measurement, when the derived class has it.
  virtual std::string benchmark(DataLoader& /*dataloader*/) {
    throw Error(ASSAY_UNIMPLEMENTED, "this backend has no benchmark of its own");
  }

  // Hide these in the derived class to provide them. probe() acquires nothing.
  static ProbeResult probe() { throw Error(ASSAY_UNIMPLEMENTED, "this backend has no probe"); }
  static const void* get_extension(const char* /*name*/) { return nullptr; }
};

// The right and the duty to report the end of one submitted call, once. Dropping it reports
// ASSAY_INTERNAL, so no call is ever lost. Move-only; any thread.
class Completion {
 public:
  explicit Completion(const assay_submit_request& request)
      : context_(request.completion_context),
        complete_(request.complete),
        ticket_(request.ticket) {}
  Completion(Completion&& other) noexcept
      : context_(other.context_),
        complete_(std::exchange(other.complete_, nullptr)),
        ticket_(other.ticket_) {}
  Completion& operator=(Completion&& other) noexcept {
    if (this == &other) return *this;
    drop();
    context_ = other.context_;
    complete_ = std::exchange(other.complete_, nullptr);
    ticket_ = other.ticket_;
    return *this;
  }
  ~Completion() { drop(); }

  std::uint64_t ticket() const { return ticket_; }
  // Neither reported nor moved from.
  bool pending() const { return complete_ != nullptr; }
  void succeed() { report(ASSAY_OK, nullptr); }
  void fail(std::int32_t code, const char* message) { report(code, message); }

 private:
  friend struct detail::Access;
  void drop() { report(ASSAY_INTERNAL, "the backend dropped the call"); }
  void report(std::int32_t code, const char* message) {
    if (auto* complete = std::exchange(complete_, nullptr)) {
      complete(context_, ticket_, code, message);
    }
  }

  void* context_;
  void (*complete_)(void*, std::uint64_t, std::int32_t, const char*);
  std::uint64_t ticket_;
};

// A second base of a RuntimeBackend whose device works while the host does something else.
class AsyncRuntime {
 public:
  virtual ~AsyncRuntime() = default;

  // Calls that may be on their way at once, at least 1. Asked after load.
  virtual std::uint32_t max_in_flight() = 0;
  // Starts a call. Accepts it by moving from `completion`; refuses it by throwing before that
  // (ASSAY_RESOURCE_EXHAUSTED when full). Input data stays readable and `outputs` valid until the
  // completion is reported; the Inputs object itself only until submit returns. Any number of
  // threads.
  virtual void submit(const Inputs& inputs, Outputs outputs, Completion& completion) = 0;

  virtual bool can_cancel() { return false; }
  // Asks for a call to end early. Returns whether it was on its way; it still completes.
  virtual bool cancel(std::uint64_t /*ticket*/) { return false; }
};

// The object behind a handle, for functions of extensions.
template <typename Runtime>
Runtime& runtime_of(assay_runtime* handle);

}  // namespace backend
}  // namespace assay

#include "assay/detail/document.hpp"
#include "assay/detail/plugin.hpp"

// Once per library, outside any namespace.
#define ASSAY_EXPORT_BACKEND(CompileClass, RuntimeClass)                                     \
  std::int32_t ASSAY_BACKEND_ENTRY(const assay_host* host, const assay_plugin** plugin,      \
                                   assay_error* error) {                                     \
    return ::assay::backend::detail::Plugin<CompileClass, RuntimeClass>::enter(host, plugin, \
                                                                               error);       \
  }

#endif  // ASSAY_BACKEND_HPP_
