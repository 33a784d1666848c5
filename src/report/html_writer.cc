#include "report/html_writer.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "report/ansi.h"
#include "report/format.h"

namespace assay::report {
namespace {

constexpr std::array<std::string_view, 9> kUnits{" ns", " µs",  " ms",  " s",  " %",
                                                 " dB", " KiB", " MiB", " GiB"};

std::string_view tone_class(std::string_view outcome) {
  switch (tone_of(outcome)) {
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kCaution:
      return "caution";
    default:
      return "quiet";
  }
}

// Well-formed UTF-8, whatever came in.
std::string as_utf8(std::string_view text) {
  const std::string dumped =
      Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(dumped).get<std::string>();
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char byte : printable(as_utf8(text))) {
    switch (byte) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += byte;
    }
  }
  return escaped;
}

std::string prose(std::string_view text) {
  std::string html = escape_html(text);
  for (const std::string_view unit : kUnits) {
    for (std::size_t at = 0; (at = html.find(unit, at)) != std::string::npos; at += unit.size()) {
      const std::size_t end = at + unit.size();
      const bool whole =
          end == html.size() || std::isalnum(static_cast<unsigned char>(html[end])) == 0;
      if (whole && at > 0 && std::isdigit(static_cast<unsigned char>(html[at - 1])) != 0) {
        html.replace(at, 1, "\u00a0");
      }
    }
  }
  return html;
}

std::string json_for_script(const Json& value) {
  // These characters occur in JSON inside strings only, where an escape means the same.
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  replace_all(text, "<", "\\u003c");
  replace_all(text, ">", "\\u003e");
  replace_all(text, "&", "\\u0026");
  return text;
}

std::string element(std::string_view tag, std::string_view html, std::string_view classes) {
  if (classes.empty()) return fmt::format("<{0}>{1}</{0}>", tag, html);
  return fmt::format("<{0} class=\"{2}\">{1}</{0}>", tag, html, classes);
}

std::string paragraph(std::string_view text, std::string_view classes) {
  return element("p", prose(text), classes) + "\n";
}

std::string section(std::string_view id, std::string_view title, std::string_view html) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}"
      "</section>\n",
      id, escape_html(title), html);
}

std::string badge(std::string_view outcome) {
  return fmt::format("<span class=\"badge {}\">{}</span>", tone_class(outcome),
                     escape_html(words(outcome)));
}

std::string figure_with_note(std::string_view html, std::string_view note_text) {
  if (note_text.empty()) return std::string(html);
  return fmt::format("{}<small>{}</small>", html, prose(note_text));
}

std::string command_block(std::string_view command) {
  return fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape_html(command));
}

std::string text_list(const Json& texts, std::string_view classes) {
  std::string items;
  for (const Json& text : texts) items += element("li", prose(text_of(text))) + "\n";
  return items.empty() ? "" : element("ul", "\n" + items, classes) + "\n";
}

HtmlTable::HtmlTable(std::string caption, std::vector<Column> columns)
    : caption_(std::move(caption)), columns_(std::move(columns)) {}

void HtmlTable::add_row(std::vector<std::string> html_cells) {
  html_cells.resize(columns_.size());
  rows_.push_back(std::move(html_cells));
}

HtmlTable& HtmlTable::compact() {
  compact_ = true;
  return *this;
}

std::string HtmlTable::html() const {
  std::string head, body;
  for (const Column& column : columns_) {
    head += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"number\"" : "",
                        escape_html(column.title));
  }
  for (const auto& row : rows_) {
    std::string cells = fmt::format("<th scope=\"row\"{} data-label=\"{}\">{}</th>",
                                    columns_[0].number ? " class=\"number\"" : "",
                                    escape_html(columns_[0].title), row[0]);
    for (std::size_t i = 1; i < row.size(); ++i) {
      cells += fmt::format("<td{} data-label=\"{}\">{}</td>",
                           columns_[i].number ? " class=\"number\"" : "",
                           escape_html(columns_[i].title), row[i]);
    }
    body += element("tr", cells) + "\n";
  }
  return fmt::format(
      "<div "
      "class=\"table{}\"><table>\n<caption>{}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}"
      "</tbody>\n</table></div>\n",
      compact_ ? " compact" : "", escape_html(caption_), head, body);
}

void FactList::add(std::string_view name_text, std::string_view value_text) {
  if (value_text.empty() || value_text == kMissing) return;
  add_html(name_text, prose(value_text));
}

void FactList::add_html(std::string_view name_text, std::string_view value_html) {
  items_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name_text), value_html);
}

std::string FactList::html() const {
  return items_.empty() ? "" : element("dl", "\n" + items_, "facts") + "\n";
}

std::string chart(std::string_view kind, std::size_t index, std::string_view title,
                  std::string_view description) {
  return fmt::format(
      "<figure class=\"chart\">\n<figcaption>{0}</figcaption>\n<div class=\"plot\" "
      "data-chart=\"{1}\" "
      "data-index=\"{2}\" role=\"img\" aria-label=\"{0}: {3}\"></div>\n<p "
      "class=\"describe\">{3}</p>\n"
      "</figure>\n",
      escape_html(title), kind, index, prose(description));
}

}  // namespace assay::report
