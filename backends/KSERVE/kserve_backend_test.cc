// The built backend as Assay uses it, against a server in this process that plays every trick.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "host/backend.h"
#include "host/built_backend_test_support.h"

namespace assay {
namespace {

using assay::host::testing::BuiltBackend;
using assay::host::testing::Kept;
using assay::host::testing::list;
using assay::host::testing::tensor;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const host::Library& library() {
  static const host::Library kOpened = host::testing::open_built("KSERVE", ASSAY_KSERVE_BACKENDS);
  return kOpened;
}

// A server of the model "twice": x FP32 [-1,2] -> y FP32 [-1,2], 2x. What it does can be replaced.
class Server {
 public:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;

  Server() {
    server_.set_tcp_nodelay(true);
    server_.set_keep_alive_timeout(1);  // stop() waits so long for a connection that is open
    server_.Get("/v2/health/live", [](const auto&, auto& reply) { reply.status = 200; });
    server_.Get("/v2/health/ready", [this](const auto&, auto& reply) { reply.status = ready; });
    server_.Get("/v2/models/twice/ready", [](const auto&, auto& reply) { reply.status = 200; });
    server_.Get("/v2", [this](const auto&, auto& reply) {
      reply.set_content(
          Json{{"name", "tricks"}, {"version", version}, {"extensions", {"a"}}}.dump(),
          "application/json");
    });
    server_.Get("/v2/models/twice", [this](const auto&, auto& reply) {
      reply.set_content(metadata.dump(), "application/json");
    });
    server_.Get("/v2/models/twice/stats", [this](const auto&, auto& reply) {
      if (!has_statistics) {
        reply.status = 404;
        return;
      }
      const auto time = [this](int ns) {
        return Json{{"count", inferences.load()}, {"ns", inferences.load() * ns}};
      };
      Json statistics = {{"success", time(10000)}};
      if (has_parts) statistics.update({{"queue", time(2000)}, {"compute_infer", time(7000)}});
      reply.set_content(Json{{"model_stats", {{{"inference_stats", statistics}}}}}.dump(),
                        "application/json");
    });
    server_.Post("/v2/models/twice/infer",
                 [this](const httplib::Request& request, httplib::Response& reply) {
                   ++inferences;
                   authorization = request.get_header_value("Authorization");
                   (infer ? infer : twice)(request, reply);
                 });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~Server() { stop(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void stop() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  // The honest answer, in JSON.
  static void twice(const httplib::Request& request, httplib::Response& reply) {
    if (request.has_header("Inference-Header-Content-Length")) return refuse_bytes(reply);
    const Json asked = Json::parse(request.body);
    Json data = asked["inputs"][0]["data"];
    for (Json& value : data) value = value.get<double>() * 2;
    answer(reply, asked["id"], asked["inputs"][0]["shape"], data);
  }
  static void refuse_bytes(httplib::Response& reply) {
    reply.status = 500;
    reply.set_content("not UTF-8", "text/plain");
  }
  static void answer(httplib::Response& reply, const Json& id, const Json& shape,
                     const Json& data) {
    const Json output = {{"name", "y"}, {"datatype", "FP32"}, {"shape", shape}, {"data", data}};
    reply.set_content(Json{{"model_name", "twice"}, {"id", id}, {"outputs", {output}}}.dump(),
                      "application/json");
  }

  std::atomic<int> ready = 200;
  std::atomic<int> inferences = 0;
  std::string version = "1";
  bool has_statistics = false;
  bool has_parts = false;
  Json metadata = {{"name", "twice"},
                   {"platform", "test"},
                   {"inputs", {{{"name", "x"}, {"datatype", "FP32"}, {"shape", {-1, 2}}}}},
                   {"outputs", {{{"name", "y"}, {"datatype", "FP32"}, {"shape", {-1, 2}}}}}};
  Handler infer;              // set while no call is under way
  std::string authorization;  // of the last inference

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

// The bytes of x, doubled, by the binary extension.
void twice_in_bytes(const httplib::Request& request, httplib::Response& reply) {
  const auto length = std::stoul(request.get_header_value("Inference-Header-Content-Length"));
  const Json asked = Json::parse(request.body.substr(0, length));
  std::string bytes = request.body.substr(length);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  for (float& value : values) value *= 2;
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const Json output = {{"name", "y"},
                       {"datatype", "FP32"},
                       {"shape", asked["inputs"][0]["shape"]},
                       {"parameters", {{"binary_data_size", bytes.size()}}}};
  const std::string header = Json{{"id", asked["id"]}, {"outputs", {output}}}.dump();
  reply.set_header("Inference-Header-Content-Length", std::to_string(header.size()));
  // In pieces and without a length, as some servers answer.
  reply.set_chunked_content_provider(
      "application/octet-stream",
      [whole = header + bytes](std::size_t /*offset*/, httplib::DataSink& sink) {
        sink.write(whole.data(), 3);
        sink.write(whole.data() + 3, whole.size() - 3);
        sink.done();
        return true;
      });
}

class KserveBackend : public BuiltBackend {
 protected:
  KserveBackend() : BuiltBackend(library(), "kserve") {}

  Json configs(Json options = Json::object()) const {
    Json all = configs_of("twice.onnx");
    all["interact_info"] = std::move(options);
    if (!all["interact_info"].contains("url")) all["interact_info"]["url"] = server.url();
    return all;
  }

  static std::vector<Tensor> pair(float first, float second) {
    return list(tensor<float>({"x", DType::kFloat32, {1, 2}}, {first, second}));
  }
  static Status call(host::RuntimeBackend& runtime, Kept& kept) {
    const std::vector<Tensor> inputs = pair(1, 3);
    const std::vector<TensorView> views = {inputs[0].view()};
    return runtime.infer(views, kept);
  }
  // The status of one call that `trick` answers.
  Status call_with(Server::Handler trick, Json options = Json::object()) {
    host::RuntimeBackend runtime = ready_from(configs(std::move(options)));
    server.infer = std::move(trick);
    Kept kept;
    Status status = call(runtime, kept);
    server.infer = nullptr;
    Kept after;
    EXPECT_THAT(call(runtime, after), IsOk()) << "the call after a failed one";
    return status;
  }

  Server server;
};

// ---- what is agreed in compile ------------------------------------------------------------------

TEST_F(KserveBackend, ServerWithoutBytesIsServedInJson) {
  const auto result = compile(configs());
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["optimizations"]["transport"], "json");
  EXPECT_EQ((*result)["optimizations"]["server"], "tricks 1");
  EXPECT_EQ((*result)["optimizations"]["remote"], true);
  EXPECT_THAT((*result)["optimizations"]["trial"].get<std::string>(), HasSubstr("not UTF-8"));
  auto runtime = load(configs(), *result);
  ASSERT_THAT(runtime, IsOk());
  EXPECT_THAT(infer(*runtime, pair(1.5F, -2)).values<float>(0), ElementsAre(3.0F, -4.0F));
}

TEST_F(KserveBackend, BytesAreFoundByTrialThoughNoExtensionSaysSo) {
  server.infer = twice_in_bytes;
  const auto result = compile(configs());
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["optimizations"]["transport"], "binary");
  auto runtime = load(configs(), *result);
  ASSERT_THAT(runtime, IsOk());
  EXPECT_THAT(infer(*runtime, pair(0.1F, -0.0F)).values<float>(0), ElementsAre(0.2F, -0.0F));
}

TEST_F(KserveBackend, JsonAnswerToARequestOfBytesIsTaken) {
  server.infer = [](const httplib::Request& request, httplib::Response& reply) {
    const auto length = std::stoul(request.get_header_value("Inference-Header-Content-Length"));
    Server::answer(reply, Json::parse(request.body.substr(0, length))["id"], {1, 2}, {4, 5});
  };
  auto runtime = ready_from(configs());
  EXPECT_THAT(infer(runtime, pair(1, 1)).values<float>(0), ElementsAre(4.0F, 5.0F));
}

TEST_F(KserveBackend, OutputsThatNobodyDeclaresAreThoseOfTheTrial) {
  server.metadata["inputs"] = Json::array();
  server.metadata.erase("outputs");
  Json wanted = configs();
  wanted["model_info"]["inputs"] = "x";
  wanted["model_info"]["input_type"] = "FLOAT32";
  wanted["model_info"]["input_shape"] = {{"x", {1, 2}}};
  auto runtime = ready_from(wanted);
  EXPECT_THAT(infer(runtime, pair(1, 2)).values<float>(0), ElementsAre(2.0F, 4.0F));
}

TEST_F(KserveBackend, ContradictionOfTheModelInfoIsRefused) {
  Json wanted = configs();
  wanted["model_info"]["inputs"] = "image";
  EXPECT_THAT(compile(wanted), StatusIs(StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("\"x\""), HasSubstr("\"image\""))));
}

TEST_F(KserveBackend, TextInputsAreRefusedWithTheReason) {
  server.metadata["inputs"][0]["datatype"] = "BYTES";
  EXPECT_THAT(compile(configs()), StatusIs(StatusCode::kUnimplemented, HasSubstr("BYTES")));
}

TEST_F(KserveBackend, ServerThatIsNotReadyIsUnavailable) {
  server.ready = 503;
  EXPECT_THAT(compile(configs()), StatusIs(StatusCode::kUnavailable, HasSubstr("not ready")));
}

TEST_F(KserveBackend, NobodyAtTheUrlIsUnavailableAndNamed) {
  const std::string url = server.url();
  server.stop();
  EXPECT_THAT(compile(configs()), StatusIs(StatusCode::kUnavailable, HasSubstr(url)));
}

TEST_F(KserveBackend, UnknownModelIsNotFound) {
  EXPECT_THAT(compile(configs({{"model", "thrice"}})),
              StatusIs(StatusCode::kNotFound, HasSubstr("/v2/models/thrice")));
}

TEST_F(KserveBackend, WrongOptionsSayWhatIsAccepted) {
  EXPECT_THAT(compile(configs({{"url", "https://h"}})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("http://host:port")));
  EXPECT_THAT(compile(configs({{"transport", "grpc"}})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("auto, binary, json")));
  EXPECT_THAT(compile(configs({{"instances", 0}})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 1024")));
}

TEST_F(KserveBackend, AnotherServerThanTheArtifactsIsRefused) {
  const auto result = compile(configs());
  ASSERT_THAT(result, IsOk());
  server.version = "2";
  EXPECT_THAT(load(configs(), *result),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("tricks 1"), HasSubstr("tricks 2"))));
}

TEST_F(KserveBackend, FixedBatchIsNamed) {
  server.metadata["inputs"][0]["shape"] = {1, 2};
  const auto result = compile(configs());
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(load(configs(), *result, 4),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("run batch size 1")));
}

TEST_F(KserveBackend, TokenIsSentAndNeverRecorded) {
  ::setenv("KSERVE_TEST_TOKEN", "s3cret", 1);
  const auto result = compile(configs({{"token_env", "KSERVE_TEST_TOKEN"}}));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(server.authorization, "Bearer s3cret");
  EXPECT_THAT(result->dump(), Not(HasSubstr("s3cret")));
  const auto record = read_file(artifact() / "server.json");
  ASSERT_THAT(record, IsOk());
  EXPECT_THAT(*record, Not(HasSubstr("s3cret")));
  server.infer = [](const httplib::Request& request, httplib::Response& reply) {
    reply.status = 403;
    reply.set_content(request.get_header_value("Authorization"), "text/plain");
  };
  EXPECT_THAT(compile(configs({{"token_env", "KSERVE_TEST_TOKEN"}})),
              StatusIs(StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("(token)"), Not(HasSubstr("s3cret")))));
  ::unsetenv("KSERVE_TEST_TOKEN");
  EXPECT_THAT(compile(configs({{"token_env", "KSERVE_TEST_TOKEN"}})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is not set")));
}

// ---- tricks of single calls ---------------------------------------------------------------------

TEST_F(KserveBackend, NullIsALostValue) {
  EXPECT_THAT(call_with([](const httplib::Request& request, httplib::Response& reply) {
                Server::answer(reply, Json::parse(request.body)["id"], {1, 2}, {1, nullptr});
              }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("element 1: null")));
}

TEST_F(KserveBackend, AnswerToAnotherRequestIsRefused) {
  EXPECT_THAT(call_with([](const httplib::Request&, httplib::Response& reply) {
                Server::answer(reply, "other", {1, 2}, {1, 2});
              }),
              StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("other"), HasSubstr("assay-1"))));
}

TEST_F(KserveBackend, WrongLengthAndShapeAreRefused) {
  EXPECT_THAT(call_with([](const httplib::Request& request, httplib::Response& reply) {
                Server::answer(reply, Json::parse(request.body)["id"], {1, 2}, {1});
              }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("with 1 values")));
  EXPECT_THAT(call_with([](const httplib::Request& request, httplib::Response& reply) {
                Server::answer(reply, Json::parse(request.body)["id"], {2}, {1, 2});
              }),
              StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("[2]"), HasSubstr("[-1,2]"))));
}

TEST_F(KserveBackend, EachHttpStatusHasItsCode) {
  const auto replying = [](int status, const char* body) {
    return [status, body](const httplib::Request&, httplib::Response& reply) {
      reply.status = status;
      reply.set_content(body, "text/html");
      if (status == 302) reply.set_header("Location", "/v2");
    };
  };
  const std::vector<std::pair<int, StatusCode>> rows = {
      {302, StatusCode::kFailedPrecondition}, {400, StatusCode::kInvalidArgument},
      {401, StatusCode::kPermissionDenied},   {404, StatusCode::kNotFound},
      {429, StatusCode::kResourceExhausted},  {500, StatusCode::kInternal},
      {503, StatusCode::kUnavailable}};
  for (const auto& [status, code] : rows) {
    EXPECT_THAT(call_with(replying(status, "{\"error\":\"why\\u0007 not\"}")),
                StatusIs(code, HasSubstr("HTTP " + std::to_string(status))))
        << status;
  }
  EXPECT_THAT(call_with(replying(500, "{\"error\":\"why not\"}")),
              StatusIs(StatusCode::kInternal, HasSubstr("HTTP 500: why not")));
  EXPECT_THAT(call_with(replying(500, "<html>\n\x01 oops")),
              StatusIs(StatusCode::kInternal, HasSubstr("<html>   oops")));
}

TEST_F(KserveBackend, AnswerThatIsNoJsonIsRefused) {
  EXPECT_THAT(call_with([](const httplib::Request&, httplib::Response& reply) {
                reply.set_content("<html>", "text/html");
              }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("no JSON")));
}

TEST_F(KserveBackend, AnswerLargerThanAllowedIsNotRead) {
  EXPECT_THAT(call_with(
                  [](const httplib::Request&, httplib::Response& reply) {
                    reply.set_content(std::string((1U << 20U) + 1, ' '), "application/json");
                  },
                  {{"max_answer_mb", 1}}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("max_answer_mb")));
  EXPECT_THAT(call_with(
                  [](const httplib::Request&, httplib::Response& reply) {
                    reply.set_chunked_content_provider(
                        "application/json", [](std::size_t, httplib::DataSink& sink) {
                          const std::string piece(1U << 16U, ' ');  // without an end
                          return sink.write(piece.data(), piece.size());
                        });
                  },
                  {{"max_answer_mb", 1}}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("max_answer_mb")));
}

TEST_F(KserveBackend, AnswerCutShortIsDataLoss) {
  EXPECT_THAT(call_with([](const httplib::Request&, httplib::Response& reply) {
                reply.set_content_provider(1000, "application/json",
                                           [](std::size_t, std::size_t, httplib::DataSink& sink) {
                                             sink.write("{", 1);
                                             return false;  // hangs up
                                           });
              }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("cut short")));
}

TEST_F(KserveBackend, AnswerThatDoesNotComeIsADeadline) {
  std::mutex silence;
  std::unique_lock held(silence);
  host::RuntimeBackend runtime = ready_from(configs({{"read_timeout_ms", 500}}));
  server.infer = [&](const httplib::Request&, httplib::Response&) {
    const std::lock_guard wait(silence);
  };
  Kept kept;
  EXPECT_THAT(call(runtime, kept),
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("read_timeout_ms, 500 ms")));
  held.unlock();
  server.stop();  // its thread may only now come to the lock, which goes with this function
}

TEST_F(KserveBackend, ServerGoneInTheMiddleIsUnavailableAndNamed) {
  host::RuntimeBackend runtime = ready_from(configs());
  Kept before;
  ASSERT_THAT(call(runtime, before), IsOk());
  const std::string url = server.url();
  server.stop();
  Kept kept;
  EXPECT_THAT(call(runtime, kept), StatusIs(StatusCode::kUnavailable, HasSubstr(url)));
}

TEST_F(KserveBackend, ConnectionThatTheServerClosesIsMadeAgain) {
  host::RuntimeBackend runtime = ready_from(configs());
  server.infer = [](const httplib::Request& request, httplib::Response& reply) {
    Server::twice(request, reply);
    reply.set_header("Connection", "close");
  };
  for (int i = 0; i < 3; ++i) {
    Kept kept;
    EXPECT_THAT(call(runtime, kept), IsOk());
    EXPECT_THAT(kept.values<float>(0), ElementsAre(2.0F, 6.0F));
  }
}

// ---- many callers, and what is told of them -----------------------------------------------------

TEST_F(KserveBackend, CallersAtOnceGetTheirOwnAnswers) {
  host::RuntimeBackend runtime = ready_from(configs());
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 20; ++i) {
        const auto value = static_cast<float>(caller * 100 + i);
        const std::vector<Tensor> inputs = pair(value, -value);
        const std::vector<TensorView> views = {inputs[0].view()};
        Kept kept;
        const bool ok = runtime.infer(views, kept).ok();
        if (!ok || kept.values<float>(0) != std::vector<float>{2 * value, -2 * value}) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(KserveBackend, TimeOfTheServerIsToldApartWhereItReportsOne) {
  server.has_statistics = true;
  host::RuntimeBackend runtime = ready_from(configs());
  Kept kept;
  ASSERT_THAT(call(runtime, kept), IsOk());
  const auto facts = runtime.facts();
  ASSERT_THAT(facts, IsOk());
  ASSERT_TRUE(facts->has_value());
  EXPECT_THAT(**facts, AllOf(HasSubstr("mean of 1 calls"), HasSubstr("0.010 ms as its own; "),
                             HasSubstr("not this host's")));
}

TEST_F(KserveBackend, PartsOfTheServersTimeAreToldWhereItReportsThem) {
  server.has_statistics = true;
  server.has_parts = true;
  host::RuntimeBackend runtime = ready_from(configs());
  Kept kept;
  ASSERT_THAT(call(runtime, kept), IsOk());
  const auto facts = runtime.facts();
  ASSERT_THAT(facts, IsOk());
  EXPECT_THAT(**facts,
              HasSubstr("0.010 ms as its own (0.002 ms in its queue, 0.007 ms computing); "));
}

TEST_F(KserveBackend, TimeThatCannotBeToldApartIsSaidSo) {
  host::RuntimeBackend runtime = ready_from(configs());
  Kept kept;
  ASSERT_THAT(call(runtime, kept), IsOk());
  const auto facts = runtime.facts();
  ASSERT_THAT(facts, IsOk());
  EXPECT_THAT(**facts, HasSubstr("network not separable"));
}

}  // namespace
}  // namespace assay
