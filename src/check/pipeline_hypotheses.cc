#include "check/pipeline_hypotheses.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "check/hypotheses.h"

namespace assay::check {
namespace {

constexpr double kSmallestProbability = 1e-30;

double sigmoid(double value) { return 1 / (1 + std::exp(-value)); }

void take_sigmoid(std::span<double> row) {
  for (double& value : row) value = sigmoid(value);
}

void take_softmax(std::span<double> row) {
  const double largest = *std::max_element(row.begin(), row.end());
  for (double& value : row) value = std::exp(value - largest);
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  for (double& value : row) value /= sum;
}

void take_log(std::span<double> row) {
  for (double& value : row) value = std::log(std::max(value, kSmallestProbability));
}

void take_log_softmax(std::span<double> row) {
  take_softmax(row);
  take_log(row);
}

void take_logit(std::span<double> row) {
  for (double& value : row) {
    value = std::log(std::max(value, kSmallestProbability)) -
            std::log(std::max(1 - value, kSmallestProbability));
  }
}

void shift_up(std::span<double> row) { std::rotate(row.begin(), row.end() - 1, row.end()); }
void shift_down(std::span<double> row) { std::rotate(row.begin(), row.begin() + 1, row.end()); }

void add_activations(std::size_t width, RowValues values, std::vector<OutputHypothesis>& list) {
  if (values == RowValues::kLogits) {
    if (width > 1) {
      list.push_back(
          {"softmax",
           "the backend seems to give probabilities (softmax) where the model gives logits",
           take_softmax});
      list.push_back({"log_softmax",
                      "the backend seems to give logarithms of probabilities where the model gives "
                      "logits",
                      take_log_softmax});
    }
    list.push_back(
        {"sigmoid",
         "the backend seems to give probabilities (sigmoid) where the model gives logits",
         take_sigmoid});
    return;
  }
  if (width > 1) {
    list.push_back({"softmax_missing",
                    "the backend seems to give logits where the model gives probabilities",
                    take_log,
                    /*without_offset=*/true});
    list.push_back({"softmax_twice", "the backend seems to apply softmax twice", take_softmax});
  }
  list.push_back({"sigmoid_missing",
                  "the backend seems to give logits where the model gives probabilities (sigmoid)",
                  take_logit});
  list.push_back({"sigmoid_twice", "the backend seems to apply the sigmoid twice", take_sigmoid});
  if (width == 1) {
    list.push_back({"log_probability",
                    "the backend seems to give logarithms of probabilities where the model gives "
                    "probabilities",
                    take_log});
  }
}

}  // namespace

std::vector<InputHypothesis> input_hypotheses(const PipelineFacts& facts) {
  std::vector<InputHypothesis> list;
  add_picture_hypotheses(facts, list);
  add_text_hypotheses(facts, list);
  return list;
}

std::vector<OutputHypothesis> output_hypotheses(std::size_t width, RowValues values) {
  std::vector<OutputHypothesis> list;
  if (width == 0) return list;
  add_activations(width, values, list);
  if (width > 1) {
    list.push_back({"label_shift",
                    "the backend seems to give each class the score of the class before: labels "
                    "shifted by one",
                    shift_up});
  }
  if (width > 2) {
    list.push_back({"label_shift_down",
                    "the backend seems to give each class the score of the class after: labels "
                    "shifted by one",
                    shift_down});
  }
  return list;
}

}  // namespace assay::check
