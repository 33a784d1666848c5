#pragma once

// What the loaders of text share: the model's inputs, and the tokenizer that fills them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/loader.h"
#include "dataset/text_role.h"
#include "dataset/tokenizer.h"
#include "tensor/tensor.h"

namespace assay::dataset {

struct TextInput {
  TensorSpec spec;
  TextRole role = TextRole::kIds;
};

// Ids, mask and segments of a sample, by TextRole.
using TextValues = std::array<std::vector<std::int64_t>, kTextRoles>;

struct TextSetup {
  std::vector<TextInput> inputs;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string vocab_digest;
};

// From the request's text steps and the model's inputs. kInvalidArgument when the steps are missing
// or don't give what the model takes, kNotFound for a vocabulary or tokenizer library that isn't
// there.
Result<TextSetup> make_text_setup(const DatasetSource& source);

std::vector<TensorSpec> specs_of(std::span<const TextInput> inputs);

// Each input from the values of its role, in its own dtype.
Status write_text_inputs(std::span<const TextInput> inputs, const TextValues& values,
                         std::span<const std::span<std::byte>> into);

}  // namespace assay::dataset
