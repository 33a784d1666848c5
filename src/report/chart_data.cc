#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/format.h"
#include "report/html_sections.h"

namespace assay::report {
namespace {

constexpr std::size_t kMostBins = 96;
constexpr std::size_t kMostPoints = 360;

// As the record has it: whole numbers stay whole.
Json member_or_null(const Json& object, std::string_view key) {
  const Json& value = at(object, key);
  return value.is_number() ? value : Json(nullptr);
}

// Nanoseconds without a fraction: more than a drawing can show.
Json whole(double value) { return std::llround(value); }

// {edges: [n + 1], counts: [n]}; neighbours are merged until there are few enough. A gap between
// two bins becomes an empty one.
Json histogram(const Json& bins) {
  std::vector<std::int64_t> edges;
  std::vector<std::uint64_t> counts;
  for (const Json& bin : bins) {
    const std::int64_t low = std::llround(number_at(bin, "low_ns").value_or(0));
    const std::int64_t high = std::llround(number_at(bin, "high_ns").value_or(0));
    if (!edges.empty() && low > edges.back()) {
      edges.push_back(low);
      counts.push_back(0);
    }
    if (edges.empty()) edges.push_back(low);
    edges.push_back(high);
    counts.push_back(static_cast<std::uint64_t>(number_at(bin, "count").value_or(0)));
  }
  const std::size_t merge = (counts.size() + kMostBins - 1) / kMostBins;
  if (merge > 1) {
    std::vector<std::int64_t> few_edges{edges.front()};
    std::vector<std::uint64_t> few_counts;
    for (std::size_t i = 0; i < counts.size(); i += merge) {
      const std::size_t end = std::min(i + merge, counts.size());
      std::uint64_t sum = 0;
      for (std::size_t k = i; k < end; ++k) sum += counts[k];
      few_counts.push_back(sum);
      few_edges.push_back(edges[end]);
    }
    return {{"edges", few_edges}, {"counts", few_counts}};
  }
  return {{"edges", edges}, {"counts", counts}};
}

// Parallel lists; of neighbours that are merged the mean of means (weighted) and the largest.
Json course(const Json& points) {
  const std::size_t merge = (points.size() + kMostPoints - 1) / kMostPoints;
  Json round = Json::array(), at_ns = Json::array(), mean = Json::array(), max = Json::array();
  for (std::size_t i = 0; i < points.size();) {
    const double this_round = number_at(points[i], "round").value_or(0);
    double weight = 0, sum = 0, time = 0, largest = 0;
    std::size_t merged = 0;
    while (merged < merge && i < points.size() &&
           number_at(points[i], "round").value_or(0) == this_round) {
      const double count = number_at(points[i], "count").value_or(0);
      weight += count;
      sum += count * number_at(points[i], "mean_ns").value_or(0);
      time += number_at(points[i], "at_ns").value_or(0);
      largest = std::max(largest, number_at(points[i], "max_ns").value_or(0));
      ++merged;
      ++i;
    }
    round.push_back(whole(this_round));
    at_ns.push_back(whole(time / static_cast<double>(merged)));
    mean.push_back(weight > 0 ? whole(sum / weight) : Json(nullptr));
    max.push_back(weight > 0 ? whole(largest) : Json(nullptr));
  }
  return {{"round", round}, {"at_ns", at_ns}, {"mean_ns", mean}, {"max_ns", max}};
}

Json interval_or_null(const Json& intervals, std::string_view key) {
  const Json& interval = list_at(intervals, key);
  return interval.size() == 2 ? interval : Json(nullptr);
}

Json row_data(const Json& row, bool charted) {
  const Json& latency = at(row, "latency_ns");
  const Json& intervals = at(row, "intervals");
  const Json& latency_intervals = at(intervals, "latency_ns");
  Json data{{"batch", member_or_null(row, "batch_size")},
            {"clients", member_or_null(row, "clients")},
            {"qps", member_or_null(row, "qps")},
            {"qps_interval", interval_or_null(intervals, "qps")},
            {"max", member_or_null(latency, "max")}};
  for (const char* key : {"p50", "p95", "p99", "p999"}) data[key] = member_or_null(latency, key);
  for (const char* key : {"p50", "p99"}) {
    data[std::string(key) + "_interval"] = interval_or_null(latency_intervals, key);
  }
  if (charted) {
    data["histogram"] = histogram(list_at(row, "latency_histogram"));
    data["time"] = course(list_at(row, "latency_over_time"));
  }
  return data;
}

// Without the empty bins at both ends, so that the axis is as wide as the data.
Json trimmed(const Json& magnitude) {
  const Json& counts = list_at(magnitude, "counts");
  const auto is_used = [](const Json& count) { return count != 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), is_used);
  if (first == counts.end()) return magnitude;
  const auto last = std::find_if(counts.rbegin(), counts.rend(), is_used).base();
  Json result = magnitude;
  result["low_exponent"] = static_cast<int>(number_at(magnitude, "low_exponent").value_or(0)) +
                           static_cast<int>(first - counts.begin());
  result["counts"] = std::vector<Json>(first, last);
  return result;
}

Json output_data(const Json& output) {
  return {{"max_abs", member_or_null(output, "max_abs")},
          {"mean_abs", member_or_null(output, "mean_abs")},
          {"signed", at(at(output, "histograms"), "signed_difference")},
          {"magnitude", trimmed(at(at(output, "histograms"), "abs_difference"))}};
}

}  // namespace

Json chart_data(const Json& result) {
  Json rows = Json::array(), outputs = Json::array();
  for (const Json& row : list_at(result, "performance")) {
    rows.push_back(row_data(row, rows.size() < kMostCharted));
  }
  for (const Json& output : list_at(result, "numeric")) {
    if (outputs.size() < kMostCharted) outputs.push_back(output_data(output));
  }
  Json data{{"performance", rows}, {"numeric", outputs}};
  if (bool_at(result, "simulated")) {
    data["simulated"] = true;
    for (const char* key : {"performance", "numeric"}) {
      for (Json& drawn : data[key]) drawn["simulated"] = true;
    }
  }
  return data;
}

}  // namespace assay::report
