#pragma once

// Pieces of markup. Arguments named `text` are escaped here; those named `html` are markup already.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::report {

// `text` as it is seen, safe in content and in quoted attributes. Control characters become blanks
// and bytes that are not UTF-8 U+FFFD.
std::string escape_html(std::string_view text);

// escape_html, and a number never parts from its unit at the end of a line.
std::string prose(std::string_view text);

// JSON for a <script> element: no byte of it can end the element or open a comment.
std::string json_for_script(const Json& value);

// <tag class="classes">html</tag>; no class attribute when `classes` is empty.
std::string element(std::string_view tag, std::string_view html, std::string_view classes = "");
std::string paragraph(std::string_view text, std::string_view classes = "");

// A section with its heading and its anchor.
std::string section(std::string_view id, std::string_view title, std::string_view html);

// A word in a coloured pill: "pass", "timed_out". The word says it all; the colour repeats it.
std::string badge(std::string_view outcome);

// A main figure with smaller text below it.
std::string figure_with_note(std::string_view html, std::string_view note_text);

// A command that can be copied.
std::string command_block(std::string_view command);

// Paragraphs of a list, or "" when it is empty.
std::string text_list(const Json& texts, std::string_view classes = "");

// A table with a header row, a header cell in every row, and a caption for those who do not see it.
// Where there is no room each row becomes a card whose cells carry the column's title.
class HtmlTable {
 public:
  struct Column {
    std::string title;
    bool number = false;  // stands on the right
  };
  HtmlTable(std::string caption, std::vector<Column> columns);

  // As many cells as columns.
  void add_row(std::vector<std::string> html_cells);
  // Only as wide as it needs to be.
  HtmlTable& compact();
  bool empty() const { return rows_.empty(); }
  std::string html() const;

 private:
  std::string caption_;
  bool compact_ = false;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Names and values, two by two. A value that is missing is left out.
class FactList {
 public:
  void add(std::string_view name_text, std::string_view value_text);
  void add_html(std::string_view name_text, std::string_view value_html);
  bool empty() const { return items_.empty(); }
  std::string html() const;

 private:
  std::string items_;
};

// A place for the chart `kind` of data item `index`; `description` is its alternative text.
std::string chart(std::string_view kind, std::size_t index, std::string_view title,
                  std::string_view description);

}  // namespace assay::report
