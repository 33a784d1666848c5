// Runs each dialog in a child process on a terminal of its own and types at it.

#include "workload/dialogs_ftxui.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"

namespace assay::workload {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kDeadlineNs = 30'000'000'000;

// What `ask` came to, as text: the answer, "default", or the error's message.
std::string told(const Result<std::optional<JsonValue>>& result) {
  if (!result.ok()) return result.status().message();
  return *result ? (*result)->dump() : "default";
}

struct Session {
  std::string screen;  // all that was drawn
  std::string answer;
};

// Runs `ask` in a child, waits until `prompt` is on its screen, types `keys`, and returns its
// answer. The answer is sent through a pipe, so that it cannot be mistaken for something drawn.
Session converse(const std::function<std::string()>& ask, const std::string& prompt,
                 const std::string& keys) {
  int answers[2];
  EXPECT_EQ(pipe(answers), 0);
  winsize size{24, 80, 0, 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    setenv("TERM", "xterm", 1);
    const std::string answer = ask();
    const ssize_t written = write(answers[1], answer.data(), answer.size());
    _exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  close(answers[1]);
  Session session;
  bool typed = false;
  const std::int64_t deadline_ns = now_ns() + kDeadlineNs;
  char buffer[4096];
  while (now_ns() < deadline_ns) {
    pollfd ready{terminal, POLLIN, 0};
    poll(&ready, 1, 100);
    if ((ready.revents & (POLLIN | POLLHUP)) == 0) continue;
    const ssize_t count = read(terminal, buffer, sizeof(buffer));
    if (count <= 0) break;  // the child is gone
    session.screen.append(buffer, static_cast<std::size_t>(count));
    if (!typed && session.screen.find(prompt) != std::string::npos) {
      EXPECT_EQ(write(terminal, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
      typed = true;
    }
  }
  EXPECT_TRUE(typed) << "never drawn: " << prompt << "\n" << session.screen;
  if (now_ns() >= deadline_ns) kill(child, SIGKILL);
  for (ssize_t count; (count = read(answers[0], buffer, sizeof(buffer))) > 0;) {
    session.answer.append(buffer, static_cast<std::size_t>(count));
  }
  close(answers[0]);
  close(terminal);
  waitpid(child, nullptr, 0);
  return session;
}

Session ask(const Question& question, const std::string& keys, const std::string& complaint = "") {
  return converse([&] { return told(make_terminal_dialogs()->ask(question, complaint)); },
                  question.note, keys);
}

Question question_of(DialogType dialog, AnswerType type) {
  Question question;
  question.name = "name";
  question.note = "Which?";
  question.dialog = dialog;
  question.type = type;
  return question;
}

TEST(TerminalDialogs, AnswerYesOrNoByLetterOrEnter) {
  Question question = question_of(DialogType::kYesNo, AnswerType::kBool);
  EXPECT_EQ(ask(question, "y").answer, "true");
  EXPECT_EQ(ask(question, "n").answer, "false");
  EXPECT_EQ(ask(question, "\r").answer, "false");
  question.default_value = JsonValue(Json(true));
  EXPECT_EQ(ask(question, "\r").answer, "true");
}

TEST(TerminalDialogs, ChooseFromAListStartingAtTheDefault) {
  Question question = question_of(DialogType::kRadiolist, AnswerType::kInt);
  question.options = {JsonValue(Json(12)), JsonValue(Json(13)), JsonValue(Json(14))};
  question.default_value = JsonValue(Json(13));
  EXPECT_EQ(ask(question, "\r").answer, "13");
  EXPECT_EQ(ask(question, "\x1B[B\r").answer, "14");
}

TEST(TerminalDialogs, TakeWhatIsTyped) {
  Question question = question_of(DialogType::kInput, AnswerType::kInt);
  question.default_value = JsonValue(Json(4711));
  EXPECT_EQ(ask(question, "512\r").answer, "\"512\"");
  const Session left = ask(question, "\r");
  EXPECT_EQ(left.answer, "default");
  EXPECT_THAT(left.screen, HasSubstr("4711"));
}

TEST(TerminalDialogs, ShowWhatWasWrongBefore) {
  const Question question = question_of(DialogType::kInput, AnswerType::kInt);
  EXPECT_THAT(ask(question, "1\r", "accepted: whole").screen, HasSubstr("whole"));
}

TEST(TerminalDialogs, EndWithCtrlC) {
  const Question question = question_of(DialogType::kInput, AnswerType::kInt);
  EXPECT_EQ(ask(question, "\x03").answer, "ended at a dialog");
}

TEST(TerminalDialogs, AskFirstWhetherToConfigureAtAll) {
  const auto wants = [] {
    const auto answer = make_terminal_dialogs()->wants_to_configure("CPU.json");
    return std::string(!answer.ok() ? "error" : *answer ? "yes" : "no");
  };
  EXPECT_EQ(converse(wants, "CPU.json", "y").answer, "yes");
  EXPECT_EQ(converse(wants, "CPU.json", "\r").answer, "no");
}

}  // namespace
}  // namespace assay::workload
