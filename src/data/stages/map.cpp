#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/map_blocking.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/needs_scan.h"
#include "data/engine/node.h"
#include "data/engine/simple_stage.h"
#include "data/engine/task_context.h"
#include "data/stages/lazy_map.h"
#include "data/stages/parallel_map.h"

namespace plimsoll::data {
namespace {

/// A budget need not have room for more calls at a time than this.
constexpr int kThreadsCounted = 16;

/// In the thread that drives the pipeline.
class MapStage final : public OneInputStage {
 public:
  MapStage(StagePtr input, Engine& engine, const MapFunction& function, std::uint64_t number)
      : OneInputStage(std::move(input)), setting_(engine, function, number) {}
  void start(std::uint64_t epoch) override {
    setting_.epoch = epoch;
    OneInputStage::start(epoch);
  }
  StatePtr save() const override { return make_state({setting_.epoch}, {inbox_.position()}); }
  void restore(const State& state) override {
    setting_.epoch = state.words.at(0);
    inbox_.restore(*state.inputs.at(0));
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    inbox_.forget(inbox_.taken());
    const Pull filled = inbox_.fill(max);
    if (filled != Pull::ready) return filled;
    const std::size_t before = out.size();
    for (std::size_t left = std::min(max, inbox_.ready()); left > 0; --left) {
      Element& element = inbox_.front();
      TaskContext context(setting_, element.id);
      if (out.size() == before) {
        try {
          out.push_back(setting_.call(element, context));
        } catch (const DataError&) {
          inbox_.pop();
          throw;
        } catch (const OutOfMemory& refused) {
          if (!setting_.is_final(refused.report())) throw;
          const Bytes needed = context.taken() + refused.report().requested;
          const std::string message =
              setting_.failure(element, setting_.too_large(refused.report(), needed));
          inbox_.pop();
          throw DataError(message);
        }
      } else if (!try_next(element, context, out)) {
        break;
      }
      inbox_.pop();
    }
    return Pull::ready;
  }

 private:
  /// An error after the first element comes again, alone, with the next call.
  bool try_next(const Element& element, TaskContext& context, ElementBlock& out) {
    try {
      out.push_back(setting_.call(element, context));
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  MapSetting setting_;
};

class MapNode final : public Node {
 public:
  MapNode(const NodePtr& input, MapFunction function, const MapOptions& options,
          std::optional<Program> program = std::nullopt, bool lazy = false,
          CallsWithin within = nullptr)
      : Node("map", fmt::format("{}{}", function.name, options.ordered ? "" : ", unordered"),
             {input}, function.output.value_or(ElementSpec::unknown()), input->cardinality()),
        function_(std::move(function)),
        options_(options),
        program_(std::move(program)),
        lazy_(lazy),
        within_(std::move(within)) {
    if (!function_.needs) return;
    std::vector<const FileSource*> files;
    find_files(*input, files);
    needs_ = std::make_unique<NeedsScan>(function_.needs, std::move(files));
  }
  StagePtr make(Builder& builder) const override {
    const std::uint64_t number = builder.number();
    StagePtr input = builder.input(*this);
    if (options_.parallel == 1 && !within_) {
      return std::make_unique<MapStage>(std::move(input), builder.engine(), function_, number);
    }
    MapOptions options = options_;
    // The pipeline knows nothing of what is made while it runs, and may be saved.
    if (builder.nested()) options.ordered = true;
    if (within_) {
      return make_blocking_map(std::move(input), builder.engine(), function_, options, number,
                               within_);
    }
    return make_parallel_map(std::move(input), builder.engine(), function_, options, number);
  }
  Bytes minimum(int threads) const override {
    const int most =
        options_.parallel == kAutotune ? threads : std::min(options_.parallel, threads);
    return function_.scratch * static_cast<Bytes>(std::clamp(most, 1, kThreadsCounted));
  }
  bool may_fail() const override { return true; }
  bool keeps_ids() const override { return true; }
  bool draws() const override { return function_.random; }
  NeedsScan* needs() const override { return needs_.get(); }
  std::string settings() const override { return fmt::format("parallel={}", options_.parallel); }
  std::string details() const override { return function_.details; }
  bool can_be_saved() const override { return options_.ordered || options_.parallel == 1; }
  const Program* program() const override { return program_ ? &*program_ : nullptr; }
  bool is_lazy() const override { return lazy_; }
  const MapOptions& options() const { return options_; }

 private:
  MapFunction function_;
  MapOptions options_;
  std::optional<Program> program_;
  bool lazy_;
  CallsWithin within_;  ///< null: in the pipeline's own threads
  std::unique_ptr<NeedsScan> needs_;
};

void check(const MapOptions& options) {
  if (options.parallel < 1 && options.parallel != kAutotune) {
    throw InvalidArgument(
        fmt::format("[map] parallel is {}; give 1 or more, or leave it out", options.parallel));
  }
}

/// Reading a path and decoding what is there, and nothing else.
bool only_decodes(const Program& program) { return program.instructions().size() == 2; }

Dataset map_by(const NodePtr& input, const Program& program, const MapOptions& options, bool lazy) {
  return Dataset(std::make_shared<MapNode>(input, program.function(), options, program, lazy));
}

Dataset map_function(const NodePtr& input, MapFunction function, const MapOptions& options,
                     CallsWithin within) {
  if (!function.run) throw InvalidArgument("[map] needs a function");
  check(options);
  if (function.takes_paths && input->is_lazy()) {
    if (!only_decodes(*input->program())) {
      throw InvalidArgument(fmt::format(
          "[map] {} takes files, and the images have been through a program before it; use it "
          "first, or put all of it into the program",
          function.name.substr(0, function.name.find_first_of(" :("))));
    }
    return map_function(input->inputs().front(), std::move(function), options, std::move(within));
  }
  return Dataset(std::make_shared<MapNode>(input, std::move(function), options, std::nullopt, false,
                                           std::move(within)));
}

}  // namespace

Dataset map_lazily(const Dataset& input, const Program& program) {
  return map_by(input.node(), program, {.parallel = kAutotune}, true);
}

std::optional<Dataset> choose_below(const Dataset& dataset,
                                    const std::function<Dataset(const Dataset&)>& choose) {
  const Node& node = *dataset.node();
  if (!node.is_lazy()) return std::nullopt;
  const Dataset chosen = choose(Dataset(node.inputs().front()));
  return map_by(chosen.node(), *node.program(), dynamic_cast<const MapNode&>(node).options(), true);
}

Dataset Dataset::map(MapFunction function, const MapOptions& options) const {
  return map_function(node_, std::move(function), options, nullptr);
}

Dataset map_blocking(const Dataset& dataset, MapFunction function, const MapOptions& options,
                     CallsWithin within) {
  if (!within) within = [](const std::function<void()>& calls) { calls(); };
  return map_function(dataset.node(), std::move(function), options, std::move(within));
}

Dataset Dataset::map(const Program& program, const MapOptions& options) const {
  check(options);
  const ElementSpec& given = element_spec();
  const ElementSpec& wanted = program.input_spec();
  bool fits = !given.known || given.components.size() == wanted.components.size();
  for (std::size_t i = 0; fits && i < given.components.size(); ++i) {
    fits = wanted.components[i].admits(given.components[i]);
  }
  if (!fits) {
    throw InvalidArgument(fmt::format("[map] the program takes elements {}, and the dataset has {}",
                                      wanted.to_string(), given.to_string()));
  }
  const auto* const before = dynamic_cast<const MapNode*>(node_.get());
  if (before == nullptr || before->program() == nullptr ||
      before->options().ordered != options.ordered) {
    return map_by(node_, program, options, false);
  }
  return map_by(node_->inputs().front(), before->program()->then(program), options,
                before->is_lazy());
}

Dataset Dataset::map(std::function<Element(const Element&)> function,
                     const MapOptions& options) const {
  if (!function) throw InvalidArgument("[map] needs a function");
  MapFunction with_context;
  with_context.run = [plain = std::move(function)](const Element& element, MapContext&) {
    return plain(element);
  };
  with_context.random = false;
  return map(std::move(with_context), options);
}

}  // namespace plimsoll::data
