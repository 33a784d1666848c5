#include "plan.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace graphcore {
namespace {

using assay::backend::Error;
using onnx::NodeProto;

// Assumed: nothing is published about them.
constexpr std::int64_t kSyncCycles = 100;
constexpr std::int64_t kBytesPerCycle = 8;      // that an element-wise operator handles on a tile
constexpr std::int64_t kCodePerKind = 4096;     // of a kind of operator
constexpr std::int64_t kCodePerOperator = 256;  // of its place in the program

// The same bytes under another shape.
constexpr std::array<std::string_view, 6> kViews = {"Reshape",   "Flatten",  "Squeeze",
                                                    "Unsqueeze", "Identity", "Dropout"};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool is_view(const NodeProto& node) {
  return std::find(kViews.begin(), kViews.end(), node.op_type()) != kViews.end();
}

// A product as the tiles share it: `groups` of m x n results, each a sum of k products.
struct Product {
  std::int64_t groups = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

class Planner {
 public:
  Planner(const PlanInput& input, const Options& options, std::int64_t batch)
      : input_(input), options_(options) {
    plan_.batch = batch;
    plan_.tiles = (options.chip().tiles - options.io_tiles) * options.num_ipus;
    plan_.tile_bytes = options.chip().tile_bytes;
  }

  Plan run() {
    find_lifetimes();
    place_weights();
    std::set<std::string> kinds;
    int index = 0;
    for (const NodeProto& node : input_.model->graph().node()) {
      kinds.insert(node.op_type());
      plan_.operators.push_back(plan_operator(node, index++));
    }
    plan_.code_bytes = static_cast<std::int64_t>(kinds.size()) * kCodePerKind +
                       static_cast<std::int64_t>(index) * kCodePerOperator;
    return std::move(plan_);
  }

 private:
  // Dimensions grow with the batch as they do from 1 to 2.
  std::vector<std::int64_t> shape_of(const std::string& tensor) const {
    const auto one = input_.one->find(tensor);
    const auto two = input_.two->find(tensor);
    if (one == input_.one->end() || two == input_.two->end()) return {};
    std::vector<std::int64_t> shape = one->second.shape;
    for (std::size_t i = 0; i < shape.size() && i < two->second.shape.size(); ++i) {
      shape[i] += (two->second.shape[i] - shape[i]) * (plan_.batch - 1);
    }
    return shape;
  }

  std::int64_t elements_of(const std::string& tensor) const {
    if (input_.one->count(tensor) == 0) return 0;
    std::int64_t count = 1;
    for (const std::int64_t dim : shape_of(tensor)) count *= dim;
    return count;
  }

  std::int64_t element_bytes(const std::string& tensor) const {
    const auto found = input_.types->find(tensor);
    return found != input_.types->end() ? type_bytes(found->second) : 0;
  }

  std::int64_t bytes_of(const std::string& tensor) const {
    return elements_of(tensor) * element_bytes(tensor);
  }

  const std::string& owner(const std::string& tensor) const {
    const auto found = views_.find(tensor);
    return found != views_.end() ? found->second : tensor;
  }

  void find_lifetimes() {
    const auto& graph = input_.model->graph();
    for (const auto& tensor : graph.initializer()) weights_.insert(tensor.name());
    for (const auto& tensor : graph.input()) born_[tensor.name()] = -1;
    int index = 0;
    for (const NodeProto& node : graph.node()) {
      for (const std::string& name : node.input()) last_use_[owner(name)] = index;
      for (const std::string& name : node.output()) {
        if (is_view(node) && node.input_size() > 0 && weights_.count(node.input(0)) == 0) {
          views_[name] = owner(node.input(0));
        } else {
          born_[name] = index;
        }
      }
      ++index;
    }
    for (const auto& output : graph.output()) last_use_[owner(output.name())] = index;
  }

  void place_weights() {
    std::int64_t bytes = 0;
    for (const auto& tensor : input_.model->graph().initializer()) {
      bytes += element_count(tensor) * element_bytes(tensor.name());
    }
    plan_.weight_bytes = ceil_div(bytes, plan_.tiles);
  }

  std::int64_t live_at(int index) const {
    std::int64_t bytes = 0;
    for (const auto& [name, born] : born_) {
      const auto last = last_use_.find(name);
      if (born <= index && last != last_use_.end() && last->second >= index &&
          weights_.count(name) == 0) {
        bytes += bytes_of(name);
      }
    }
    return bytes;
  }

  OperatorPlan plan_operator(const NodeProto& node, int index) const {
    OperatorPlan op;
    op.op = node.op_type();
    op.tensor = node.output_size() > 0 ? node.output(0) : "";
    op.live_bytes = ceil_div(live_at(index), plan_.tiles);
    if (is_view(node) || element_bytes(op.tensor) == 0) return op;
    op.sync_cycles = kSyncCycles;
    const Product product = product_of(node);
    const std::int64_t needed =
        product.k > 0 ? plan_product(node, product, op) : plan_elements(node, op);
    const auto limit = static_cast<std::int64_t>(options_.available_memory_proportion *
                                                 static_cast<double>(plan_.tile_bytes));
    op.passes = std::max<std::int64_t>(1, ceil_div(needed, std::max<std::int64_t>(1, limit)));
    op.exchange_bytes = ceil_div(needed, op.passes);
    op.sync_cycles *= op.passes;
    op.exchange_cycles = ceil_div(needed, options_.chip().exchange_bytes);
    return op;
  }

  Product product_of(const NodeProto& node) const {
    Product product;
    if (node.input_size() < 2 || node.output_size() < 1) return product;
    const auto out = shape_of(node.output(0));
    const auto second = shape_of(node.input(1));
    if (node.op_type() == "Conv" && out.size() > 2 && second.size() == out.size()) {
      const std::int64_t channels = shape_of(node.input(0)).at(1);
      product.groups = std::max<std::int64_t>(1, channels / std::max<std::int64_t>(1, second[1]));
      product.n = out[1] / product.groups;
      product.m = elements_of(node.output(0)) / std::max<std::int64_t>(1, out[1]);
      product.k = elements_of(node.input(1)) / std::max<std::int64_t>(1, second[0]);
    } else if ((node.op_type() == "MatMul" || node.op_type() == "Gemm") && out.size() > 1) {
      product.n = out.back();
      const std::int64_t results = elements_of(node.output(0));
      product.k = elements_of(node.input(0)) * product.n / std::max<std::int64_t>(1, results);
      if (second.size() > 2) {
        product.groups = results / std::max<std::int64_t>(1, out[out.size() - 2] * product.n);
      }
      product.m = results / std::max<std::int64_t>(1, product.n * product.groups);
    }
    return product;
  }

  // Cuts each group into a grid of blocks, one a tile, with the fewest bytes to bring. Returns
  // them.
  std::int64_t plan_product(const NodeProto& node, const Product& product, OperatorPlan& op) const {
    const std::int64_t bytes = element_bytes(node.output(0));
    const bool half = bytes == 2;
    const std::int64_t rounds = ceil_div(product.groups, plan_.tiles);
    const std::int64_t tiles = std::max<std::int64_t>(1, plan_.tiles / product.groups);
    std::int64_t best = 0;
    std::int64_t block = 0;
    for (std::int64_t columns = 1; columns <= std::min(tiles, product.n); columns *= 2) {
      const std::int64_t m = ceil_div(product.m, std::max<std::int64_t>(1, tiles / columns));
      const std::int64_t n = ceil_div(product.n, columns);
      const std::int64_t needed = (m + n) * product.k * bytes;
      if (block > 0 && needed >= best) continue;
      best = needed;
      block = m * n;
    }
    const std::int64_t width = half ? 16 : 4;  // products that one step of the AMP unit sums
    const std::int64_t rate = half ? options_.chip().fp16_macs : options_.chip().fp32_macs;
    op.macs = product.groups * product.m * product.n * product.k;
    op.compute_cycles = rounds * ceil_div(block * ceil_div(product.k, width) * width, rate);
    // Windows overlap: a tile never brings more than there is.
    const std::int64_t all = bytes_of(node.input(0)) + bytes_of(node.input(1));
    return std::min(rounds * best, all);
  }

  std::int64_t plan_elements(const NodeProto& node, OperatorPlan& op) const {
    std::int64_t bytes = 0;
    for (const std::string& name : node.input()) bytes += bytes_of(name);
    const std::int64_t share = ceil_div(bytes, plan_.tiles);
    std::int64_t handled = share;
    for (const std::string& name : node.output()) {
      handled = std::max(handled, ceil_div(bytes_of(name), plan_.tiles));
    }
    op.compute_cycles = ceil_div(handled, kBytesPerCycle);
    return share;
  }

  PlanInput input_;
  const Options& options_;
  Plan plan_;
  std::set<std::string> weights_;
  std::map<std::string, std::string> views_;  // a view's name, and whose bytes it shows
  std::map<std::string, int> born_;
  std::map<std::string, int> last_use_;
};

}  // namespace

std::int64_t Plan::cycles() const {
  std::int64_t sum = 0;
  for (const OperatorPlan& op : operators) sum += op.cycles();
  return sum;
}

std::int64_t Plan::macs() const {
  std::int64_t sum = 0;
  for (const OperatorPlan& op : operators) sum += op.macs;
  return sum;
}

std::int64_t Plan::bytes_at(const OperatorPlan& op) const {
  return weight_bytes + code_bytes + op.live_bytes + op.exchange_bytes;
}

const OperatorPlan* Plan::fullest() const {
  const auto found = std::max_element(
      operators.begin(), operators.end(),
      [&](const OperatorPlan& a, const OperatorPlan& b) { return bytes_at(a) < bytes_at(b); });
  return found == operators.end() ? nullptr : &*found;
}

Plan plan_model(const PlanInput& input, const Options& options, std::int64_t batch) {
  return Planner(input, options, batch).run();
}

void check_fits(const Plan& plan, const Options& options) {
  const OperatorPlan* const op = plan.fullest();
  if (op == nullptr || plan.bytes_at(*op) <= plan.tile_bytes) return;
  const std::int64_t needed = plan.bytes_at(*op);
  throw Error(ASSAY_RESOURCE_EXHAUSTED,
              "batch " + std::to_string(plan.batch) + " does not fit: at operator " + op->op +
                  ", tensor \"" + op->tensor + "\", a tile needs " + std::to_string(needed) +
                  " bytes (weights " + std::to_string(plan.weight_bytes) + ", code " +
                  std::to_string(plan.code_bytes) + ", activations " +
                  std::to_string(op->live_bytes) + ", exchange " +
                  std::to_string(op->exchange_bytes) + "), " +
                  std::to_string(needed - plan.tile_bytes) + " more than the " +
                  std::to_string(plan.tile_bytes) + " of a " + options.chip().title +
                  " tile; take a smaller batch, more num_ipus or less available_memory_proportion");
}

double modelled_rate(const Plan& plan, const Chip& chip) {
  const std::int64_t cycles = plan.cycles();
  return cycles == 0
             ? 0
             : static_cast<double>(plan.batch) * chip.clock_hz / static_cast<double>(cycles);
}

double utilisation(const Plan& plan, const Options& options) {
  const std::int64_t cycles = plan.cycles();
  const std::int64_t rate = options.half() ? options.chip().fp16_macs : options.chip().fp32_macs;
  const double peak = static_cast<double>(cycles) * static_cast<double>(plan.tiles * rate);
  return peak == 0 ? 0 : static_cast<double>(plan.macs()) / peak;
}

}  // namespace graphcore
