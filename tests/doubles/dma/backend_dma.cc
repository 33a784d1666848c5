// An asynchronous accelerator in miniature: memory of its own, a DMA engine that works while the
// host does something else, a bounded queue. It computes y = 2x + 1 on FLOAT32 [?,4].
//
// DMA_FAULT in the environment plants one violation of the contract of submitted calls:
//   twice          after 20 completions one is reported twice
//   deeper         takes one call more than max_in_flight
//   no_nested      refuses submit inside a completion
//   cancel_any     cancel of any ticket succeeds
//   close_forgets  close drops what waits; each call takes 50 ms
//   writes_input   an input is overwritten before its call completes
//
// What it shows about the boundary is in docs/adr/0010-boundary-on-real-devices.md.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "assay/backend.hpp"
#include "dma_control.h"

namespace {

namespace backend = assay::backend;

constexpr std::int64_t kWidth = 4;
constexpr std::int64_t kMaxBatch = 64;

bool planted(const char* name) {
  const char* const asked = std::getenv("DMA_FAULT");  // NOLINT(concurrency-mt-unsafe)
  return asked != nullptr && std::strcmp(asked, name) == 0;
}

class CompileBackendDma : public backend::CompileBackend {
 public:
  std::string hardware_type() override { return "DMA"; }
  bool need_reload() override { return true; }

  std::string compile(const backend::Document& configs, backend::DataLoader& /*dataloader*/,
                      backend::CompileJob& job) override {
    job.progress(1, "nothing to do");
    backend::CompileResult result;
    result.model = configs.text("model_info.model", "dma");
    result.framework = "None";
    result.compile_precision = "FP32";
    result.input_type = {"FLOAT32"};
    result.max_batch_size = kMaxBatch;
    result.objects = {{1, "firmware"}};  // a name: there is no file
    return result.to_json();
  }
};

// One call on its way to the device.
struct Job {
  const float* input;  // the host's, untouched until completion
  std::int64_t batch;
  backend::Outputs outputs;
  backend::Completion completion;
};

// The engine: one thread that takes jobs in order. Thread-safe.
class Engine {
 public:
  explicit Engine(std::size_t depth) : depth_(depth), thread_([this] { work(); }) {}
  ~Engine() { stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::size_t depth() const { return depth_; }

  void push(const backend::Inputs& inputs, backend::Outputs outputs,
            backend::Completion& completion) {
    if (planted("no_nested") && std::this_thread::get_id() == thread_.get_id()) {
      throw backend::Error(ASSAY_FAILED_PRECONDITION, "submit inside a completion");
    }
    const std::lock_guard lock(mutex_);
    const std::size_t places = depth_ + (planted("deeper") ? 1 : 0);
    if (queue_.size() + (running_ ? 1 : 0) >= places) {
      throw backend::Error(ASSAY_RESOURCE_EXHAUSTED, "the device's queue is full");
    }
    queue_.push_back({inputs[0].data<float>(), inputs[0].dim(0), outputs, std::move(completion)});
    wake_.notify_one();
  }

  // A waiting job ends now; one that runs ends by itself.
  bool cancel(std::uint64_t ticket) {
    if (planted("cancel_any")) return true;
    std::optional<Job> found;
    {
      const std::lock_guard lock(mutex_);
      const auto it = std::find_if(queue_.begin(), queue_.end(), [&](const Job& job) {
        return job.completion.ticket() == ticket;
      });
      if (it == queue_.end()) return running_ && running_ticket_ == ticket;
      found.emplace(std::move(*it));
      queue_.erase(it);
    }
    found->completion.fail(ASSAY_CANCELLED, "cancelled while waiting");
    return true;
  }

  void hold(bool on) {
    const std::lock_guard lock(mutex_);
    held_ = on;
    wake_.notify_one();
  }

  // Ends waiting jobs as cancelled and joins the thread. May be called twice.
  void stop() {
    std::deque<Job> waiting;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      waiting.swap(queue_);
      wake_.notify_one();
    }
    // A completion that is dropped reports itself: one that is to be forgotten has to be lost.
    while (planted("close_forgets") && !waiting.empty()) {
      (void)new backend::Completion(std::move(waiting.back().completion));
      waiting.pop_back();
    }
    for (Job& job : waiting) job.completion.fail(ASSAY_CANCELLED, "the device was closed");
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::optional<Job> take() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return stopping_ || (!held_ && !queue_.empty()); });
    if (stopping_) return std::nullopt;
    Job job = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    running_ticket_ = job.completion.ticket();
    return job;
  }

  void work() {
    while (std::optional<Job> job = take()) run(*job);
  }

  void run(Job& job) {
    std::int32_t code = ASSAY_OK;
    std::string message;
    try {
      transfer(job);
    } catch (const backend::Error& e) {
      code = e.code();
      message = e.what();
    } catch (const std::exception& e) {
      code = ASSAY_INTERNAL;
      message = e.what();
    }
    {
      // The place is free before the host hears of it: it may submit from inside.
      const std::lock_guard lock(mutex_);
      running_ = false;
    }
    if (code == ASSAY_OK) {
      succeed(job);
    } else {
      job.completion.fail(code, message.c_str());
    }
  }

  void succeed(Job& job) {
    constexpr int kGood = 20;
    // Only of a submitted call: a blocking one waits on its own stack, which is gone by then.
    const bool submitted = job.completion.ticket() != 0;
    if (!submitted || !planted("twice") || ++successes_ != kGood) return job.completion.succeed();
    // The class has one right to report: the second one is a copy of its bytes.
    alignas(backend::Completion) std::byte again[sizeof(backend::Completion)];
    // NOLINTNEXTLINE(bugprone-undefined-memory-manipulation): that is the fault
    std::memcpy(again, &job.completion, sizeof again);
    job.completion.succeed();
    reinterpret_cast<backend::Completion*>(again)->succeed();
  }

  // In, compute, out: everything the host sees happens in this thread, later than submit.
  void transfer(Job& job) {
    if (planted("close_forgets")) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto count = static_cast<std::size_t>(job.batch * kWidth);
    device_memory_.resize(count);
    std::copy_n(job.input, count, device_memory_.begin());
    if (planted("writes_input")) std::fill_n(const_cast<float*>(job.input), count, 0.0F);
    for (float& value : device_memory_) value = 2 * value + 1;
    auto* const out = job.outputs.allocate<float>(0, {job.batch, kWidth});
    std::copy(device_memory_.begin(), device_memory_.end(), out);
  }

  const std::size_t depth_;
  std::vector<float> device_memory_;  // the engine thread's
  int successes_ = 0;                 // the engine thread's
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;  // the rest: guarded by mutex_
  bool running_ = false;
  std::uint64_t running_ticket_ = 0;
  bool held_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

// Waits for one call, for infer.
class Waiter {
 public:
  static void complete(void* self, std::uint64_t /*ticket*/, std::int32_t code,
                       const char* message) {
    auto& waiter = *static_cast<Waiter*>(self);
    const std::lock_guard lock(waiter.mutex_);
    waiter.code_ = code;
    waiter.message_ = message == nullptr ? "" : message;
    waiter.done_ = true;
    waiter.wake_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return done_; });
    if (code_ != ASSAY_OK) throw backend::Error(code_, message_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::int32_t code_ = ASSAY_OK;
  std::string message_;
};

class RuntimeBackendDma : public backend::RuntimeBackend, public backend::AsyncRuntime {
 public:
  std::string version() override { return "dma double 1, firmware 7"; }

  void load(const backend::LoadRequest& request) override {
    const bool has_device = request.device_ids.empty() || request.device_ids == std::vector{0};
    if (!has_device) throw backend::Error(ASSAY_NOT_FOUND, "the only device is 0");
    if (request.batch_size > kMaxBatch) {
      throw backend::Error(ASSAY_OUT_OF_RANGE, "batch size " + std::to_string(request.batch_size) +
                                                   ", at most " + std::to_string(kMaxBatch));
    }
    engine_.reset();
    engine_ = std::make_unique<Engine>(
        static_cast<std::size_t>(request.configs.integer("interact_info.queue_depth", 4)));
  }
  backend::Signature signature() override {
    using backend::DType;
    return {{{"x", DType::kFloat32, {-1, kWidth}}}, {{"y", DType::kFloat32, {-1, kWidth}}}};
  }
  backend::ThreadRule thread_rule() override { return backend::ThreadRule::kAny; }

  void predict(const backend::Inputs& inputs, backend::Outputs& outputs) override {
    Waiter waiter;
    assay_submit_request request{};
    request.completion_context = &waiter;
    request.complete = &Waiter::complete;
    backend::Completion completion(request);
    engine_->push(inputs, outputs, completion);
    waiter.wait();
  }
  void close() override { engine_.reset(); }
  std::string benchmark(backend::DataLoader& dataloader) override {
    return "{\"qps\": 1e6, \"latency_ms\": {\"mean\": 0.001}, \"samples\": " +
           std::to_string(dataloader.size()) + ", \"notes\": [\"from the data sheet\"]}";
  }

  std::uint32_t max_in_flight() override { return static_cast<std::uint32_t>(engine_->depth()); }
  void submit(const backend::Inputs& inputs, backend::Outputs outputs,
              backend::Completion& completion) override {
    engine_->push(inputs, outputs, completion);
  }
  bool can_cancel() override { return true; }
  bool cancel(std::uint64_t ticket) override { return engine_->cancel(ticket); }

  static backend::ProbeResult probe() {
    backend::ProbeResult result;
    result.available = true;
    result.driver_version = "3.1";
    result.sdk_version = "1.0";
    result.devices = {{0, "DMA double", "0001", 0, 1 << 20}};
    return result;
  }
  static const void* get_extension(const char* name);

  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
};

void hold(assay_runtime* runtime) {
  backend::runtime_of<RuntimeBackendDma>(runtime).engine().hold(true);
}
void release(assay_runtime* runtime) {
  backend::runtime_of<RuntimeBackendDma>(runtime).engine().hold(false);
}

const void* RuntimeBackendDma::get_extension(const char* name) {
  static constexpr DmaControl kControl = {sizeof(DmaControl), 0, hold, release};
  return std::strcmp(name, ASSAY_TEST_EXTENSION_DMA) == 0 ? &kControl : nullptr;
}

}  // namespace

ASSAY_EXPORT_BACKEND(CompileBackendDma, RuntimeBackendDma)
