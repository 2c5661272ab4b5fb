// The memory layer against its bars, on the host: churn beside malloc, training traces, giving
// memory back. Exits 1 if a bar is missed.

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/device/device.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/host_pages.h>
#include <plimsoll/memory/trace.h>

#include "support/training_traces.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Prints PASS or FAIL and remembers a failure.
class Verdict {
 public:
  const char* operator()(bool holds) {
    failed_ = failed_ || !holds;
    return holds ? "PASS" : "FAIL";
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Churn: 256 live blocks of 512 B to 16 MiB; free one, allocate one.

constexpr std::size_t kLive = 256;
constexpr std::size_t kPairs = 200'000;
constexpr int kRepeats = 9;
constexpr double kChurnBar = 150;

struct Exchange {
  std::uint32_t slot = 0;
  Bytes bytes = 0;
};

std::vector<Exchange> churn_sequence() {
  std::mt19937_64 random(1);
  std::vector<Exchange> sequence(kPairs);
  for (Exchange& exchange : sequence) {
    exchange.slot = static_cast<std::uint32_t>(random() % kLive);
    exchange.bytes = Bytes{512} << (random() % 16);
  }
  return sequence;
}

/// Nanoseconds a pair, median of several runs after a warm one.
template <typename Step>
double time_churn(const std::vector<Exchange>& sequence, Step step) {
  std::vector<double> times;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {
    const Clock::time_point start = Clock::now();
    for (const Exchange& exchange : sequence) step(exchange);
    if (repeat > 0) times.push_back(seconds_since(start) * 1e9 / static_cast<double>(kPairs));
  }
  return median(times);
}

double churn_arena(const std::vector<Exchange>& sequence) {
  const Budget root = Budget::root("bench", GiB(16));
  const Budget leaf = root.child("training", GiB(8)).child("step", GiB(6));
  Arena arena(make_host_pages(), root);
  std::vector<Account> accounts;
  for (const Tag tag : {Tag::parameters, Tag::gradients, Tag::activations, Tag::workspace}) {
    accounts.push_back(leaf.account(tag, "churn"));
  }
  std::vector<Block> blocks(kLive);
  return time_churn(sequence, [&](const Exchange& exchange) {
    Block& block = blocks[exchange.slot];
    if (block) block.release();
    block = arena.allocate(exchange.bytes, accounts[exchange.slot % accounts.size()]);
  });
}

double churn_malloc(const std::vector<Exchange>& sequence) {
  std::vector<void*> blocks(kLive, nullptr);
  const double ns = time_churn(sequence, [&](const Exchange& exchange) {
    std::free(blocks[exchange.slot]);
    void* volatile block = std::malloc(exchange.bytes);
    blocks[exchange.slot] = block;
  });
  for (void* const block : blocks) std::free(block);
  return ns;
}

void bench_churn(Verdict& verdict) {
  const std::vector<Exchange> sequence = churn_sequence();
  const double ours = churn_arena(sequence);
  const double theirs = churn_malloc(sequence);
  fmt::print(
      "churn: {} live blocks, 512 B to 16 MiB, budget depth 3, tags and ledger on\n\n"
      "  {:<24}{:>8.0f} ns a pair   at most {:.0f}   {}\n"
      "  {:<24}{:>8.0f} ns a pair   ours / malloc {:.2f}\n\n",
      kLive, "arena on host pages", ours, kChurnBar, verdict(ours <= kChurnBar), "malloc and free",
      theirs, ours / theirs);
}

// Training traces: mapped over live, speed, remapping on the second pass.

constexpr double kMopsBar = 2;
constexpr double kRemapBar = 0.01;

Bytes mapped_bar(Bytes live_peak) {
  return static_cast<Bytes>(1.05 * static_cast<double>(live_peak)) + MiB(16);
}

void bench_replay(Verdict& verdict, std::uint64_t first_seed, std::uint64_t seeds) {
  fmt::print(
      "replay: training traces, pages of 2 MiB, two passes; mapped peak at most 1.05 of the\n"
      "live peak and 16 MiB, {:.0f} million operations a second, {:.0f}% remapped in pass 2\n\n"
      "  {:<24}{:>5}{:>10}{:>10}{:>7}{:>8}{:>7}{:>8}\n",
      kMopsBar, 100 * kRemapBar, "trace", "seed", "live", "mapped", "ratio", "of bar", "Mop/s",
      "pass 2");
  for (const testing::TrainingTraceKind& kind : testing::training_trace_kinds()) {
    for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
      const Trace trace = kind.make(seed);
      const Budget budget = Budget::root("replay");
      Arena arena(make_dry_pages(), budget);
      const ReplayResult result = replay(trace, arena, budget.account(Tag::user, "trace"), 2);
      const auto live = static_cast<double>(trace.live_peak);
      const auto mapped = static_cast<double>(result.stats.mapped_peak);
      const double of_bar = mapped / static_cast<double>(mapped_bar(trace.live_peak));
      const double mops = static_cast<double>(result.operations) * 1e3 /
                          static_cast<double>(result.total_ns - result.stats.page_ns);
      const double remapped = static_cast<double>(result.passes[1].bytes_remapped) /
                              static_cast<double>(trace.bytes_allocated);
      fmt::print("  {:<24}{:>5}{:>10}{:>10}{:>7.3f}{:>8.3f}{:>7.1f}{:>7.2f}%  {}\n", kind.name,
                 seed, format_bytes(trace.live_peak), format_bytes(result.stats.mapped_peak),
                 mapped / live, of_bar, mops, 100 * remapped,
                 verdict(of_bar <= 1 && mops >= kMopsBar && remapped <= kRemapBar));
    }
  }
  fmt::print("\n");
}

// Giving back: how much of a GiB leaves the process, and how fast, beside a plain munmap.

constexpr Bytes kFill = GiB(1);
constexpr Bytes kKept = MiB(64);  // below a lowered limit, free pages may stay
constexpr double kReturnedBar = 0.95;
constexpr double kOverMunmap = 1.25;  // where the system itself takes longer than the bar

struct GivenBack {
  double share = 1;  ///< of the bytes freed, the least of all runs
  double ms = 1e9;   ///< per GiB, the best of all runs
};

/// Fills and gives back once; keeps the worst share and the best time.
template <typename Return>
void measure_return(GivenBack& result, const Device& device, Bytes freed, Return give_back) {
  const auto before = static_cast<double>(device.process_used().value_or(0));
  const Clock::time_point start = Clock::now();
  give_back();
  const double ms = seconds_since(start) * 1e3;
  const auto after = static_cast<double>(device.process_used().value_or(0));
  result.share = std::min(result.share, (before - after) / static_cast<double>(freed));
  result.ms = std::min(result.ms, ms * static_cast<double>(GiB(1)) / static_cast<double>(freed));
}

std::vector<Block> fill(const Device& device) {
  constexpr Bytes kBlock = MiB(16);
  std::vector<Block> blocks;
  for (Bytes filled = 0; filled < kFill; filled += kBlock) {
    blocks.push_back(device.allocate(kBlock, Tag::user, "bench"));
    std::memset(blocks.back().data(), 1, kBlock);
  }
  return blocks;
}

void lower_limit(GivenBack& result, const Device& device) {
  fill(device).clear();
  measure_return(result, device, kFill - kKept, [&] { device.budget().set_limit(kKept); });
}

void close_session(GivenBack& result, const Device& device) {
  Session session = device.session("bench");
  const std::vector<Block> blocks = fill(session.device());
  measure_return(result, device, kFill, [&] { session.close(); });
}

void unmap_plainly(GivenBack& result, const Device& device, bool huge) {
  void* const memory = ::mmap(nullptr, kFill, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw Error("[bench] cannot map 1 GiB");
  ::madvise(memory, kFill, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(memory, 1, kFill);
  measure_return(result, device, kFill, [&] { ::munmap(memory, kFill); });
}

void bench_give_back(Verdict& verdict) {
  constexpr int kRuns = 3;
  fmt::print("give back: 1 GiB, filled, as the system counts it (RSS); best of {}\n\n", kRuns);
  for (const bool huge : {true, false}) {
    if (huge && !huge_pages_available()) {
      fmt::print("  huge pages: this system has none to give\n");
      continue;
    }
    DeviceOptions options;
    options.page_size = huge ? MiB(2) : KiB(64);
    GivenBack limit;
    GivenBack session;
    GivenBack munmap;
    for (int i = 0; i < kRuns; ++i) {
      const Device device = Device::open("cpu:0", options);
      unmap_plainly(munmap, device, huge);
      close_session(session, device);
      lower_limit(limit, device);
    }
    const double bar = huge ? 20 : 60;
    const char* const pages = huge ? "huge pages" : "4 KiB pages";
    for (const auto& [what, back] :
         {std::pair{"lowering a limit", limit}, std::pair{"closing a session", session}}) {
      fmt::print(
          "  {:<12}{:<19}{:>6.1f}%  {:>6.1f} ms   at most {:.0f}   {}\n", pages, what,
          100 * back.share, back.ms, bar,
          verdict(back.share >= kReturnedBar && back.ms <= std::max(bar, kOverMunmap * munmap.ms)));
    }
    fmt::print("  {:<12}{:<19}{:>6.1f}%  {:>6.1f} ms\n", pages, "munmap alone", 100 * munmap.share,
               munmap.ms);
  }
  fmt::print("\n");
}

int run(int argc, char** argv) {
  CLI::App app{"The memory layer against its bars, on the host.", "bench_memory"};
  std::vector<std::string> parts = {"churn", "replay", "give-back"};
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  app.add_option("PART", parts, "churn, replay, give-back; all without any")
      ->check(CLI::IsMember({"churn", "replay", "give-back"}));
  app.add_option("--seed", first_seed, "First seed of the traces")->capture_default_str();
  app.add_option("--seeds", seeds, "Seeds per trace")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto wanted = [&](const char* part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  Verdict verdict;
  if (wanted("churn")) bench_churn(verdict);
  if (wanted("replay")) bench_replay(verdict, first_seed, seeds);
  if (wanted("give-back")) bench_give_back(verdict);
  return verdict.failed() ? 1 : 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  try {
    return plimsoll::run(argc, argv);
  } catch (const plimsoll::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.exit_code();
  }
}
