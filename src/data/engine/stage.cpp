#include "data/engine/stage.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "data/engine/engine.h"
#include "data/engine/node.h"

namespace plimsoll::data {

Pull Stage::next_block(ElementBlock& out, std::size_t max) {
  const std::size_t before = out.size();
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t theirs = 0;
  for (const Stage* input : inputs_) theirs -= input->pull_ns_;
  const auto account = [&] {
    const auto elapsed = std::chrono::steady_clock::now() - begin;
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count();
    for (const Stage* input : inputs_) theirs += input->pull_ns_;
    pull_ns_ += ns;
    stats_.busy_s += static_cast<double>(ns - theirs) * 1e-9;
    stats_.elements += out.size() - before;
  };
  Pull result = Pull::pending;
  try {
    result = pull(out, max);
    if (!has_tasks()) result == Pull::pending ? pending_.on() : pending_.off(stats_.wait_input_s);
  } catch (...) {
    account();
    throw;
  }
  account();
  // One element stands for the block: sizes rarely differ, and counting all would cost more than
  // small elements do.
  if (out.size() > before) stats_.bytes += (out.size() - before) * out[before].nbytes();
  return result;
}

std::string Node::title() const {
  const std::string more = settings();
  const char* const comma = parameters_.empty() || more.empty() ? "" : ", ";
  return kind_ + "(" + parameters_ + comma + more + ")";
}

bool elements_may_fail(const Node& node) {
  return node.may_fail() ||
         std::any_of(node.inputs().begin(), node.inputs().end(),
                     [](const NodePtr& input) { return elements_may_fail(*input); });
}

void Node::write_signature(std::string& out, int depth) const {
  out.append(static_cast<std::size_t>(depth) * 2, ' ');
  out += kind_ + "(" + parameters_ + ")\n";
  std::istringstream more(details());
  for (std::string line; std::getline(more, line);) {
    out.append(static_cast<std::size_t>(depth) * 2, ' ');
    out += "| " + line + "\n";
  }
  for (const NodePtr& input : inputs_) input->write_signature(out, depth + 1);
}

}  // namespace plimsoll::data
