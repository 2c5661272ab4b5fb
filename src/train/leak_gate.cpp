#include <plimsoll/train/leak_gate.h>

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
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
    by_step_[key] = by_epoch_[key] = {.bytes = holder.bytes, .first = holder.bytes};
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
    if (holder.bytes > line.bytes) {
      if (line.grown++ == 0) line.first = line.bytes;
    } else {
      line.grown = 0;
    }
    line.bytes = holder.bytes;
    if (line.grown >= most && !line.named) {
      line.named = true;
      const std::string message = fmt::format(
          "[fit] memory leaks: {} of {} '{}' in {} at the end of {} {}, {} more than {} {}s "
          "before, "
          "growing at each; find who keeps it, or set .leak_gate.action = warn",
          format_bytes(line.bytes), tag_name(holder.tag), holder.label, holder.budget, what, index,
          format_bytes(line.bytes - line.first), most, what);
      if (options_.action == LeakGateOptions::Action::stop) throw Error(message);
      log_warning(message);
    }
    now.emplace(key, line);
  }
  lines = std::move(now);
}

}  // namespace plimsoll::train
