#include "ipu_operators.h"

#include "ipu_conv.h"
#include "ipu_matmul.h"
#include "ipu_round.h"
#include "lower.h"

namespace graphcore {

struct IpuOperators::Parts {
  explicit Parts(DeviceState& state) : round(state), matmul(state), conv(state), domain(kDomain) {
    domain.Add(&round);
    domain.Add(&matmul);
    domain.Add(&conv);
  }

  RoundOperator round;
  MatMulOperator matmul;
  ConvOperator conv;
  Ort::CustomOpDomain domain;
};

IpuOperators::IpuOperators(DeviceState& state) : parts_(std::make_unique<Parts>(state)) {}
IpuOperators::~IpuOperators() = default;

void IpuOperators::add_to(Ort::SessionOptions& options) { options.Add(parts_->domain); }

}  // namespace graphcore
