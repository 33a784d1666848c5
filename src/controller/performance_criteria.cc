#include "controller/performance_criteria.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "check/verdict.h"

namespace assay::controller {
namespace {

constexpr double kNsPerMs = 1e6;

// What one row has to say about one bound, in the bound's unit.
struct Figure {
  std::optional<double> value;
  std::optional<double> cautious;  // its confidence bound on the side of the asked one
  std::string missing;             // why there is no value
};

struct Bound {
  std::string name;  // of the criterion
  double asked = 0;
  bool at_most = true;  // else at least
  std::string unit;
};

struct Judged {
  check::Verdict verdict = check::Verdict::kPass;
  std::string found;
  std::string detail;
};

std::optional<double> number_in(const Json& object, const std::string& key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number()) return std::nullopt;
  return member->get<double>();
}

std::optional<double> scaled(std::optional<double> value, double unit) {
  return value ? std::optional(*value / unit) : std::nullopt;
}

// `side` 0 is the low end, 1 the high end.
std::optional<double> end_of_interval(const Json& interval, std::size_t side) {
  if (!interval.is_array() || interval.size() != 2 || !interval[side].is_number()) {
    return std::nullopt;
  }
  return interval[side].get<double>();
}

std::string why_withheld(const Json& row, const std::string& statistic) {
  for (const Json& withheld : row.value("withheld", Json::array())) {
    if (withheld.value("percentile", "") == statistic) {
      return fmt::format("{} is withheld: {}", statistic, withheld.value("reason", ""));
    }
  }
  return fmt::format("{} was not measured", statistic);
}

Figure latency_figure(const Json& row, const std::string& statistic) {
  Figure figure;
  figure.value = scaled(number_in(row.at("latency_ns"), statistic), kNsPerMs);
  figure.cautious = scaled(number_in(row.at("upper99"), statistic), kNsPerMs);
  if (!figure.value) figure.missing = why_withheld(row, statistic);
  if (statistic == "mean") {
    const Json& intervals = row.at("intervals").at("latency_ns");
    figure.cautious = scaled(end_of_interval(intervals.value("mean", Json()), 1), kNsPerMs);
  }
  return figure;
}

Figure rate_figure(const Json& row) {
  Figure figure;
  figure.value = number_in(row, "qps");
  figure.cautious = end_of_interval(row.at("intervals").value("qps", Json()), 0);
  if (!figure.value) figure.missing = "there is no rate";
  return figure;
}

Judged judge(const Json& row, const Figure& figure, const Bound& bound) {
  if (!row.value("valid", false)) {
    const Json reasons = row.value("reasons", Json::array());
    return {check::Verdict::kInconclusive, "not valid",
            reasons.empty() ? "" : reasons.front().get<std::string>()};
  }
  if (!figure.value) return {check::Verdict::kInconclusive, "withheld", figure.missing};
  const auto within = [&](double value) {
    return bound.at_most ? value <= bound.asked : value >= bound.asked;
  };
  Judged judged;
  judged.found = fmt::format("{:.5g} {}", *figure.value, bound.unit);
  if (!within(*figure.value)) {
    const bool noisy = row.value("noisy", false);
    judged.verdict = noisy ? check::Verdict::kInconclusive : check::Verdict::kFail;
    if (noisy) judged.detail = "beyond the bound on a host that was disturbed";
  } else if (figure.cautious && !within(*figure.cautious)) {
    judged.verdict = check::Verdict::kInconclusive;
    judged.detail = fmt::format("within the bound, but its confidence bound is {:.5g} {}",
                                *figure.cautious, bound.unit);
  }
  return judged;
}

const Json* find_row(const Json& rows, std::int64_t batch_size) {
  for (const Json& row : rows) {
    if (row.value("asked_batch_size", std::int64_t{0}) == batch_size) return &row;
  }
  return nullptr;
}

template <typename FigureOf>
Criterion judge_rows(const Bound& bound, const Json& rows,
                     const std::vector<std::int64_t>& batch_sizes, const FigureOf& figure_of) {
  Criterion criterion;
  criterion.name = bound.name;
  criterion.wanted = fmt::format("{} {:.5g} {} in every row",
                                 bound.at_most ? "at most" : "at least", bound.asked, bound.unit);
  check::Verdict verdict = check::Verdict::kPass;
  const auto append = [](std::string& text, std::int64_t batch_size, const std::string& part) {
    if (part.empty()) return;
    text += fmt::format("{}batch size {}: {}", text.empty() ? "" : "; ", batch_size, part);
  };
  for (const std::int64_t batch_size : batch_sizes) {
    const Json* row = find_row(rows, batch_size);
    const Judged judged = row == nullptr ? Judged{check::Verdict::kInconclusive, "not measured", ""}
                                         : judge(*row, figure_of(*row), bound);
    verdict = check::combine(verdict, judged.verdict);
    append(criterion.found, batch_size, judged.found);
    append(criterion.detail, batch_size, judged.detail);
  }
  criterion.outcome = std::string(check::name_of(verdict));
  return criterion;
}

}  // namespace

std::vector<Criterion> judge_named_bounds(const workload::Criteria& criteria, const Json& rows,
                                          const std::vector<std::int64_t>& batch_sizes) {
  std::vector<Criterion> judged;
  for (const workload::LatencyBound& named : criteria.latency) {
    const Bound bound{"latency_" + named.statistic, named.max_ms, true, "ms"};
    judged.push_back(judge_rows(bound, rows, batch_sizes, [&](const Json& row) {
      return latency_figure(row, named.statistic);
    }));
  }
  if (criteria.min_qps) {
    const Bound bound{"min_qps", *criteria.min_qps, false, "samples/s"};
    judged.push_back(judge_rows(bound, rows, batch_sizes, rate_figure));
  }
  return judged;
}

}  // namespace assay::controller
