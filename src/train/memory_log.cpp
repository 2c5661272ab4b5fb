#include "train/memory_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/ledger.h>

namespace plimsoll::train {
namespace {

constexpr std::chrono::milliseconds kFirstPause(20);
constexpr std::int64_t kLinesPerPause = 2000;
/// Seconds between lines that say that nothing has changed, and between questions to a driver.
constexpr double kHeartbeat = 0.9;
/// Holders of a line that are named, and names in all.
constexpr std::size_t kNamedHolders = 24;
constexpr std::size_t kMostNumbers = 4096;
constexpr const char* kOthers = "(others)";

RunLog::Json list_of(const std::vector<std::pair<std::int64_t, Bytes>>& holders) {
  std::string text = "[";
  for (const auto& [number, bytes] : holders) {
    fmt::format_to(std::back_inserter(text), "{}{},{}", text.size() == 1 ? "" : ",", number, bytes);
  }
  return {text + "]"};
}

}  // namespace

MemoryLog::MemoryLog(RunLog& log, std::vector<Device> devices) : log_(log), pause_(kFirstPause) {
  if (!log.writes()) return;
  for (Device& device : devices) devices_.emplace_back(std::move(device));
  look(false);
  thread_ = std::thread([this] { run(); });
}

MemoryLog::~MemoryLog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
  look(true);
}

void MemoryLog::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause_, [this] { return done_; })) look(false);
}

void MemoryLog::sample() {
  if (!thread_.joinable()) return;
  const std::lock_guard lock(mutex_);
  look(false);
}

void MemoryLog::look(bool last) {
  for (Watched& watched : devices_) {
    try {
      look_at(watched, last);
    } catch (const Error&) {  // a device that has failed is told of by who uses it
      continue;
    }
  }
  if (lines_ < kLinesPerPause) return;
  lines_ = 0;
  pause_ *= 2;
}

void MemoryLog::look_at(Watched& watched, bool last) {
  const Budget budget = watched.device.budget();
  const double now = log_.seconds();
  if (last || now - watched.peaked > kHeartbeat) note_peak(watched, now);
  const std::string& name = watched.device.name();
  Holders held = numbered(name, budget.ledger().holders());
  const Bytes used = budget.used();
  const Bytes limit = budget.limit();
  const bool changed = held != watched.held || used != watched.used || limit != watched.limit;
  if (!changed && !last && now - watched.written < kHeartbeat) return;
  // A driver may take long to answer; the kernel does not.
  if (last || watched.device.capabilities().host_memory || now - watched.asked > kHeartbeat) {
    const MemoryUse use = watched.device.use();
    watched.system = use.source == UsageSource::unknown ? 0 : use.bytes;
    watched.asked = now;
  }
  log_.write("memory", {{"device", name},
                        {"used", used},
                        {"limit", limit},
                        {"peak", budget.peak()},
                        {"system", watched.system},
                        {"holders", list_of(held)}});
  ++lines_;
  watched.held = std::move(held);
  watched.used = used;
  watched.limit = limit;
  watched.written = now;
}

void MemoryLog::note_peak(Watched& watched, double now) {
  const Ledger ledger = watched.device.budget().ledger();
  const Bytes peak = ledger.peak();
  if (peak == watched.peak) return;
  const std::string& name = watched.device.name();
  const Holders held = numbered(name, ledger.peak_holders());
  Bytes sum = 0;
  for (const auto& [number, bytes] : held) sum += bytes;
  log_.write("peak", {{"device", name},
                      {"live", sum},
                      {"charged", watched.device.budget().peak()},
                      {"holders", list_of(held)}});
  watched.peak = peak;
  watched.peaked = now;
}

MemoryLog::Holders MemoryLog::numbered(const std::string& device,
                                       const std::vector<Holder>& holders) {
  std::map<std::int64_t, Bytes> all;
  std::size_t named = 0;
  for (const Holder& holder : holders) {
    if (holder.bytes == 0) continue;
    const bool by_name = named++ < kNamedHolders && numbers_.size() < kMostNumbers;
    all[by_name ? number(device, holder.budget, holder.tag, holder.label)
                : number(device, device, holder.tag, kOthers)] += holder.bytes;
  }
  return {all.begin(), all.end()};
}

std::int64_t MemoryLog::number(const std::string& device, const std::string& budget, Tag tag,
                               const std::string& label) {
  const auto [it, added] = numbers_.try_emplace({device, budget, tag, label},
                                                static_cast<std::int64_t>(numbers_.size()));
  if (added) {
    log_.write("holder", {{"id", it->second},
                          {"device", device},
                          {"budget", budget},
                          {"tag", std::string(tag_name(tag))},
                          {"label", label}});
  }
  return it->second;
}

}  // namespace plimsoll::train
