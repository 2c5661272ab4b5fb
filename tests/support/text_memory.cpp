#include "support/text_memory.h"
#include "support/own_device.h"

#include <vector>

#include <plimsoll/nn/metrics.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/train/step.h>

namespace plimsoll::testing {

std::string_view page_of_text() {
  return "On the side of every merchant ship there is a circle with a line through it. Below the\n"
         "water it means that too much has been loaded; above it, that there is room. Before the\n"
         "mark was painted, owners sent ships to sea that could not come back. A full hold paid\n"
         "more than a safe one, and the crew who signed on had no way to know how deep she lay.\n"
         "Samuel Plimsoll, a coal merchant and a member of parliament, fought for years to have\n"
         "the line made law. He was laughed at, he shook his fist at the Speaker, he apologised,\n"
         "and in the end he won. The ships that carried his mark came home more often.\n"
         "\n"
         "There are several lines beside the circle, for a ship floats deeper in fresh water than\n"
         "in salt, and deeper in the warm sea than in the cold. Winter in the North Atlantic has "
         "a\n"
         "line of its own, the lowest of them all. Whoever loads the ship looks at the sea she\n"
         "will cross, not at the harbour where she lies. When the water reaches the line, loading\n"
         "stops; what is left on the quay waits for the next ship. Nobody asks how the captain\n"
         "feels about it, and nobody needs to guess, since everyone on the pier can see the mark.\n"
         "\n"
         "The rule is simple enough for a child: state the limit first, show it where all can see\n"
         "it, and hold to it while you load, not after you sail. It costs a little freight on a\n"
         "good day. It is worth a ship on a bad one, and nobody knows in the morning which of the\n"
         "two it is going to be.\n";
}

double memorise(const nn::Model& model, std::string_view text, std::int64_t context, int steps,
                double rate) {
  const Device device = test::own_cpu({.limit = GiB(1)});
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> next;
  const auto length = static_cast<std::int64_t>(text.size()) - 1;
  const std::int64_t rows = (length + context - 1) / context;
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < rows * context; ++i) {
    const bool inside = i < length;
    const auto at = static_cast<std::size_t>(i);
    ids.push_back(inside ? static_cast<unsigned char>(text[at]) : 0);
    next.push_back(inside ? static_cast<unsigned char>(text[at + 1]) : ops::kIgnoreLabel);
    counted += inside ? 1 : 0;
  }
  const Tensor x = Tensor::from_values(std::span<const std::int64_t>(ids), {rows, context}, device);
  const Tensor y =
      Tensor::from_values(std::span<const std::int64_t>(next), {rows, context}, device);

  model.materialize(device, 1);
  optim::Optimizer optimizer = optim::adamw(
      {.lr = optim::Schedule::cosine(rate, steps, rate / 10).warm_up(10), .weight_decay = 0});
  optimizer.attach(model);
  optimizer.materialize(device);
  for (int i = 0; i < steps; ++i) {
    optimizer.begin_step();
    train::training_step(model, optimizer, x, y);
  }
  model.eval();
  // Bytes that do not count are never right.
  const auto share = static_cast<double>(nn::accuracy(model(x), y).item<float>());
  return share * static_cast<double>(rows * context) / static_cast<double>(counted);
}

}  // namespace plimsoll::testing
