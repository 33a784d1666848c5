#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/html_sections.h"
#include "report/html_writer.h"

namespace assay::report {
namespace {

struct CompileFact {
  const char* title;
  const char* declared;           // key of what the backend says; nullptr: it says nothing of this
  const char* measured;           // key of what Assay saw; nullptr: it cannot see this
  const char* counted = nullptr;  // instead: key of what it counted while segments ran
};
constexpr std::array<CompileFact, 11> kCompileFacts{{
    {"Precision", "compile_precision", nullptr},
    {"Executed precision", "executed_precision", nullptr},
    {"Share of the graph on the device, %", "sg_percent", nullptr, "operators_percent"},
    {"Largest batch size", "max_batch_size", nullptr},
    {"Optimizations", "optimizations", nullptr},
    {"Input types", "input_type", nullptr},
    {"Instances", "instance_count", "instance_count"},
    {"Devices", "device_count", "device_count"},
    {"Status", "compile_status", nullptr},
    {"Served from a cache", nullptr, "cache_hit"},
    {"Segments", "segments", nullptr},
}};

std::string value_at(const Json& object, const char* key) {
  if (key == nullptr) return std::string(kMissing);
  const Json& value = at(object, key);
  if (value.is_object() && value.empty()) return "none";
  if (value.is_object() && value.contains("summary")) return text_of(value["summary"]);
  if (std::string_view(key) == "segments" && value.is_array()) {
    const auto fallbacks = std::ranges::count_if(
        value, [](const Json& segment) { return at(segment, "is_fallback") == Json(true); });
    const std::string count = format_count(static_cast<std::int64_t>(value.size()));
    return fallbacks == 0 ? count : fmt::format("{}, of which {} fall back", count, fallbacks);
  }
  if (value.is_number_integer()) return format_count(value.get<std::int64_t>());
  return text_of(value);
}

std::string files_table(const Json& measured) {
  HtmlTable table("Files of the artifact", {{"File"}, {"Size", true}, {"SHA-256"}});
  for (const Json& file : list_at(measured, "files")) {
    table.add_row({escape_html(string_at(file, "path")), bytes_or_missing(file, "size_bytes"),
                   element("code", escape_html(text_or_missing(file, "sha256")), "hash")});
  }
  return table.empty() ? "" : table.html();
}

// What ran where, of a model in several segments.
std::string coverage_table(const Json& coverage) {
  HtmlTable table("Segments in the order in which they ran, in the pass over the samples",
                  {{"Segment", true},
                   {"Ran on"},
                   {"Runtime"},
                   {"Calls", true},
                   {"Time", true},
                   {"Share of the time", true}});
  for (const Json& segment : list_at(coverage, "segments")) {
    const auto share = number_at(segment, "time_share");
    const std::string where = string_at(segment, "ran_on");
    table.add_row({count_or_missing(segment, "sg_idx"),
                   escape_html(bool_at(segment, "is_fallback") ? where + ", fallback" : where),
                   escape_html(string_at(segment, "runtime")), count_or_missing(segment, "calls"),
                   duration_or_missing(segment, "wall_ns"),
                   share ? format_percent(*share, 1) : std::string(kMissing)});
  }
  return table.empty() ? "" : table.html();
}

std::string phase_outcome(const Json& result, std::string_view name) {
  for (const Json& phase : list_at(result, "phases")) {
    if (string_at(phase, "name") != name) continue;
    return fmt::format("{}: {}", words(string_at(phase, "outcome")), string_at(phase, "reason"));
  }
  return "not reached";
}

struct KeyTitle {
  std::string_view key;
  std::string_view title;
};
constexpr std::array<KeyTitle, 16> kKeyTitles{{{"sha256", "SHA-256"},
                                               {"cpu_model", "CPU"},
                                               {"cpu_quota_cores", "CPU quota, cores"},
                                               {"size_bytes", "Size"},
                                               {"memory_bytes", "Memory"},
                                               {"memory_limit_bytes", "Memory limit"},
                                               {"libc", "C library"},
                                               {"library_sha256", "Library SHA-256"},
                                               {"folder_sha256", "Folder and packages SHA-256"},
                                               {"model_sha256", "Model SHA-256"},
                                               {"preprocessed_sha256", "Preprocessed SHA-256"},
                                               {"numeric_flags", "CPU flags for arithmetic"},
                                               {"assay_version", "Assay version"},
                                               {"git_commit", "Revision"},
                                               {"ir_version", "IR version"},
                                               {"opset", "Operator set"}}};

// "wall_ns" -> "Wall": its value is shown with a unit.
std::string title_of(std::string_view key) {
  for (const KeyTitle& row : kKeyTitles) {
    if (row.key == key) return std::string(row.title);
  }
  for (const std::string_view unit : {"_ns", "_bytes"}) {
    if (key.ends_with(unit)) key.remove_suffix(unit.size());
  }
  return words(key);
}

// "wall_ns" -> a duration, "size_bytes" -> a size, "sha256" -> fixed width; the members of an
// object one after another; else as it is.
std::string fact_html(const std::string& key, const Json& value) {
  if (value.is_number() && key.ends_with("_ns")) {
    return escape_html(format_duration_ns(value.get<double>()));
  }
  if (value.is_number() && key.ends_with("_bytes")) {
    return escape_html(format_bytes(value.get<double>()));
  }
  if (value.is_number_integer()) return escape_html(format_count(value.get<std::int64_t>()));
  if (value.is_object() && !value.empty()) {
    std::string html;
    for (const auto& member : value.items()) {
      html += fmt::format("{}{}: {}", html.empty() ? "" : "; ", escape_html(title_of(member.key())),
                          fact_html(member.key(), member.value()));
    }
    return html;
  }
  const std::string text = escape_html(text_of(value));
  return key.ends_with("sha256") || key == "git_commit" ? element("code", text, "hash") : text;
}

std::string object_facts(const Json& object) {
  FactList facts;
  for (const auto& member : object.items()) {
    const Json& value = member.value();
    if (value.is_null() || (value.is_string() && string_at(object, member.key()).empty())) {
      facts.add_html(title_of(member.key()), "<span class=\"missing\">not known</span>");
    } else {
      facts.add_html(title_of(member.key()), fact_html(member.key(), value));
    }
  }
  return facts.html();
}

struct ProvenancePart {
  const char* key;
  const char* title;
};
constexpr std::array<ProvenancePart, 8> kParts{{{"model", "Model"},
                                                {"dataset", "Data set"},
                                                {"artifact", "Artifact"},
                                                {"backend", "Backend"},
                                                {"reference", "Reference"},
                                                {"host", "Host"},
                                                {"toolchain", "Toolchain"},
                                                {"seeds", "Seeds"}}};

std::string run_facts(const Json& result) {
  FactList facts;
  const Json& provenance = at(result, "provenance");
  facts.add("Started", string_at(result, "started_utc"));
  facts.add("Finished", string_at(result, "finished_utc"));
  facts.add("Took", duration_or_missing(result, "wall_ns"));
  facts.add("Worker policy", string_at(provenance, "worker_policy"));
  facts.add("A worker's memory, at most",
            bytes_or_missing(at(provenance, "worker_limits"), "memory_bytes"));
  facts.add("A worker's CPU time in a phase, at most",
            duration_or_missing(at(provenance, "worker_limits"), "cpu_ns_per_phase"));
  facts.add("Clock", string_at(provenance, "clock"));
  facts.add("Schema version", text_or_missing(result, "schema_version"));
  return facts.html();
}

// "workload": {"clients": 2} -> "Workload, clients": 2, however deep.
void add_plan(const Json& object, const std::string& prefix, FactList& facts) {
  for (const auto& member : object.items()) {
    std::string title = words(member.key());
    if (!prefix.empty()) {
      title = prefix + ", " + member.key();
      std::replace(title.begin(), title.end(), '_', ' ');
    }
    if (member.value().is_object() && !member.value().empty()) {
      add_plan(member.value(), title, facts);
    } else {
      facts.add(title, text_of(member.value()));
    }
  }
}

std::string plan_facts(const Json& plan) {
  FactList facts;
  add_plan(plan, "", facts);
  return facts.html();
}

std::string raw_records(const Json& result) {
  HtmlTable table("Raw records that were kept", {{"Record"}, {"File"}, {"Size", true}});
  for (const Json& record : list_at(result, "raw")) {
    table.add_row({escape_html(string_at(record, "what")),
                   element("code", escape_html(string_at(record, "path"))),
                   bytes_or_missing(record, "size_bytes")});
  }
  if (table.empty()) {
    return paragraph(
        "Raw records were not kept; --keep_raw keeps every latency, so that the figures "
        "can be computed again.");
  }
  return table.html();
}

struct Term {
  const char* name;
  const char* meaning;
};
constexpr std::array<Term, 12> kTerms{{
    {"QPS",
     "Samples completed in the measured window, divided by its length. Never derived from a "
     "rounded average."},
    {"Latency",
     "From the moment a batch was meant to start to the moment its outputs were in host "
     "memory."},
    {"Percentile",
     "P99 is the smallest recorded latency that at least 99 % of the calls did not "
     "exceed (nearest rank)."},
    {"At most",
     "The upper confidence bound: were the run repeated, the true percentile would lie "
     "below it 99 times in 100."},
    {"Withheld",
     "Too few independent calls to bound that percentile; the number that it takes "
     "stands beside."},
    {"Interval",
     "Where the true figure lies with 95 % confidence, differences between rounds and "
     "dependence between calls included."},
    {"Valid",
     "No call failed, the books balance (rate times latency is what was in flight), and the "
     "outputs of the timed run are those of the accuracy run. With fewer than 64 calls, what it "
     "takes to bound P90, their number stands beside: such figures are a first impression."},
    {"Stable",
     "Rounds differ by at most 3 % (coefficient of variation), first and last third by at "
     "most 5 %."},
    {"Noisy host", "Something else used the machine while the row ran: do not compare the row."},
    {"Cosine, SNR", "Direction and size of the error over all values: 1 and infinite are exact."},
    {"Last places", "Distance in units in the last place of the coarser data type."},
    {"Self-comparison", "Hardware and reference are the same runtime: agreement proves nothing."},
}};

}  // namespace

std::string compile_section(const Json& result) {
  const Json& compile = at(result, "compile");
  if (!compile.is_object()) {
    return section("compile", "Compilation", paragraph(phase_outcome(result, "compile") + "."));
  }
  const Json& declared = at(compile, "declared");
  const Json& measured = at(compile, "measured");
  const Json& coverage = at(compile, "coverage");
  std::string html = paragraph(fmt::format("Compiling took {} and at most {} of memory.",
                                           duration_or_missing(measured, "wall_ns"),
                                           bytes_or_missing(measured, "peak_rss_bytes")),
                               "lead");
  HtmlTable table("What the backend declared beside what Assay measured",
                  {{""}, {"Declared by the backend"}, {"Measured by Assay"}});
  for (const CompileFact& fact : kCompileFacts) {
    table.add_row({fact.title, escape_html(value_at(declared, fact.declared)),
                   escape_html(fact.counted == nullptr ? value_at(measured, fact.measured)
                                                       : value_at(coverage, fact.counted))});
  }
  html += table.html() + coverage_table(coverage) + files_table(measured) +
          text_list(list_at(compile, "notes"));
  return section("compile", "Compilation", html);
}

// Where a worker was that had to be stopped.
std::string stacks_of(const Json& phases) {
  std::string html;
  for (const Json& phase : phases) {
    std::string lines;
    for (const Json& line : list_at(phase, "stack")) {
      if (line.is_string()) lines += line.get<std::string>() + "\n";
    }
    if (lines.empty()) continue;
    html +=
        paragraph("The worker of " + words(string_at(phase, "name")) + " when it was stopped:") +
        element("pre", escape_html(lines));
  }
  return html;
}

std::string phases_section(const Json& result) {
  HtmlTable table("Phases of the run",
                  {{"Phase"}, {"Outcome"}, {"Time", true}, {"Peak memory", true}, {"Remark"}});
  for (const Json& phase : list_at(result, "phases")) {
    std::string name = words(string_at(phase, "name"));
    if (const auto batch = number_at(phase, "batch_size")) {
      name += ", batch size " + format_number(*batch);
    }
    const bool skipped = string_at(phase, "outcome") == "skipped";
    std::string remark = sentence(string_at(phase, "reason"));
    if (bool_at(phase, "cached")) remark = "From an earlier run with the same inputs";
    if (const std::string log = string_at(phase, "log"); !log.empty()) remark += " (" + log + ")";
    table.add_row(
        {escape_html(name), badge(string_at(phase, "outcome")),
         skipped ? std::string(kMissing) : escape_html(duration_or_missing(phase, "wall_ns")),
         bytes_or_missing(phase, "peak_rss_bytes"), escape_html(remark)});
  }
  return section("phases", "Phases",
                 table.empty() ? paragraph("No phase was begun.")
                               : table.html() + stacks_of(list_at(result, "phases")));
}

std::string questions_section(const Json& result) {
  HtmlTable table("Questions of the backend and the answers that were used",
                  {{"Question"}, {"Answer"}, {"From"}});
  for (const Json& question : list_at(result, "questions")) {
    const bool answered = !at(question, "answer").is_null();
    table.add_row(
        {figure_with_note(escape_html(string_at(question, "name")), string_at(question, "note")),
         answered ? element("code", escape_html(text_or_missing(question, "answer")))
                  : "no answer, and no default",
         escape_html(words(string_at(question, "source")))});
  }
  return section("questions", "Questions and answers",
                 table.empty() ? paragraph("The backend asked nothing.") : table.html());
}

std::string provenance_section(const Json& result) {
  const Json& provenance = at(result, "provenance");
  std::string html = run_facts(result);
  for (const ProvenancePart& part : kParts) {
    const Json& object = at(provenance, part.key);
    html += element("h3", part.title) + "\n";
    html +=
        object.is_object() && !object.empty() ? object_facts(object) : paragraph("Not recorded.");
  }
  html += element("h3", "Raw records") + "\n" + raw_records(result);
  return section("provenance", "Provenance", html);
}

std::string repeat_section(const Json& result) {
  std::string html =
      paragraph("The command of this run:") + command_block(string_at(result, "command"));
  for (const Json& item : list_at(result, "reproduce")) {
    const std::string command = string_at(item, "command");
    if (command == string_at(result, "command")) continue;
    html += paragraph(words(string_at(item, "what")) + ":") + command_block(command);
  }
  if (const Json& plan = at(result, "plan"); plan.is_object() && !plan.empty()) {
    html += "<details>\n<summary>The plan, with every default filled in</summary>\n" +
            plan_facts(plan) + "</details>\n";
  }
  return section("repeat", "Repeat it", html);
}

std::string terms_section() {
  std::string items;
  for (const Term& term : kTerms) {
    items += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(term.name),
                         escape_html(term.meaning));
  }
  return section("terms", "Terms", element("dl", "\n" + items, "terms") + "\n");
}

}  // namespace assay::report
