#include "worker/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/testing.h"
#include "worker/shared_memory.h"

namespace assay::worker {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

std::array<int, 2> socket_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return ends;
}

auto soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

TEST(Channel, MessagesArriveInOrderAndWhole) {
  const auto ends = socket_pair();
  Channel a(ends[0]);
  Channel b(ends[1]);
  const std::string big(3'000'000, 'x');
  const std::jthread sender([&] {
    EXPECT_THAT(a.send(Json{{"text", big}}), IsOk());
    EXPECT_THAT(a.send(Json{{"n", 2}}), IsOk());
  });
  EXPECT_EQ(b.receive(soon()).value().body->at("text"), big);
  EXPECT_EQ(b.receive(soon()).value().body->at("n"), 2);
}

TEST(Channel, DescriptorTravelsWithItsMessage) {
  const auto ends = socket_pair();
  Channel a(ends[0]);
  Channel b(ends[1]);
  const SharedMemory memory = SharedMemory::create(4096).value();
  memory.bytes()[7] = std::byte{42};
  ASSERT_THAT(a.send(Json::object(), memory.fd()), IsOk());
  const Message message = b.receive(soon()).value();
  ASSERT_GE(message.fd, 0);
  EXPECT_EQ(SharedMemory::attach(message.fd, 4096).value().bytes()[7], std::byte{42});
}

TEST(Channel, ClosedPeerIsUnavailable) {
  const auto ends = socket_pair();
  Channel a(ends[0]);
  Channel(ends[1]).close();
  EXPECT_THAT(a.receive(soon()), StatusIs(StatusCode::kUnavailable, HasSubstr("closed")));
  EXPECT_THAT(a.send(Json::object()), StatusIs(StatusCode::kUnavailable, HasSubstr("gone")));
}

TEST(Channel, SilenceIsDeadlineExceeded) {
  const auto ends = socket_pair();
  Channel a(ends[0]);
  const Channel b(ends[1]);
  EXPECT_EQ(a.receive(std::chrono::steady_clock::now()).status().code(),
            StatusCode::kDeadlineExceeded);
}

TEST(Channel, HalfAMessageIsKeptUntilTheRestComes) {
  const auto ends = socket_pair();
  Channel a(ends[0]);
  const std::string frame("\x02\0\0\0{}", 6);
  ASSERT_EQ(::write(ends[1], frame.data(), 5), 5);
  EXPECT_EQ(
      a.receive(std::chrono::steady_clock::now() + std::chrono::milliseconds(5)).status().code(),
      StatusCode::kDeadlineExceeded);
  ASSERT_EQ(::write(ends[1], frame.data() + 5, 1), 1);
  EXPECT_THAT(a.receive(soon()), IsOk());
  ::close(ends[1]);
}

TEST(TakeFrame, ImpossibleLengthIsDataLoss) {
  std::string buffer("\xff\xff\xff\xff", 4);
  EXPECT_THAT(take_frame(buffer), StatusIs(StatusCode::kDataLoss, HasSubstr("4294967295")));
}

TEST(Channel, TextThatIsNoObjectIsDataLoss) {
  for (const std::string text : {"[1]", "{", "\xff\xfe"}) {
    const auto ends = socket_pair();
    Channel a(ends[0]);
    std::string frame(1, static_cast<char>(text.size()));
    frame += std::string(3, '\0') + text;
    ASSERT_EQ(::write(ends[1], frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
    EXPECT_EQ(a.receive(soon()).status().code(), StatusCode::kDataLoss) << text;
    ::close(ends[1]);
  }
}

TEST(SharedMemory, CannotBeShrunkByThePeer) {
  const SharedMemory memory = SharedMemory::create(8192).value();
  EXPECT_NE(::ftruncate(memory.fd(), 0), 0);
}

TEST(SharedMemory, SmallerThanAnnouncedIsRefused) {
  const SharedMemory memory = SharedMemory::create(4096).value();
  EXPECT_THAT(SharedMemory::attach(::dup(memory.fd()), 8192),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("8192 were announced")));
}

}  // namespace
}  // namespace assay::worker
