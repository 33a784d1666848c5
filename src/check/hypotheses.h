#pragma once

// The parts of the catalogue. Internal to check.

#include <vector>

#include "check/pipeline_hypotheses.h"

namespace assay::check {

void add_picture_hypotheses(const PipelineFacts& facts, std::vector<InputHypothesis>& list);
void add_text_hypotheses(const PipelineFacts& facts, std::vector<InputHypothesis>& list);

}  // namespace assay::check
