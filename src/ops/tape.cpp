#include <plimsoll/ops/tape.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/variable_reader.h>

#include <plimsoll/ops/backward.h>

namespace plimsoll::ops {
namespace {

/// A tensor of a recorded op: what it is, and itself where the gradient reads it.
struct Operand {
  std::uint64_t id;
  TensorType type;
  Tensor kept;
};

struct Record {
  const OpDef* def;
  Attributes attributes;
  std::string scope;
  std::uint32_t needed;  ///< inputs that lead from a watched tensor
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  /// Where the input of a copy is: its gradient goes back there. Only copies have one.
  std::optional<Device> from = {};
};

/// The bit of operand `i` in a mask; with any number of them the last bit speaks for all from
/// there.
std::uint32_t bit(std::size_t i) { return 1U << std::min<std::size_t>(i, 31); }

using ById = std::unordered_map<std::uint64_t, Tensor>;

class RecordContext final : public GradientContext {
 public:
  RecordContext(const Record& record, const ById& gradients, const Tensor& like)
      : record_(record), gradients_(gradients), like_(like) {}

  const Tensor& input(int i) const override { return kept(record_.inputs, i, "input"); }
  const Tensor& output(int i) const override { return kept(record_.outputs, i, "output"); }
  const TensorType& input_type(int i) const override { return at(record_.inputs, i).type; }
  const TensorType& output_type(int i) const override { return at(record_.outputs, i).type; }
  int input_count() const override { return static_cast<int>(record_.inputs.size()); }
  const Attributes& attributes() const override { return record_.attributes; }
  bool has_grad(int i) const override { return gradients_.contains(at(record_.outputs, i).id); }
  bool needs(int i) const override {
    return i < input_count() && (record_.needed & bit(static_cast<std::size_t>(i))) != 0;
  }

  Tensor grad(int i) override {
    const Operand& output = at(record_.outputs, i);
    const auto it = gradients_.find(output.id);
    return it != gradients_.end() ? it->second : full_like_type(like_, output.type, 0.0);
  }

  void set(int i, Tensor gradient) override {
    if (!needs(i)) return;
    const TensorType& type = input_type(i);
    if (gradient.type() != type) {
      throw InternalError(fmt::format("[{}] the gradient of input {} is {}, not {}",
                                      record_.def->name, i, gradient.type().to_string(),
                                      type.to_string()));
    }
    results.emplace_back(at(record_.inputs, i).id, std::move(gradient));
  }

  std::vector<std::pair<std::uint64_t, Tensor>> results;

 private:
  static const Operand& at(const std::vector<Operand>& operands, int i) {
    return operands.at(static_cast<std::size_t>(i));
  }
  const Tensor& kept(const std::vector<Operand>& operands, int i, const char* what) const {
    const Tensor& tensor = at(operands, i).kept;
    if (!tensor.defined()) {
      throw InternalError(fmt::format("[{}] the gradient reads {} {}, which `kept` does not name",
                                      record_.def->name, what, i));
    }
    return tensor;
  }

  const Record& record_;
  const ById& gradients_;
  const Tensor& like_;
};

}  // namespace

class GradientTape::Impl final : public Dispatcher, public VariableReader, public ViewListener {
 public:
  explicit Impl(const TapeOptions& options)
      : options_(options),
        below_(Dispatcher::current()),
        reader_below_(VariableReader::current()),
        listener_before_(ViewListener::current()),
        scope_(std::in_place, *this) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() override = default;

  void watch(const Tensor& tensor) {
    if (!is_floating(tensor.dtype())) {
      throw InvalidArgument(
          fmt::format("[GradientTape::watch] {} has no derivative; only floating "
                      "tensors can be watched",
                      tensor.type().to_string()));
    }
    followed_.insert(tensor.id());
  }

  void stop() {
    recording_ = false;
    // The innermost leaves at once: it may live longer than tapes that are made after it.
    if (&Dispatcher::current() == static_cast<Dispatcher*>(this)) scope_.reset();
  }

  bool follows(const Tensor& tensor) const override {
    return (recording_ && followed_.contains(tensor.id())) || below_.follows(tensor);
  }

  void read(const Variable& variable) override {
    if (reader_below_ != nullptr) reader_below_->read(variable);  // first: it may get its data
    if (recording_ && variable.trainable()) followed_.insert(variable.tensor().id());
  }
  bool records() const override { return reader_below_ != nullptr && reader_below_->records(); }
  void before_run(std::function<void(StreamId)> hook) override {
    if (reader_below_ != nullptr) reader_below_->before_run(std::move(hook));
  }

  std::vector<Tensor> call(const OpCall& call) override {
    if (recording_ && call.def.writes != 0) refuse_write(call);
    std::vector<Tensor> outputs = below_.call(call);
    if (!recording_ || call.def.writes != 0 || call.def.stops_gradient) return outputs;

    std::uint32_t needed = 0;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (followed_.contains(call.inputs[i].id())) needed |= bit(i);
    }
    if (needed == 0) return outputs;
    bool any = false;
    for (const Tensor& output : outputs) {
      if (!is_floating(output.dtype())) continue;
      followed_.insert(output.id());
      any = true;
    }
    if (any) record(call, needed, outputs);
    return outputs;
  }

  Tensor on_view(const Tensor& tensor, const ViewOf& view) override {
    if (recording_ && followed_.contains(tensor.id())) return view_as_op(tensor, view);
    return listener_before_ != nullptr ? listener_before_->on_view(tensor, view) : Tensor();
  }

  bool computes(const Tensor& tensor) const override {
    return listener_before_ != nullptr && listener_before_->computes(tensor);
  }

  void on_copy(const Tensor& from, const Tensor& to) override {
    // First: a trace refuses copies of what it has bound.
    if (listener_before_ != nullptr) listener_before_->on_copy(from, to);
    if (recording_ && followed_.contains(from.id())) {
      followed_.insert(to.id());
      records_.push_back({nullptr,
                          {},
                          NameScope::current(),
                          1,
                          {{from.id(), from.type(), {}}},
                          {{to.id(), to.type(), {}}},
                          from.device()});
    }
  }

  /// An undefined seed is ones.
  std::vector<Tensor> gradient(std::span<const Tensor> targets, std::span<const Tensor> sources,
                               std::span<const Tensor> seeds) {
    if (used_up_) {
      throw InvalidArgument(
          "[GradientTape::gradient] this tape was used; make it persistent to "
          "take several gradients");
    }
    if (targets.size() != seeds.size()) {
      throw InvalidArgument(fmt::format("[GradientTape::gradient] {} seeds for {} targets",
                                        seeds.size(), targets.size()));
    }
    for (std::size_t i = 0; i < targets.size(); ++i) check_target(targets[i], seeds[i]);
    const bool was_recording = std::exchange(recording_, false);
    used_up_ = !options_.persistent;
    // Dtypes were settled going forward.
    const PrecisionScope as_recorded(DType::f32);
    const BackwardScope backward;

    std::unordered_set<std::uint64_t> wanted;
    for (const Tensor& source : sources) wanted.insert(source.id());
    ById gradients;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Tensor& target = targets[i];
      if (!followed_.contains(target.id()) && !wanted.contains(target.id())) continue;
      add_up(gradients, target.id(),
             seeds[i].defined() ? seeds[i] : full_like_type(target, target.type(), 1.0));
    }
    for (std::size_t left = records_.size(); left-- > 0;) {
      walk(records_[left], gradients, wanted);
      if (!options_.persistent) records_.pop_back();
    }
    recording_ = was_recording && options_.persistent;

    std::vector<Tensor> results;
    for (const Tensor& source : sources) {
      const auto it = gradients.find(source.id());
      results.push_back(it == gradients.end() ? Tensor() : it->second);
    }
    return results;
  }

 private:
  static void check_target(const Tensor& target, const Tensor& seed) {
    if (!is_floating(target.dtype())) {
      throw InvalidArgument(
          fmt::format("[GradientTape::gradient] the target is {}, which has no "
                      "derivative",
                      target.type().to_string()));
    }
    if (seed.defined() && seed.type() != target.type()) {
      throw InvalidArgument(fmt::format("[GradientTape::gradient] the seed is {}, the target {}",
                                        seed.type().to_string(), target.type().to_string()));
    }
  }

  static void add_up(ById& gradients, std::uint64_t id, const Tensor& gradient) {
    const auto [it, fresh] = gradients.try_emplace(id, gradient);
    if (!fresh) it->second = add(it->second, gradient);
  }

  void refuse_write(const OpCall& call) const {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (call.def.overwrites(i) && kept_.contains(call.inputs[i].id())) {
        throw InvalidArgument(
            fmt::format("[{}] a gradient tape still needs the old value of this {} tensor; take "
                        "the gradient first",
                        call.def.name, call.inputs[i].type().to_string()));
      }
    }
  }

  void record(const OpCall& call, std::uint32_t needed, std::span<const Tensor> outputs) {
    const Kept kept = call.def.kept != nullptr ? call.def.kept(needed) : Kept{};
    Record entry{&call.def, call.attributes, NameScope::current(), needed, {}, {}};
    const auto add = [&](std::vector<Operand>& to, std::span<const Tensor> from,
                         std::uint32_t mask) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        const bool keep = (mask & bit(i)) != 0;
        to.push_back({from[i].id(), from[i].type(), keep ? from[i] : Tensor()});
        if (keep) kept_.insert(from[i].id());
      }
    };
    add(entry.inputs, call.inputs, kept.inputs);
    add(entry.outputs, outputs, kept.outputs);
    records_.push_back(std::move(entry));
  }

  static void walk(const Record& record, ById& gradients,
                   const std::unordered_set<std::uint64_t>& wanted) {
    const auto reached = std::find_if(record.outputs.begin(), record.outputs.end(),
                                      [&](const Operand& o) { return gradients.contains(o.id); });
    if (reached == record.outputs.end()) return;
    const NameScope scope(record.scope);
    const Tensor like = gradients.at(reached->id);
    std::vector<std::pair<std::uint64_t, Tensor>> results;
    if (record.from) {
      results.emplace_back(record.inputs.front().id, like.to(*record.from));
    } else {
      results = gradients_of_op(record, gradients, like);
    }
    for (const Operand& output : record.outputs) {
      if (!wanted.contains(output.id)) gradients.erase(output.id);
    }
    for (const auto& [id, gradient] : results) add_up(gradients, id, gradient);
  }

  static std::vector<std::pair<std::uint64_t, Tensor>> gradients_of_op(const Record& record,
                                                                       const ById& gradients,
                                                                       const Tensor& like) {
    if (record.def->gradient == nullptr) {
      throw InvalidArgument(
          fmt::format("[GradientTape::gradient] {} has no gradient{}{}; use "
                      "stop_gradient on its input if none is meant",
                      record.def->name, record.scope.empty() ? "" : ", in ", record.scope));
    }
    RecordContext context(record, gradients, like);
    record.def->gradient(context);
    return std::move(context.results);
  }

  TapeOptions options_;
  Dispatcher& below_;
  VariableReader* reader_below_;  ///< the same; null if it is none
  ViewListener* listener_before_;
  std::optional<DispatchScope> scope_;
  bool recording_ = true;
  bool used_up_ = false;
  std::unordered_set<std::uint64_t> followed_;
  std::unordered_set<std::uint64_t> kept_;
  std::vector<Record> records_;
};

GradientTape::GradientTape(const TapeOptions& options) : impl_(std::make_unique<Impl>(options)) {}
GradientTape::~GradientTape() = default;
void GradientTape::watch(const Tensor& tensor) { impl_->watch(tensor); }
void GradientTape::watch(std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) impl_->watch(tensor);
}
void GradientTape::stop() { impl_->stop(); }
std::vector<Tensor> GradientTape::gradient(const Tensor& target, std::span<const Tensor> sources,
                                           const Tensor& seed) {
  return impl_->gradient({&target, 1}, sources, {&seed, 1});
}
std::vector<Tensor> GradientTape::gradient(std::span<const Tensor> targets,
                                           std::span<const Tensor> sources,
                                           std::span<const Tensor> seeds) {
  return impl_->gradient(targets, sources, seeds);
}
Tensor GradientTape::gradient(const Tensor& target, const Tensor& source) {
  return gradient(target, {&source, 1}, Tensor()).front();
}
Tensor GradientTape::gradient(const Tensor& target, const Variable& source) {
  return gradient(target, source.tensor());
}
Gradients GradientTape::gradient(const Tensor& target, std::span<const Variable> variables) {
  Gradients result{.variables = {variables.begin(), variables.end()}, .tensors = {}};
  std::vector<Tensor> sources;
  for (const Variable& variable : variables) sources.push_back(variable.tensor());
  result.tensors = gradient(target, sources, Tensor());
  return result;
}

Tensor Gradients::of(const Variable& variable) const {
  const auto it = std::find(variables.begin(), variables.end(), variable);
  return it == variables.end() ? Tensor()
                               : tensors[static_cast<std::size_t>(it - variables.begin())];
}

}  // namespace plimsoll::ops
