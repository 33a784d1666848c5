#include "workload/dialogs_ftxui.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <ftxui/component/component.hpp>
#include <ftxui/component/component_options.hpp>
#include <ftxui/component/event.hpp>
#include <ftxui/component/screen_interactive.hpp>
#include <ftxui/dom/elements.hpp>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>
#include <utility>

namespace assay::workload {
namespace {

constexpr int kWatchMs = 100;

// Ends a dialog that nobody can answer any more. The screen reads its terminal without noticing
// that it was hung up, and knows nothing of our signal handlers.
class Watch {
 public:
  Watch(ftxui::ScreenInteractive& screen, const std::atomic<bool>* stop)
      : thread_([&screen, stop](const std::stop_token& done) {
          while (!done.stop_requested()) {
            pollfd terminal{STDIN_FILENO, 0, 0};
            const bool gone = ::poll(&terminal, 1, kWatchMs) == 1;
            if (!gone && (stop == nullptr || !stop->load())) continue;
            screen.Exit();
            return;
          }
        }) {}

 private:
  std::jthread thread_;
};

struct Page {
  std::string title;
  std::string note;
  std::string complaint;
  std::string keys;  // what the keys do
  const std::atomic<bool>* stop = nullptr;
};

// A value as a person reads and types it: text without quotes.
std::string plain(const JsonValue& value) {
  return value->is_string() ? value->get<std::string>() : value.dump();
}

// One dialog on the screen, from first draw to its answer.
class Dialog {
 public:
  explicit Dialog(Page page)
      : page_(std::move(page)), screen_(ftxui::ScreenInteractive::Fullscreen()) {}

  void answer(const Json& value) {
    answer_ = JsonValue(value);
    leave();
  }

  void leave() {
    finished_ = true;
    screen_.Exit();
  }

  // Runs until answer() or leave(). kCancelled when the person ended the program instead.
  Result<std::optional<JsonValue>> run(const ftxui::Component& body, const ftxui::Component& keys) {
    const ftxui::Component framed = ftxui::Renderer(keys, [&] { return drawn(body->Render()); }) |
                                    ftxui::CatchEvent([&](const ftxui::Event& event) {
                                      if (event != ftxui::Event::Escape) return false;
                                      leave();
                                      return true;
                                    });
    try {
      const Watch watch(screen_, page_.stop);
      screen_.Loop(framed);
    } catch (const std::exception& error) {
      return internal_error(fmt::format("dialog \"{}\": {}", page_.title, error.what()));
    }
    if (!finished_) return cancelled("ended at a dialog");
    return answer_;
  }

 private:
  ftxui::Element drawn(ftxui::Element body) const {
    using namespace ftxui;  // NOLINT(google-build-using-namespace): its operators live there
    Elements lines = {text(page_.title) | bold, separator()};
    if (!page_.note.empty()) lines.push_back(paragraph(page_.note));
    if (!page_.complaint.empty()) lines.push_back(paragraph(page_.complaint) | color(Color::Red));
    lines.push_back(text(""));
    lines.push_back(std::move(body) | vscroll_indicator | yframe | flex_shrink);
    lines.push_back(separator());
    lines.push_back(text(page_.keys) | dim);
    return vbox(std::move(lines)) | border | size(WIDTH, LESS_THAN, 100) | center;
  }

  Page page_;
  ftxui::ScreenInteractive screen_;
  std::optional<JsonValue> answer_;
  bool finished_ = false;
};

Result<std::optional<JsonValue>> ask_yes_no(Page page, bool start_at_yes) {
  page.keys = "y, n, or arrows and Enter; Esc: default";
  Dialog dialog(std::move(page));
  const auto choice = [&](const char* label, bool value) {
    return ftxui::Button(
        label, [&dialog, value] { dialog.answer(Json(value)); }, ftxui::ButtonOption::Border());
  };
  int selected = start_at_yes ? 0 : 1;
  const ftxui::Component buttons =
      ftxui::Container::Horizontal({choice("Yes", true), choice("No", false)}, &selected);
  const ftxui::Component keys = ftxui::CatchEvent(buttons, [&dialog](const ftxui::Event& event) {
    const bool yes = event == ftxui::Event::Character('y');
    if (!yes && event != ftxui::Event::Character('n')) return false;
    dialog.answer(Json(yes));
    return true;
  });
  return dialog.run(buttons, keys);
}

Result<std::optional<JsonValue>> ask_choice(Page page, const Question& question) {
  page.keys = "arrows and Enter; Esc: default";
  Dialog dialog(std::move(page));
  std::vector<std::string> entries;
  int selected = 0;
  for (const JsonValue& option : question.options) {
    if (question.default_value == option) selected = static_cast<int>(entries.size());
    entries.push_back(plain(option));
  }
  ftxui::MenuOption look = ftxui::MenuOption::Vertical();
  look.on_enter = [&] { dialog.answer(*question.options[static_cast<std::size_t>(selected)]); };
  const ftxui::Component menu = ftxui::Menu(&entries, &selected, look);
  return dialog.run(menu, menu);
}

Result<std::optional<JsonValue>> ask_text(Page page, const Question& question) {
  page.keys = "Enter: take it; empty or Esc: default";
  Dialog dialog(std::move(page));
  std::string content;
  const std::string placeholder =
      question.default_value ? plain(*question.default_value) : "no default";
  ftxui::InputOption look = ftxui::InputOption::Default();
  look.multiline = false;
  look.on_enter = [&] {
    if (content.empty()) {
      dialog.leave();
    } else {
      dialog.answer(Json(content));
    }
  };
  const ftxui::Component input = ftxui::Input(&content, placeholder, look);
  return dialog.run(input, input);
}

class TerminalDialogs : public DialogProvider {
 public:
  explicit TerminalDialogs(const std::atomic<bool>* stop) : stop_(stop) {}

  Result<bool> wants_to_configure(const std::string& backend) override {
    ASSIGN_OR_RETURN(
        const auto answer,
        ask_yes_no({"Configure the backend's options?", backend, "", "", stop_}, false));
    return answer && **answer == Json(true);
  }

  Result<std::optional<JsonValue>> ask(const Question& question,
                                       const std::string& complaint) override {
    Page page{question.name, question.note, complaint, "", stop_};
    switch (question.dialog) {
      case DialogType::kYesNo:
        return ask_yes_no(std::move(page), question.default_value == JsonValue(Json(true)));
      case DialogType::kRadiolist:
        return ask_choice(std::move(page), question);
      case DialogType::kInput:
        break;
    }
    return ask_text(std::move(page), question);
  }

 private:
  const std::atomic<bool>* stop_;
};

}  // namespace

std::unique_ptr<DialogProvider> make_terminal_dialogs(const std::atomic<bool>* stop) {
  return std::make_unique<TerminalDialogs>(stop);
}

}  // namespace assay::workload
