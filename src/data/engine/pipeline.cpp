#include <plimsoll/data/pipeline.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>

#include "data/disjoint.h"
#include "data/engine/cancellation.h"
#include "data/engine/engine.h"
#include "data/engine/identity.h"
#include "data/engine/node.h"
#include "data/engine/pipeline_thread.h"
#include "data/stages/ignore_errors.h"

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
  // Where the device has too little, others hold some of it: that much more is wanted than there
  // is.
  const bool own = runtime.budget.limit() < needed;
  const Bytes enough =
      own ? needed : align_up(runtime.device.budget().limit() + needed - there, KiB(64));
  throw BudgetTooSmall(fmt::format("[Pipeline] {} needs at least {}, and {} has {}; raise the "
                                   "budget to {}KiB, or use smaller "
                                   "batches or windows",
                                   node.title(), format_bytes(needed), runtime.budget.path(),
                                   format_bytes(there), align_up(enough, KiB(1)) / KiB(1)),
                       align_up(enough, KiB(1)));
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
  if (stage->runs_ahead()) {
    if (ahead_ != nullptr && engine_ == home_) {
      ahead_->push_back(stage.get());
    } else {
      engine_->add_ahead(*stage);
    }
  }
  if (!nested_) {
    stages_.push_back(stage.get());
    if (stage->can_relieve()) engine_->add_relief(*stage);
  }
  if (node->may_fail()) {
    const PipelineOptions& options = engine_->options();
    const Stage* const inner = stage.get();
    stage = make_ignore_errors(std::move(stage), options.skip_errors, options.skip_rate, *engine_);
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
    runtime.minimum = require_minimum(*dataset.node(), runtime);
    Builder builder(engine);
    root = builder.build(dataset.node());
    stages = builder.stages();
    engine.set_root(*root);
    signature = fmt::format("seed={}\n{}", options.seed, dataset.signature());
    const ElementSpec& spec = dataset.element_spec();
    if (!spec.names.empty()) names = std::make_shared<const NamedElement::Names>(spec.names);
    if (const std::string parts = warn_of_parts(*dataset.node()); !parts.empty()) {
      log_warning(fmt::format("[{}] {}", options.name, parts));
    }
    root->start(0);
    relief = runtime.budget.on_relief(ReliefOrder::prefetch, options.name,
                                      [this](Bytes wanted) { return give_back(wanted); });
  }
  ~State() {
    relief.release();
    scan_ended = true;
    if (scan.joinable()) scan.join();
    runtime.stop();
    report_skipped();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// What the files are, looked at once: when the first position is saved or restored.
  const std::vector<std::uint64_t>& files() {
    if (identity.empty()) identity = identity_of(*dataset.node());
    return identity;
  }
  Bytes give_back(Bytes wanted);
  void read_on();
  void report_skipped();

  Dataset dataset;
  Runtime runtime;
  Engine engine;
  StagePtr root;
  std::vector<Stage*> stages;  ///< inputs first
  std::string signature;
  std::shared_ptr<const NamedElement::Names> names;  ///< null: there are none
  bool ended = false;                                ///< the consumer has seen the end
  std::vector<std::uint64_t> identity;
  std::size_t reported = 0;         ///< of the elements that were left out
  std::int64_t reported_count = 0;  ///< the same with those that are not listed
  std::thread scan;                 ///< of headers that were not read beforehand
  std::atomic<bool> scan_ended = false;
  bool asked = false;  ///< for an element
  ReliefHandle relief;
  Cancellation cancellation{engine};  ///< the first to go
};

/// For somebody else who is short of memory: windows go to their files, then what was made ahead is
/// dropped, to be made again. Threads that run a pipeline must not wait for one.
Bytes Pipeline::State::give_back(Bytes wanted) {
  if (is_in_pipeline() || engine.consuming()) return 0;
  const Bytes before = runtime.budget.used();
  const auto freed = [&] { return before - std::min(before, runtime.budget.used()); };
  engine.with_strands(
      [&] {
        engine.relieve_stages();
        if (freed() < wanted) root->restore(*engine.position());
        // A cache gives up half of its elements at first.
        if (freed() < wanted) engine.relieve_stages();
      },
      true);
  return freed();
}

/// Goes on reading headers beside the first epoch, if somebody has begun to.
void Pipeline::State::read_on() {
  if (std::exchange(asked, true)) return;
  const DecodeNeeds known = decode_needs(dataset, std::chrono::milliseconds(0), 0);
  if (known.complete || known.looked_at == 0) return;
  try {
    scan = std::thread([this] {
      constexpr std::int64_t kAtATime = 16;
      while (!scan_ended &&
             !decode_needs(dataset, std::chrono::milliseconds(20), kAtATime).complete) {
      }
    });
  } catch (const std::system_error&) {  // then they are known when they are decoded
  }
}

void Pipeline::State::report_skipped() {
  constexpr std::size_t kNamed = 10;
  const std::vector<SkippedElement> all = engine.skipped();
  const std::int64_t count = engine.skipped_count() - reported_count;
  if (count == 0) return;
  std::string text =
      fmt::format("[{}] {} left out", runtime.options.name,
                  count == 1 ? "1 element was" : fmt::format("{} elements were", count));
  if (reported < all.size()) text += fmt::format(" in epoch {}:", all[reported].epoch + 1);
  std::size_t named = 0;
  for (; reported + named < all.size() && named < kNamed; ++named) {
    text += "\n  " + all[reported + named].message;
  }
  if (count > static_cast<std::int64_t>(named)) {
    text += fmt::format("\n  and {} more", count - static_cast<std::int64_t>(named));
  }
  reported = all.size();
  reported_count += count;
  log_warning(text);
}

Pipeline::Pipeline(const Dataset& dataset, const Device& device, const PipelineOptions& options) {
  if (!device.capabilities().host_memory) {
    throw InvalidArgument(
        fmt::format("[Pipeline] {} is not a host device; open \"cpu:0\"", device.name()));
  }
  if (!(options.skip_rate >= 0 && options.skip_rate <= 1)) {
    throw InvalidArgument(
        fmt::format("[Pipeline] a skip_rate of {}; give 0 to 1", options.skip_rate));
  }
  state_ = std::make_unique<State>(dataset, device, options);
}

Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;
Pipeline::~Pipeline() = default;

Pipeline::State& Pipeline::state(const char* function) const {
  if (!state_) {
    throw InvalidArgument(fmt::format(
        "[Pipeline::{}] this pipeline was moved from; use the one it was moved to", function));
  }
  return *state_;
}

std::optional<NamedElement> Pipeline::next() {
  State& state = this->state("next");
  state.read_on();
  state.cancellation.check();
  std::optional<Element> element = state.engine.next();
  state.cancellation.check();
  state.ended = !element.has_value();
  if (element) return NamedElement(std::move(*element), state.names);
  state.report_skipped();
  return std::nullopt;
}

Pipeline::Iterator Pipeline::begin() {
  if (state("begin").ended) rewind();
  return Iterator(*this);
}

void Pipeline::write_tensors(const Element& element, Tensor* tensors, std::size_t count) const {
  const Engine& engine = state("tuples").engine;
  if (element.size() != count) {
    throw InvalidArgument(fmt::format("[Pipeline::tuples] elements have {} components, not {}: {}",
                                      element.size(), count, element_spec().to_string()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Value& value = element[i];
    if (!value.is_scalar()) {
      tensors[i] = value.tensor();
      continue;
    }
    tensors[i] = Tensor::empty({}, value.dtype(), engine.device(),
                               engine.tensor_options(Tag::user, "scalar"));
    std::memcpy(tensors[i].raw_mutable_data(), &value.bits(), dtype_size(value.dtype()));
  }
}

void Pipeline::rewind() {
  State& state = this->state("rewind");
  state.ended = false;
  state.report_skipped();
  state.engine.with_strands([&] {
    state.engine.forget_pulled();
    state.root->start(state.engine.set_epoch(state.engine.epoch() + 1));
  });
}

void Pipeline::pause() {
  State& state = this->state("pause");
  state.engine.with_strands([&] { state.root->restore(*state.engine.position()); }, true);
  state.runtime.device.arena().trim();
}

void Pipeline::cancel() { state("cancel").engine.cancel(); }

std::string Pipeline::save() {
  State& state = this->state("save");
  if (const Node* const node = unsaveable(*state.dataset.node())) {
    throw InvalidArgument(
        fmt::format("[Pipeline::save] {} gives its elements in no fixed order; make it ordered",
                    node->title()));
  }
  const std::vector<std::uint64_t>& files = state.files();
  std::string bytes;
  state.engine.with_strands([&] {
    bytes = encode_state(state.signature, files,
                         *make_state({state.engine.epoch()}, {state.engine.position()}));
  });
  return bytes;
}

void Pipeline::restore(const std::string& position) {
  State& state = this->state("restore");
  const SavedState saved = decode_state(state.signature, position);
  const std::string changed = compare_identity(*state.dataset.node(), saved.identity);
  state.ended = false;
  if (!changed.empty()) log_warning(fmt::format("[{}] {}", state.runtime.options.name, changed));
  state.engine.with_strands([&] {
    const StatePtr before = state.engine.position();
    const std::uint64_t epoch = state.engine.epoch();
    state.engine.forget_pulled();
    try {
      state.engine.set_epoch(saved.state->words.at(0));
      state.root->restore(*saved.state->inputs.at(0));
    } catch (const std::out_of_range&) {
      state.engine.set_epoch(epoch);
      state.root->restore(*before);
      throw DataError("[Pipeline::restore] not a saved position: a stage's part is too short");
    }
  });
}

const ElementSpec& Pipeline::element_spec() const {
  return state("element_spec").dataset.element_spec();
}

std::vector<StageStats> Pipeline::stats() const {
  State& state = this->state("stats");
  std::vector<StageStats> result;
  state.engine.with_strands([&] {
    for (const Stage* stage : state.stages) {
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
    result.remedy = "run it in parallel: leave `parallel` out, or raise it";
  } else if (worst->stage.starts_with("map(")) {
    result.remedy = "give the pipeline more threads, or cache what it makes";
  }
  return result;
}

std::vector<SkippedElement> Pipeline::skipped() const { return state("skipped").engine.skipped(); }

std::int64_t Pipeline::skipped_count() const {
  return state("skipped_count").engine.skipped_count();
}

DecodeNeeds Pipeline::needs() const {
  return decode_needs(state("needs").dataset, std::chrono::milliseconds(0), 0);
}

Budget Pipeline::budget() const { return state("budget").engine.budget(); }

}  // namespace plimsoll::data
