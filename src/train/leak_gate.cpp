#include <plimsoll/train/leak_gate.h>

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/log.h>

namespace plimsoll::train {
namespace {

bool fills_by_design(Tag tag) {
  switch (tag) {
    case Tag::input:
    case Tag::decode:
    case Tag::shuffle:
    case Tag::cache:
    case Tag::prefetch:
    case Tag::staging:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string LeakReport::to_string() const {
  return fmt::format(
      "[fit] memory leaks: {} of {} '{}' in {} at the end of {} {}, {} more than {} {}s before, "
      "growing at each; find who keeps it, or have fit() only warn of leaks",
      format_bytes(bytes), tag_name(tag), label, budget, what, index, format_bytes(bytes - first),
      history.size() - 1, what);
}

std::string LeakReport::to_json() const {
  return nlohmann::json{{"budget", budget}, {"tag", tag_name(tag)}, {"label", label},
                        {"what", what},     {"index", index},       {"first", first},
                        {"bytes", bytes},   {"history", history}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

LeakGate::LeakGate(Ledger ledger, const LeakGateOptions& options)
    : ledger_(std::move(ledger)), options_(options) {
  if (options.epochs < 1 || options.steps < 1) {
    throw InvalidArgument(fmt::format("[LeakGate] {} epochs, {} steps: give 1 or more",
                                      options.epochs, options.steps));
  }
}

void LeakGate::begin() {
  by_step_.clear();
  by_epoch_.clear();
  if (options_.action == LeakGateOptions::Action::off) return;
  for (const Holder& holder : ledger_.holders()) {
    if (fills_by_design(holder.tag)) continue;
    const Key key{holder.budget, holder.tag, holder.label};
    by_step_[key] = by_epoch_[key] = {.bytes = holder.bytes};
  }
}

void LeakGate::step(std::int64_t index) { mark(by_step_, options_.steps, "step", index); }
void LeakGate::epoch(std::int64_t index) {
  ledger_.mark("epoch", index);
  mark(by_epoch_, options_.epochs, "epoch", index);
}

void LeakGate::mark(Lines& lines, int most, const char* what, std::int64_t index) {
  if (options_.action == LeakGateOptions::Action::off) return;
  Lines now;
  for (const Holder& holder : ledger_.holders()) {
    if (fills_by_design(holder.tag)) continue;
    const Key key{holder.budget, holder.tag, holder.label};
    const auto before = lines.find(key);
    Line line = before == lines.end() ? Line{} : before->second;
    if (holder.bytes <= line.bytes) {
      line.history.clear();
    } else {
      if (line.history.empty()) line.history.push_back(line.bytes);
      line.history.push_back(holder.bytes);
    }
    line.bytes = holder.bytes;
    if (line.history.size() > static_cast<std::size_t>(most) && !line.named) {
      line.named = true;
      LeakReport report{.budget = holder.budget,
                        .tag = holder.tag,
                        .label = holder.label,
                        .what = what,
                        .index = index,
                        .first = line.history.front(),
                        .bytes = line.bytes,
                        .history = line.history};
      if (options_.action == LeakGateOptions::Action::stop) throw MemoryLeak(std::move(report));
      log_warning(report.to_string());
    }
    if (line.named) line.history.clear();
    now.emplace(key, line);
  }
  lines = std::move(now);
}

}  // namespace plimsoll::train
