#include "cli/task_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "check/metrics.h"
#include "cli/fetch_manifest.h"
#include "dataset/registry.h"
#include "workload/task_listing.h"
#include "workload/workload.h"

namespace assay::cli {
namespace {

std::string model_line(const workload::TaskListing& task) {
  return fmt::format("model: {} ({}{}{})", task.model, task.format,
                     task.precision.empty() ? "" : ", ", task.precision);
}

std::string data_line(const std::string& name) {
  for (const dataset::DatasetListing& listing : dataset::list_datasets()) {
    if (listing.name == name) return fmt::format("data: {} ({})", name, listing.about);
  }
  return "data: " + name;
}

// "top1 92.51 %": a share of samples is a percentage, any other metric a bare figure.
std::string figure_text(const workload::ExpectedFigure& figure) {
  const check::MetricDescription* metric = check::find_metric(figure.metric);
  if (metric != nullptr && metric->is_proportion) {
    return fmt::format("{} {:.4g} %", figure.metric, figure.value * 100);
  }
  return fmt::format("{} {:.4g}", figure.metric, figure.value);
}

std::string metric_line(const workload::TaskListing& task) {
  if (task.metric.empty()) return "accuracy: not measured; speed and numeric difference only";
  std::vector<std::string> figures;
  figures.reserve(task.expected.size());
  for (const workload::ExpectedFigure& figure : task.expected) {
    figures.push_back(figure_text(figure));
  }
  if (figures.empty()) return "accuracy: " + task.metric;
  return fmt::format("accuracy: {}; to be expected: {}", task.metric, fmt::join(figures, ", "));
}

std::string fetch_line(const std::string& task, const FetchNeed& need) {
  if (!need.needed) return "fetched: nothing; it comes with Assay";
  if (need.there && need.download_mb == 0) return "fetched: it is there";
  if (need.there) return fmt::format("fetched: it is there (about {} MB)", need.download_mb);
  const std::string builders =
      need.environment_mb == 0
          ? ""
          : fmt::format(", and {} MB on disk for the Python packages that build the model",
                        need.environment_mb);
  if (need.download_mb == 0)
    return fmt::format("fetched: not yet; ./assay fetch {}{}", task, builders);
  return fmt::format("fetched: not yet; ./assay fetch {} downloads about {} MB{}", task,
                     need.download_mb, builders);
}

Json facts(const workload::TaskListing& task, const FetchNeed& need) {
  Json expected = Json::object();
  for (const workload::ExpectedFigure& figure : task.expected) {
    expected[figure.metric] = figure.value;
  }
  return Json{{"model", task.model},
              {"model_format", task.format},
              {"model_precision", task.precision},
              {"dataset", task.dataset},
              {"metric", task.metric.empty() ? Json() : Json(task.metric)},
              {"expected", expected},
              {"fetch",
               {{"needed", need.needed},
                {"there", need.there},
                {"download_mb", need.download_mb},
                {"environment_mb", need.environment_mb}}}};
}

Row row_of(const std::string& task, const FetchManifest& manifest,
           const controller::Installation& installation) {
  const Result<workload::TaskListing> found =
      workload::describe_task(installation.workloads / (task + ".json"),
                              {installation.model_zoo, installation.cache / "models"});
  if (!found.ok()) return {task, "broken: " + found.status().message(), {}, {}};
  FetchNeed need = manifest.need(task, installation.cache);
  need.there = need.there && found->model_found;
  Row row;
  row.name = task;
  row.about = fmt::format("{} on {}", found->model, found->dataset);
  row.details = {model_line(*found), data_line(found->dataset), metric_line(*found),
                 fetch_line(task, need)};
  row.facts = facts(*found, need);
  return row;
}

}  // namespace

Result<std::vector<Row>> task_rows(const controller::Installation& installation) {
  ASSIGN_OR_RETURN(const std::vector<std::string> tasks,
                   workload::list_tasks(installation.workloads));
  ASSIGN_OR_RETURN(const FetchManifest manifest,
                   FetchManifest::read(installation.fetch_script.parent_path() / "tasks.json"));
  std::vector<Row> rows;
  rows.reserve(tasks.size());
  for (const std::string& task : tasks) rows.push_back(row_of(task, manifest, installation));
  return rows;
}

}  // namespace assay::cli
