// The kernel of scan, of every backend: the kernels of its body, step by step.
#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/kernel.h>

#include "ops/scan_layout.h"

namespace plimsoll::ops {
namespace {

struct ScanState final : KernelState {
  struct Node {
    const Kernel* kernel = nullptr;  ///< null: nothing to run
    std::shared_ptr<const KernelState> state;
  };
  const ScanBody* body;
  ScanLayout layout;
  std::vector<Node> nodes;

  ScanState(const ScanBody& of, const std::vector<std::int64_t>& recorded)
      : body(&of), layout(of, recorded) {}
};

std::vector<TensorType> types_of(const ScanBody& body, const std::vector<int>& values) {
  std::vector<TensorType> types;
  for (const int value : values) types.push_back(body.type(value));
  return types;
}

void check_slices(const OpInputs& inputs, const ScanBody& body, Bytes alignment) {
  const int first = body.states + body.delayed;
  const auto check = [&](const TensorType& type) {
    if (type.bytes() % alignment == 0) return;
    inputs.fail(fmt::format("on this device, a step's {} must be a multiple of {} bytes; pad it",
                            type.to_string(), alignment));
  };
  for (int i = body.states; i < first + body.xs; ++i) check(body.type(i));
  const std::vector<std::int64_t>& recorded = inputs.attributes().integers("recorded");
  for (int i = 0; i < static_cast<int>(body.results.size()); ++i) {
    const bool whole = i < body.states && recorded[static_cast<std::size_t>(i)] == 0;
    if (!whole) check(body.result_type(i));
  }
}

/// Where the values of the step at hand are.
class Pointers {
 public:
  Pointers(const KernelContext& k, const ScanState& state)
      : k_(k),
        body_(*state.body),
        layout_(state.layout),
        recorded_(k.attributes.integers("recorded")),
        steps_(k.attributes.integer("steps")),
        reverse_(k.attributes.flag("reverse")),
        at_(body_.types.size(), nullptr) {
    for (std::size_t i = 0; i < at_.size(); ++i) {
      if (layout_.offsets[i] != ScanLayout::kElsewhere) at_[i] = scratch(layout_.offsets[i]);
    }
    const int first = body_.inputs() - body_.shared;
    for (int i = first; i < body_.inputs(); ++i) set(i, k.in(i + body_.delayed).data);
  }

  std::int64_t steps() const { return steps_; }

  /// The `count`-th step that runs.
  void move_to(std::int64_t count) {
    const std::int64_t index = place(count);
    for (int i = 0; i < body_.states; ++i) {
      set(i, count == 0 ? k_.in(i).data : state_after(i, count - 1));
      set(body_.results[static_cast<std::size_t>(i)], state_after(i, count));
    }
    for (int i = 0; i < body_.delayed; ++i) {
      const int value = body_.states + i;
      const TensorView& stack = k_.in(value + body_.delayed);
      // What was before is where this scan goes next, as it goes the other way.
      const std::int64_t before = reverse_ ? index - 1 : index + 1;
      const bool first = before < 0 || before == steps_;
      set(value, first ? k_.in(value).data : slice(stack, value, before));
    }
    for (int i = 0; i < body_.xs; ++i) {
      const int value = body_.states + body_.delayed + i;
      set(value, slice(k_.in(value + body_.delayed), value, index));
    }
    for (int i = body_.states; i < static_cast<int>(body_.results.size()); ++i) {
      const int value = body_.results[static_cast<std::size_t>(i)];
      set(value, slice(k_.out(i), value, index));
    }
  }

  void* operator[](int value) const {
    return at_[static_cast<std::size_t>(layout_.roots[static_cast<std::size_t>(value)])];
  }

 private:
  std::int64_t place(std::int64_t count) const { return reverse_ ? steps_ - 1 - count : count; }
  void set(int value, void* to) { at_[static_cast<std::size_t>(value)] = to; }
  void* scratch(Bytes offset) const { return static_cast<std::byte*>(k_.workspace) + offset; }
  void* slice(const TensorView& stack, int value, std::int64_t index) const {
    return static_cast<std::byte*>(stack.data) +
           static_cast<Bytes>(index) * body_.type(value).bytes();
  }
  void* state_after(int i, std::int64_t count) const {
    const auto at = static_cast<std::size_t>(i);
    if (recorded_[at] != 0) return slice(k_.out(i), i, place(count));
    if (count == steps_ - 1) return k_.out(i).data;
    return scratch(layout_.turns[at][static_cast<std::size_t>(count % 2)]);
  }

  const KernelContext& k_;
  const ScanBody& body_;
  const ScanLayout& layout_;
  const std::vector<std::int64_t>& recorded_;
  std::int64_t steps_;
  bool reverse_;
  std::vector<void*> at_;
};

}  // namespace

std::shared_ptr<const KernelState> prepare_scan(const OpInputs& inputs, const char* backend,
                                                Bytes alignment) {
  const ScanBody& body = body_of(inputs.attributes().integer("body"));
  check_slices(inputs, body, alignment);
  auto state = std::make_shared<ScanState>(body, inputs.attributes().integers("recorded"));
  const KernelTable& table = kernels_of(backend);
  Bytes scratch = 0;
  for (const ScanBody::Node& node : body.nodes) {
    state->nodes.emplace_back();
    const std::vector<TensorType> out = types_of(body, node.outputs);
    const bool nothing =
        std::ranges::all_of(out, [](const TensorType& type) { return type.elements() == 0; });
    if (node.op->view || nothing) continue;
    ScanState::Node& made = state->nodes.back();
    made.kernel = table.find(*node.op);
    if (made.kernel == nullptr) {
      throw DeviceError(fmt::format("[scan] {} has no kernel for {}", node.op->name, backend));
    }
    if (made.kernel->prepare == nullptr) continue;
    const std::vector<TensorType> in = types_of(body, node.inputs);
    made.state = made.kernel->prepare({*node.op, in, node.attributes}, out);
    if (made.state != nullptr) scratch = std::max(scratch, made.state->workspace);
  }
  state->workspace = state->layout.bytes + scratch;
  return state;
}

void run_scan(const KernelContext& k) {
  const auto& state = static_cast<const ScanState&>(*k.state);
  const ScanBody& body = *state.body;
  Pointers pointers(k, state);
  void* scratch = static_cast<std::byte*>(k.workspace) + state.layout.bytes;
  std::vector<TensorView> in;
  std::vector<TensorView> out;
  for (std::int64_t count = 0; count < pointers.steps(); ++count) {
    pointers.move_to(count);
    for (std::size_t n = 0; n < body.nodes.size(); ++n) {
      const ScanState::Node& made = state.nodes[n];
      if (made.kernel == nullptr) continue;
      const ScanBody::Node& node = body.nodes[n];
      in.clear();
      out.clear();
      for (const int value : node.inputs) in.push_back({pointers[value], body.type(value)});
      for (const int value : node.outputs) out.push_back({pointers[value], body.type(value)});
      made.kernel->run({.outputs = out,
                        .inputs = in,
                        .attributes = node.attributes,
                        .state = made.state.get(),
                        .workspace = scratch,
                        .queue = k.queue});
    }
  }
}

}  // namespace plimsoll::ops
