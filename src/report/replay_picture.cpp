// A trace as it goes through an arena, drawn as a run is.

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/base/version.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/report/as_run.h>

#include "report/reports_json.h"

namespace plimsoll::report {
namespace {

/// Holders of a trace are its blocks by size, each class up to 16 times as large as the one before.
constexpr std::array kClasses = {KiB(4), KiB(64), MiB(1), MiB(16), MiB(256), GiB(4), kUnlimited};
constexpr std::size_t kSamples = 4000;
constexpr std::size_t kMostBlocks = 12'000;

std::size_t class_of(Bytes bytes) {
  std::size_t at = 0;
  while (bytes > kClasses[at]) ++at;
  return at;
}

std::string class_name(std::size_t at) {
  return at + 1 == kClasses.size() ? "blocks of more than " + format_bytes(kClasses[at - 1])
                                   : "blocks of up to " + format_bytes(kClasses[at]);
}

struct PlacedBlock {
  Bytes address = 0;
  Bytes bytes = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

class ReplayPicture {
 public:
  ReplayPicture(const Trace& trace, const ReplayPictureOptions& options)
      : trace_(trace),
        options_(options),
        budget_(Budget::root(options.name, options.limit)),
        arena_(make_dry_pages(options.page_size), budget_, arena_options()),
        blocks_(trace.slots),
        open_(trace.slots) {
    for (std::size_t i = 0; i < kClasses.size(); ++i) {
      accounts_.push_back(budget_.account(Tag::user, class_name(i)));
      run_.holders.push_back({options.name, options.name, "user", class_name(i)});
    }
    run_.name = options.name;
    run_.state = RunState::replayed;
    run_.about = dumped({{"plimsoll", version()}});
    run_.end = "null";
    run_.devices.push_back({.name = options.name, .memory = {}, .peak = {}});
  }

  Run run() {
    const std::size_t all = trace_.operations.size() * static_cast<std::size_t>(options_.passes);
    stride_ = 1 + all / kSamples;
    try {
      for (int pass = 0; pass < options_.passes; ++pass) {
        for (const TraceOperation& operation : trace_.operations) step(operation);
        end_pass();
      }
    } catch (const OutOfMemory& error) {
      run_.ending = error.what();
      run_.out_of_memory = dumped(checked_refusal(parsed(error.report().to_json())));
      end_pass();
    }
    finish();
    return std::move(run_);
  }

 private:
  /// Addresses cost nothing here: enough to move in, whatever the trace.
  ArenaOptions arena_options() const {
    constexpr Bytes kMaxAddresses = Bytes{1} << 60U;
    const Bytes addresses = std::min(trace_.live_peak, kMaxAddresses / 16) * 16 + GiB(1024);
    ArenaOptions arena;
    arena.address_space = align_up(addresses, options_.page_size);
    return arena;
  }

  void step(const TraceOperation& operation) {
    Block& block = blocks_[operation.slot];
    if (operation.allocate) {
      const std::size_t size = class_of(operation.bytes);
      block = arena_.allocate(operation.bytes, accounts_[size]);
      live_[size] += operation.bytes;
      open_[operation.slot] = {reinterpret_cast<std::uintptr_t>(block.data()), operation.bytes, at_,
                               at_};
    } else if (block) {
      close(operation.slot, at_);
    }
    ++at_;
    sample();
  }

  void close(std::size_t slot, std::int64_t at) {
    PlacedBlock& placed = open_[slot];
    live_[class_of(placed.bytes)] -= placed.bytes;
    placed.to = at;
    ++count_;
    if (placed.bytes > 0) done_.push_back(placed);
    if (done_.size() > 4 * kMostBlocks) keep_largest();
    blocks_[slot].release();
  }

  void end_pass() {
    for (std::size_t slot = 0; slot < blocks_.size(); ++slot) {
      if (blocks_[slot]) close(slot, at_);
    }
  }

  void keep_largest() {
    if (done_.size() <= kMostBlocks) return;
    std::ranges::nth_element(done_, done_.begin() + kMostBlocks,
                             [](const PlacedBlock& a, const PlacedBlock& b) {
                               return std::tuple(b.bytes, a.from) < std::tuple(a.bytes, b.from);
                             });
    done_.resize(kMostBlocks);
  }

  /// Of each stretch the operation after which most was taken.
  void sample() {
    const Bytes used = budget_.used();
    Bytes sum = 0;
    for (const Bytes each : live_) sum += each;
    const auto better = std::tuple(used, sum) > std::tuple(best_.used, best_sum_);
    if (in_stretch_ == 0 || better) {
      best_ = {.time = static_cast<double>(at_),
               .used = used,
               .limit = options_.limit,
               .peak = used,
               .system = 0,
               .held = {}};
      best_sum_ = sum;
      for (std::size_t i = 0; i < live_.size(); ++i) {
        if (live_[i] > 0) best_.held.push_back({i, live_[i]});
      }
    }
    if (++in_stretch_ == stride_) flush();
  }

  void flush() {
    if (in_stretch_ == 0) return;
    RunDevice& device = run_.devices.front();
    device.peak.used = std::max(device.peak.used, best_.used);
    if (best_sum_ >= peak_sum_) {
      peak_sum_ = best_sum_;
      device.peak.time = best_.time;
      device.peak.held = best_.held;
    }
    device.memory.push_back(std::move(best_));
    best_ = {};
    best_sum_ = 0;
    in_stretch_ = 0;
  }

  /// Blocks lie in pages that can be far apart: what lies between is left out.
  std::map<Bytes, Bytes> offsets_of_pages(Bytes& range) const {
    std::map<Bytes, Bytes> ends;  // by begin
    const Bytes page = options_.page_size;
    for (const PlacedBlock& block : done_) {
      const Bytes begin = block.address / page * page;
      ends[begin] = std::max(ends[begin], align_up(block.address + block.bytes, page));
    }
    std::map<Bytes, Bytes> offsets;
    Bytes end = 0;
    range = 0;
    Bytes shift = 0;
    for (const auto& [begin, until] : ends) {
      if (begin > end) {
        shift = begin - range;
        offsets[begin] = shift;
      } else if (offsets.empty()) {
        offsets[begin] = shift = begin;
      }
      end = std::max(end, until);
      range = end - shift;
    }
    return offsets;
  }

  void finish() {
    flush();
    keep_largest();
    run_.seconds = static_cast<double>(at_);
    run_.devices.front().peak.used =
        std::max(run_.devices.front().peak.used, arena_.stats().mapped_peak);
    run_.begin = dumped({{"operations", at_},
                         {"blocks", count_},
                         {"passes", options_.passes},
                         {"live_peak", trace_.live_peak},
                         {"mapped_peak", arena_.stats().mapped_peak},
                         {"bytes_remapped", arena_.stats().bytes_remapped},
                         {"page_size", options_.page_size}});
    std::ranges::sort(done_, {}, &PlacedBlock::from);
    Bytes range = 0;
    const std::map<Bytes, Bytes> pages = offsets_of_pages(range);
    Json values = Json::array();
    for (const PlacedBlock& block : done_) {
      const Bytes shift = std::prev(pages.upper_bound(block.address))->second;
      values.push_back({1, static_cast<int>(Tag::user), 0, block.address - shift, block.bytes,
                        block.from, block.to, 0});
    }
    // Operations are counted, not listed.
    run_.plans.push_back(
        {.json = dumped({{"range", range}, {"operations", at_}}),
         .timeline = dumped({{"names", {"block"}}, {"tasks", Json::array()}, {"values", values}})});
  }

  const Trace& trace_;
  ReplayPictureOptions options_;
  Budget budget_;
  Arena arena_;
  std::vector<Account> accounts_;
  std::vector<Block> blocks_;
  std::vector<PlacedBlock> open_;  ///< by slot
  std::vector<PlacedBlock> done_;
  std::array<Bytes, kClasses.size()> live_ = {};
  std::int64_t at_ = 0;     ///< operations so far
  std::int64_t count_ = 0;  ///< blocks that were released
  std::size_t stride_ = 1;
  std::size_t in_stretch_ = 0;
  RunMemory best_;
  Bytes best_sum_ = 0;
  Bytes peak_sum_ = 0;
  Run run_;
};

}  // namespace

Run as_run(const Trace& trace, const ReplayPictureOptions& options) {
  if (options.passes < 1) {
    throw InvalidArgument(
        fmt::format("[replay] passes is {}; it must be at least 1", options.passes));
  }
  return ReplayPicture(trace, options).run();
}

}  // namespace plimsoll::report
