#include <plimsoll/ops/scan.h>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

namespace plimsoll::ops {
namespace {

/// Everything that tells one body from another.
std::string body_text_of(const ScanBody& body) {
  std::string text = fmt::format("{} {} {} {}\n", body.states, body.delayed, body.xs, body.shared);
  for (int i = 0; i < body.inputs(); ++i) text += body.type(i).to_string() + "\n";
  for (const ScanBody::Node& node : body.nodes) {
    text += fmt::format("{} {} <- {} {}\n", fmt::join(node.outputs, ","), node.op->name,
                        fmt::join(node.inputs, ","), node.attributes.to_string());
  }
  return text + fmt::format("{}\n", fmt::join(body.results, ","));
}

struct Bodies {
  std::mutex mutex;
  std::map<std::int64_t, std::pair<std::string, std::unique_ptr<const ScanBody>>> known;
};
Bodies& bodies() {
  static Bodies all;
  return all;
}

}  // namespace

ScanBody without_copies(ScanBody body) {
  std::map<int, const ScanBody::Node*> producers;
  for (const ScanBody::Node& node : body.nodes) {
    for (const int value : node.outputs) producers[value] = &node;
  }
  std::set<int> needless;  // outputs of copies
  std::set<int> taken;
  for (int& result : body.results) {
    const int source = producers.at(result)->inputs.front();
    const auto producer = producers.find(source);
    if (producer == producers.end() || producer->second->op->view) continue;
    if (!taken.insert(source).second) continue;
    needless.insert(result);
    result = source;
  }
  std::erase_if(body.nodes, [&](const ScanBody::Node& node) {
    return needless.contains(node.outputs.front());
  });
  return body;
}

std::int64_t number_of(ScanBody body) {
  std::string text = body_text_of(body);
  auto number = static_cast<std::int64_t>(std::hash<std::string>()(text) >> 1);
  Bodies& all = bodies();
  const std::lock_guard lock(all.mutex);
  while (all.known.contains(number) && all.known.at(number).first != text) ++number;
  if (!all.known.contains(number)) {
    auto kept = std::make_unique<const ScanBody>(std::move(body));
    all.known.emplace(number, std::pair(std::move(text), std::move(kept)));
  }
  return number;
}

const ScanBody& body_of(std::int64_t number) {
  Bodies& all = bodies();
  const std::lock_guard lock(all.mutex);
  const auto found = all.known.find(number);
  if (found == all.known.end()) {
    throw InternalError(fmt::format("[scan] there is no body {}", number));
  }
  return *found->second.second;
}

}  // namespace plimsoll::ops
