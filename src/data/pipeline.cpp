#include <plimsoll/data/pipeline.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine.h"
#include "data/ignore_errors.h"
#include "data/node.h"

namespace plimsoll::data {
namespace {

/// What every pipeline needs on top of its specs: a file, a little scratch, a few scalars.
constexpr Bytes kSmallest = KiB(256);

Bytes minimum_of(const Node& node, int threads) {
  Bytes total = node.minimum(threads);
  for (const NodePtr& input : node.inputs()) total += minimum_of(*input, threads);
  return total;
}

/// Before stages are made: those charge what they hold. Returns the bytes.
Bytes require_minimum(const Node& node, const Runtime& runtime) {
  const Bytes needed = minimum_of(node, runtime.threads) + kSmallest;
  const Bytes there = room_in(runtime.budget, runtime.device);
  if (needed <= there) return needed;
  throw BudgetTooSmall(fmt::format(
      "[Pipeline] {} needs at least {} ({} bytes), and {} has {}; raise the budget to {} or use "
      "smaller batches or windows",
      node.title(), format_bytes(needed), needed, runtime.budget.path(), format_bytes(there),
      needed));
}

const Node* unsaveable(const Node& node) {
  if (!node.can_be_saved()) return &node;
  for (const NodePtr& input : node.inputs()) {
    if (const Node* const found = unsaveable(*input)) return found;
  }
  return nullptr;
}

}  // namespace

StagePtr Builder::build(const NodePtr& node) {
  const std::uint64_t outer = number_;
  number_ = mix_ids(base_, ++count_);
  made_.emplace_back();
  ++depth_;
  StagePtr stage = node->make(*this);
  --depth_;
  stage->stats_.stage = node->title();
  stage->stats_.depth = depth_;
  // The time of another strand is not part of this one's.
  if (!stage->begins_section()) stage->inputs_ = std::move(made_.back());
  made_.pop_back();
  if (registers_) {
    stages_.push_back(stage.get());
    if (stage->runs_ahead()) engine_->add_ahead(*stage);
    if (stage->can_relieve()) engine_->add_relief(*stage);
  }
  const std::int64_t skips = engine_->options().skip_errors;
  const double rate = engine_->options().skip_rate;
  if (node->may_fail() && (skips != 0 || rate > 0)) {
    const Stage* const inner = stage.get();
    stage = make_ignore_errors(std::move(stage), skips, rate, *engine_);
    stage->stats_.stage = "skip_errors";
    stage->inputs_ = {inner};
  }
  made_.back().push_back(stage.get());
  number_ = outer;
  return stage;
}

StagePtr Builder::input(const Node& node, Engine& section) {
  Engine* const outer = std::exchange(engine_, &section);
  StagePtr stage = input(node);
  engine_ = outer;
  return stage;
}

struct Pipeline::State {
  State(const Dataset& described, const Device& device, const PipelineOptions& options)
      : dataset(described), runtime(device, options), engine(runtime) {
    // A quarter is for those that run ahead.
    runtime.reserve =
        require_minimum(*dataset.node(), runtime) + room_in(runtime.budget, runtime.device) / 4;
    Builder builder(engine);
    root = builder.build(dataset.node());
    stages = builder.stages();
    engine.set_root(*root);
    signature = fmt::format("seed={} skip_errors={} skip_rate={}\n{}", options.seed,
                            options.skip_errors, options.skip_rate, dataset.signature());
  }
  ~State() { runtime.stop(); }

  Dataset dataset;
  Runtime runtime;
  Engine engine;
  StagePtr root;
  std::vector<Stage*> stages;  ///< inputs first
  std::string signature;
  std::uint64_t epoch = 0;
};

Pipeline::Pipeline(const Dataset& dataset, const Device& device, const PipelineOptions& options) {
  if (device.kind() != DeviceKind::cpu) {
    throw InvalidArgument(
        fmt::format("[Pipeline] {} is not a host device; open \"cpu:0\"", device.name()));
  }
  if (!(options.skip_rate >= 0 && options.skip_rate <= 1)) {
    throw InvalidArgument(
        fmt::format("[Pipeline] a skip_rate of {}; give 0 to 1", options.skip_rate));
  }
  state_ = std::make_unique<State>(dataset, device, options);
  state_->root->start(0);
}

Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;
Pipeline::~Pipeline() = default;

std::optional<Element> Pipeline::next() { return state_->engine.next(); }

void Pipeline::rewind() {
  state_->engine.with_strands([&] {
    state_->engine.forget_pulled();
    state_->root->start(++state_->epoch);
  });
}

void Pipeline::pause() {
  state_->engine.with_strands([&] { state_->root->restore(*state_->root->save()); }, true);
  state_->runtime.device.arena().trim();
}

void Pipeline::cancel() { state_->engine.cancel(); }

std::string Pipeline::save() {
  if (const Node* const node = unsaveable(*state_->dataset.node())) {
    throw InvalidArgument(
        fmt::format("[Pipeline::save] {} gives its elements in no fixed order; make it ordered",
                    node->title()));
  }
  std::string bytes;
  state_->engine.with_strands([&] {
    bytes = encode_state(state_->signature, *make_state({state_->epoch}, {state_->root->save()}));
  });
  return bytes;
}

void Pipeline::restore(const std::string& position) {
  const StatePtr saved = decode_state(state_->signature, position);
  state_->engine.with_strands([&] {
    const StatePtr before = state_->root->save();
    state_->engine.forget_pulled();
    try {
      state_->epoch = saved->words.at(0);
      state_->root->restore(*saved->inputs.at(0));
    } catch (const std::out_of_range&) {
      state_->root->restore(*before);
      throw DataError("[Pipeline::restore] not a saved position: a stage's part is too short");
    }
  });
}

const ElementSpec& Pipeline::element_spec() const { return state_->dataset.element_spec(); }

std::vector<StageStats> Pipeline::stats() const {
  std::vector<StageStats> result;
  state_->engine.with_strands([&] {
    for (const Stage* stage : state_->stages) {
      result.push_back(stage->stats());
      result.back().held = stage->held();
      result.back().setting = stage->setting();
    }
  });
  return result;
}

std::optional<Bottleneck> Pipeline::bottleneck() const {
  const std::vector<StageStats> all = stats();
  const StageStats* worst = nullptr;
  double total = 0;
  for (const StageStats& each : all) {
    total += each.busy_s;
    if (worst == nullptr || each.busy_s > worst->busy_s) worst = &each;
  }
  if (worst == nullptr || total <= 0) return std::nullopt;
  const auto starved = std::max_element(
      all.begin(), all.end(),
      [](const StageStats& a, const StageStats& b) { return a.wait_memory_s < b.wait_memory_s; });
  // Longer than a stage of average length works: memory is what keeps the others from working.
  if (starved->wait_memory_s * static_cast<double>(all.size()) > total) {
    const Bytes now = state_->engine.budget().used() + state_->engine.budget().available();
    const Bytes more =
        now + minimum_of(*state_->dataset.node(), state_->runtime.threads) + kSmallest;
    return Bottleneck{starved->stage,
                      fmt::format("it waits for memory: raise the budget to {}, or use smaller "
                                  "batches or fewer threads",
                                  format_bytes(more)),
                      starved->wait_memory_s / (total + starved->wait_memory_s)};
  }
  Bottleneck result{worst->stage, "give it less to do, or cache its results",
                    worst->busy_s / total};
  if (worst->stage.starts_with("map(") && worst->stage.find("parallel=1)") != std::string::npos) {
    result.remedy = "run it in parallel: {.parallel = kAutotune}";
  } else if (worst->stage.starts_with("map(")) {
    result.remedy = "give the pipeline more threads, or cache what it makes";
  }
  return result;
}

std::vector<SkippedElement> Pipeline::skipped() const { return state_->engine.skipped(); }

Budget Pipeline::budget() const { return state_->engine.budget(); }

}  // namespace plimsoll::data
