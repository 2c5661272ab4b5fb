#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/blocking_generator.h"
#include "data/engine/node.h"

namespace plimsoll::data {
namespace {

/// Cannot seek: a restored position is reached by generating again.
class GeneratorStage final : public Stage {
 public:
  explicit GeneratorStage(Generator generator) : generator_(std::move(generator)) {}
  void start(std::uint64_t /*epoch*/) override {
    next_ = nullptr;
    failed_ = nullptr;
    count_ = 0;
    replay_ = 0;
  }
  StatePtr save() const override { return make_state({count_ + replay_}); }
  void restore(const State& state) override {
    start(0);
    replay_ = state.words.at(0);
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    if (!next_) next_ = generator_.begin();
    const std::size_t before = out.size();
    for (; replay_ > 0; --replay_) {
      try {
        if (!generate(false)) return Pull::end;
        ++count_;
      } catch (const DataError&) {  // was seen before
      }
    }
    while (out.size() - before < max) {
      std::optional<Element> element = generate(out.size() > before);
      if (!element) break;
      element->id = count_++;
      out.push_back(std::move(*element));
    }
    return out.size() > before ? Pull::ready : Pull::end;
  }

 private:
  std::optional<Element> generate(bool later) {
    if (!failed_) {
      try {
        return next_();
      } catch (const OutOfMemory&) {
        if (!later) throw;
        return std::nullopt;
      } catch (const std::exception& error) {
        failed_ = std::make_exception_ptr(DataError(fmt::format(
            "[from_generator] {}, element {}: {}", generator_.name, count_, error.what())));
      }
    }
    if (later) return std::nullopt;  // the elements before it go first
    ++count_;
    std::rethrow_exception(std::exchange(failed_, nullptr));
  }

  Generator generator_;
  Generator::Next next_;
  std::uint64_t count_ = 0;
  std::uint64_t replay_ = 0;
  std::exception_ptr failed_;
};

class GeneratorNode final : public Node {
 public:
  explicit GeneratorNode(Generator generator)
      : Node("from_generator", generator.name, {}, generator.spec, kUnknown),
        generator_(std::move(generator)) {}
  StagePtr make(Builder& builder) const override {
    if (generator_.blocking) return make_blocking_generator(generator_, builder.engine());
    return std::make_unique<GeneratorStage>(generator_);
  }
  bool may_fail() const override { return true; }

 private:
  Generator generator_;
};

}  // namespace

Dataset Dataset::from_generator(Generator generator) {
  if (!generator.begin) throw InvalidArgument("[from_generator] needs a function");
  return Dataset(std::make_shared<GeneratorNode>(std::move(generator)));
}

}  // namespace plimsoll::data
