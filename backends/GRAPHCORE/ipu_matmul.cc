#include "ipu_matmul.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace graphcore {
namespace {

using Dims = std::vector<std::int64_t>;

std::string text_of(const Dims& dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

[[noreturn]] void refuse(const Dims& a, const Dims& b) {
  throw std::invalid_argument("a product of " + text_of(a) + " and " + text_of(b) +
                              ": the shapes do not go together");
}

// The dimensions before the last two, with ones in front up to `rank`.
Dims leading(const Dims& dims, std::size_t rank) {
  Dims result(rank - dims.size(), 1);
  result.insert(result.end(), dims.begin(), dims.end() - 2);
  return result;
}

Dims broadcast(const Dims& a, const Dims& b, const Dims& lead_a, const Dims& lead_b) {
  Dims result;
  for (std::size_t i = 0; i < lead_a.size(); ++i) {
    if (lead_a[i] != lead_b[i] && lead_a[i] != 1 && lead_b[i] != 1) refuse(a, b);
    result.push_back(lead_a[i] == 1 ? lead_b[i] : lead_a[i]);
  }
  return result;
}

std::size_t product_of(const Dims& dims) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

// Which matrix of a stack of dimensions `lead` the product `index` of the stack `all` takes.
std::size_t matrix_of(std::size_t index, const Dims& all, const Dims& lead) {
  std::size_t result = 0;
  std::size_t stride = 1;
  for (std::size_t i = all.size(); i-- > 0;) {
    const std::size_t place = index % static_cast<std::size_t>(all[i]);
    index /= static_cast<std::size_t>(all[i]);
    if (lead[i] != 1) result += place * stride;
    stride *= static_cast<std::size_t>(lead[i]);
  }
  return result;
}

}  // namespace

MatMulPlan plan_matmul(const Dims& a, const Dims& b, bool transpose_a, bool transpose_b) {
  if (a.size() < 2 || b.size() < 2) refuse(a, b);
  const std::size_t rank = std::max(a.size(), b.size());
  const Dims lead_a = leading(a, rank);
  const Dims lead_b = leading(b, rank);
  const std::int64_t m = a[a.size() - (transpose_a ? 1 : 2)];
  const std::int64_t k = a[a.size() - (transpose_a ? 2 : 1)];
  const std::int64_t n = b[b.size() - (transpose_b ? 2 : 1)];
  if (k != b[b.size() - (transpose_b ? 1 : 2)]) refuse(a, b);
  MatMulPlan plan;
  plan.out_shape = broadcast(a, b, lead_a, lead_b);
  const Dims all = plan.out_shape;
  plan.out_shape.push_back(m);
  plan.out_shape.push_back(n);
  arith::MatMulShape& shape = plan.shape;
  shape = {product_of(all), static_cast<std::size_t>(m), static_cast<std::size_t>(k),
           static_cast<std::size_t>(n)};
  shape.transpose_a = transpose_a;
  shape.transpose_b = transpose_b;
  shape.one_a = shape.batch > 1 && product_of(lead_a) == 1;
  shape.one_b = product_of(lead_b) == 1;
  if (shape.one_b && !transpose_a && !shape.one_a) {
    shape.m *= std::exchange(shape.batch, 1);  // one tall product
  } else if (!shape.one_a && !shape.one_b && lead_a != lead_b) {
    for (std::size_t i = 0; i < shape.batch; ++i) {
      plan.pairs.emplace_back(matrix_of(i, all, lead_a), matrix_of(i, all, lead_b));
    }
    shape.batch = 1;
  }
  return plan;
}

MatMulKernel::MatMulKernel(const OrtKernelInfo* info, DeviceState& state)
    : place_{&state, site_of(info),
             arithmetic_of(state.options, state.options.half_partials_matmul())} {
  const Ort::ConstKernelInfo kernel(info);
  transpose_a_ = kernel.GetAttribute<std::int64_t>("trans_a") != 0;
  transpose_b_ = kernel.GetAttribute<std::int64_t>("trans_b") != 0;
  int constant = 0;
  const Ort::ConstValue b = kernel.GetTensorConstantInput(1, &constant);
  if (constant == 0) return;
  const std::vector<std::int64_t> dims = b.GetTensorTypeAndShapeInfo().GetShape();
  if (dims.size() != 2 || dims[0] == 0 || dims[1] == 0) return;
  arith::MatMulShape shape;
  shape.m = 1;
  shape.k = static_cast<std::size_t>(dims[transpose_b_ ? 1 : 0]);
  shape.n = static_cast<std::size_t>(dims[transpose_b_ ? 0 : 1]);
  shape.one_b = true;
  shape.transpose_b = transpose_b_;
  packed_ = arith::pack(shape, b.GetTensorData<float>());
}

void MatMulKernel::Compute(OrtKernelContext* raw) const {
  const Ort::KernelContext context(raw);
  const Ort::ConstValue a = context.GetInput(0);
  const Ort::ConstValue b = context.GetInput(1);
  const MatMulPlan plan =
      plan_matmul(a.GetTensorTypeAndShapeInfo().GetShape(),
                  b.GetTensorTypeAndShapeInfo().GetShape(), transpose_a_, transpose_b_);
  const float* const bias = optional_data<float>(context, 2);
  const arith::Arithmetic arithmetic = arithmetic_for_call(place_, context, 3);
  const arith::Parallel parallel = parallel_of(context);
  float* const out = context.GetOutput(0, plan.out_shape).GetTensorMutableData<float>();
  if (product_of(plan.out_shape) == 0) return;
  const arith::MatMulShape& shape = plan.shape;
  if (const char* const why = arith::objection(shape)) throw std::invalid_argument(why);
  arith::Counters counters;
  if (packed_) {
    arith::matmul(shape, a.GetTensorData<float>(), *packed_, bias, out, arithmetic, place_.site,
                  counters, parallel);
  } else if (plan.pairs.empty()) {
    arith::matmul(shape, a.GetTensorData<float>(), b.GetTensorData<float>(), bias, out, arithmetic,
                  place_.site, counters, parallel);
  }
  for (std::size_t i = 0; i < plan.pairs.size(); ++i) {
    // The products of a stack draw numbers of their own.
    arith::matmul(shape, a.GetTensorData<float>() + plan.pairs[i].first * shape.m * shape.k,
                  b.GetTensorData<float>() + plan.pairs[i].second * shape.k * shape.n, bias,
                  out + i * shape.m * shape.n, arithmetic, place_.site + (i << 32), counters,
                  parallel);
  }
  place_.state->count(place_.site, counters.overflows);
}

}  // namespace graphcore
