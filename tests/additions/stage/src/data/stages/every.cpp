#include <plimsoll/data/every.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/node.h"
#include "data/engine/simple_stage.h"

namespace plimsoll::data {
namespace {

/// The stage that runs. CountingStage saves and restores `count_`, the elements seen so far.
class EveryStage final : public CountingStage {
 public:
  EveryStage(StagePtr input, std::uint64_t n) : CountingStage(std::move(input)), n_(n) {}

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    while (out.size() == before) {
      ElementBlock taken;
      const Pull pulled = input_->next_block(taken, max);
      if (pulled != Pull::ready) return pulled;
      for (Element& element : taken) {
        if (count_++ % n_ == 0) out.push_back(std::move(element));
      }
    }
    return Pull::ready;
  }

 private:
  std::uint64_t n_;
};

/// The description: what it is called, what it gives, how many, and how to run it.
class EveryNode final : public Node {
 public:
  EveryNode(const NodePtr& input, std::int64_t n)
      : Node("every", fmt::format("{}", n), {input}, input->spec(), count_of(*input, n)), n_(n) {}
  bool hands_on() const override { return true; }
  StagePtr make(Builder& builder) const override {
    return std::make_unique<EveryStage>(builder.input(*this), static_cast<std::uint64_t>(n_));
  }

 private:
  static std::int64_t count_of(const Node& input, std::int64_t n) {
    const std::int64_t all = input.cardinality();
    return all == kUnknown || all == kInfinite ? all : all / n + (all % n != 0 ? 1 : 0);
  }

  std::int64_t n_;
};

}  // namespace

Dataset every(const Dataset& input, std::int64_t n) {
  if (n < 1) throw InvalidArgument(fmt::format("[every] every {} elements; give 1 or more", n));
  return Dataset(std::make_shared<EveryNode>(input.node(), n));
}

}  // namespace plimsoll::data
