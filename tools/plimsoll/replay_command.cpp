#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/memory/trace.h>
#include <plimsoll/report/as_run.h>
#include <plimsoll/report/exports.h>
#include <plimsoll/report/html.h>

#include "command_line.h"
#include "commands.h"
#include "mistakes.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReplayFooter =
    "TRACE.csv is a log of RAPIDS RMM (Thread,Time,Action,Pointer,Size,Stream), which\n"
    "Device::open(\"cuda:0\", {.trace = \"run.csv\"}) also writes, or a list of buffers\n"
    "(id,lower,upper,size), each live in [lower, upper). No memory is taken: an\n"
    "80 GiB trace replays on a laptop.\n"
    "\n"
    "What the numbers mean:\n"
    "  live peak    the most that was allocated at one time; no allocator needs less\n"
    "  mapped peak  the most that was taken from the device: what nvidia-smi shows\n"
    "  speed        time per allocation or release, without calls to the driver\n"
    "  remapped     bytes of pages that were moved to another address to serve a\n"
    "               request; close to 0 from the second pass on if the trace is one\n"
    "               step of a loop\n"
    "\n"
    "Examples:\n"
    "  plimsoll replay run.csv\n"
    "  plimsoll replay run.csv --limit 8GiB      does it fit? exit code 3 if not\n"
    "  plimsoll replay step.csv --passes 10      does it settle?\n"
    "  plimsoll replay run.csv --json | jq '.mapped_peak / .live_peak'";

constexpr Bytes kMinPage = KiB(4);
constexpr Bytes kMaxPage = GiB(1);
constexpr int kMaxPasses = 1'000'000;
constexpr int kDrawnPasses = 10;

struct ReplayOptions {
  std::string trace;
  std::optional<std::string> limit;
  std::string pages = "2MiB";
  std::string passes = "1";
  bool json = false;
  std::string html;
  std::string memory_viz;
};

Bytes read_pages(const std::string& text) {
  const Bytes pages = parse_bytes(text, "--pages");
  if (!std::has_single_bit(pages) || pages < kMinPage || pages > kMaxPage) {
    throw InvalidArgument(fmt::format(
        "--pages: {} is not a power of two from 4KiB to 1GiB; CUDA's pages are 2MiB", text));
  }
  return pages;
}

int read_passes(const std::string& text) {
  int passes = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, passes);
  if (error != std::errc() || stop != end || passes < 1 || passes > kMaxPasses) {
    throw InvalidArgument(
        fmt::format("--passes: '{}' is not a whole number from 1 to {}", text, kMaxPasses));
  }
  return passes;
}

/// Four digits, so that a peak and one a percent above it look different: "1.411 GiB".
std::string precise(Bytes bytes) {
  constexpr std::array kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1000 && unit + 1 < kNames.size(); ++unit) value /= 1024;
  const int digits = unit == 0 || value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return fmt::format("{:.{}f} {}", value, digits, kNames[unit]);
}

std::string grouped(std::uint64_t number) {
  return format_count(static_cast<std::int64_t>(number));
}

std::string count_of(std::uint64_t number, const char* one, const char* many) {
  return counted(static_cast<std::int64_t>(number), one, many);
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

/// Figures that both outputs show.
struct Summary {
  double ns_per_operation = 0;
  double operations_per_second = 0;
  double overhead = 0;  ///< of the mapped peak over the live peak

  explicit Summary(const ReplayResult& result) {
    const auto ns = static_cast<double>(result.total_ns - result.stats.page_ns);
    const auto operations = static_cast<double>(result.operations);
    const auto live = static_cast<double>(result.live_peak);
    ns_per_operation = ratio(ns, operations);
    operations_per_second = ratio(operations * 1e9, ns);
    overhead = ratio(static_cast<double>(result.stats.mapped_peak) - live, live);
  }
};

void print_json(const ReplayOptions& options, Bytes pages, Bytes limit,
                const ReplayResult& result) {
  const Summary summary(result);
  Json passes = Json::array();
  Bytes bytes_allocated = 0;
  for (const ReplayResult::Pass& pass : result.passes) {
    bytes_allocated += pass.bytes_allocated;
    passes.push_back({{"operations", pass.operations},
                      {"bytes_allocated", pass.bytes_allocated},
                      {"bytes_remapped", pass.bytes_remapped},
                      {"maps", pass.maps},
                      {"unmaps", pass.unmaps},
                      {"mapped_peak", pass.mapped_peak}});
  }
  Json all = {{"trace", options.trace}, {"page_size", pages}};
  all["limit"] = limit == kUnlimited ? Json(nullptr) : Json(limit);
  all["live_peak"] = result.live_peak;
  all["mapped_peak"] = result.stats.mapped_peak;
  all["overhead"] = summary.overhead;
  all["operations"] = result.operations;
  all["ns_per_operation"] = summary.ns_per_operation;
  all["operations_per_second"] = summary.operations_per_second;
  all["maps"] = result.stats.maps;
  all["unmaps"] = result.stats.unmaps;
  all["bytes_allocated"] = bytes_allocated;
  all["bytes_remapped"] = result.stats.bytes_remapped;
  all["page_ns"] = result.stats.page_ns;
  all["passes"] = passes;
  fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const ReplayOptions& options, Bytes pages, Bytes limit,
                const ReplayResult& result) {
  const Summary summary(result);
  const ArenaStats& stats = result.stats;
  fmt::print("{}\n{} in {}, pages of {}, {}\n\n", options.trace,
             count_of(result.operations, "operation", "operations"),
             count_of(result.passes.size(), "pass", "passes"), format_bytes(pages),
             limit == kUnlimited ? "no limit" : "limit " + format_bytes(limit));
  fmt::print("  live peak    {:>10}\n", precise(result.live_peak));
  fmt::print("  mapped peak  {:>10}   {:.1f}% ({}) over the live peak\n",
             precise(stats.mapped_peak), 100 * summary.overhead,
             format_bytes(stats.mapped_peak - std::min(stats.mapped_peak, result.live_peak)));
  fmt::print("  speed        {:>10}   per operation, {:.1f} million per second\n",
             format_duration(summary.ns_per_operation / 1e9), summary.operations_per_second / 1e6);
  fmt::print("  page calls   {:>10}   {}, {}, {} (not in the speed)\n",
             format_duration(static_cast<double>(stats.page_ns) / 1e9),
             count_of(stats.maps, "map", "maps"), count_of(stats.unmaps, "unmap", "unmaps"),
             count_of(stats.moves, "move", "moves"));
  fmt::print("\n  {:>7} {:>12} {:>10} {:>10} {:>7} {:>7} {:>7} {:>10}\n", "pass", "operations",
             "allocated", "remapped", "share", "maps", "unmaps", "mapped");
  const std::size_t count = result.passes.size();
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::size_t kShown = 8;
    if (count > kShown + 2 && i == kShown) {
      fmt::print("  {:>7}\n", "...");
      i = count - 1;
    }
    const ReplayResult::Pass& pass = result.passes[i];
    const double share =
        ratio(static_cast<double>(pass.bytes_remapped), static_cast<double>(pass.bytes_allocated));
    fmt::print("  {:>7} {:>12} {:>10} {:>10} {:>6.2f}% {:>7} {:>7} {:>10}\n", i + 1,
               grouped(pass.operations), format_bytes(pass.bytes_allocated),
               format_bytes(pass.bytes_remapped), 100 * share, grouped(pass.maps),
               grouped(pass.unmaps), format_bytes(pass.mapped_peak));
  }
}

void run_replay(const ReplayOptions& options) {
  const Bytes limit = options.limit ? parse_bytes(*options.limit, "--limit") : kUnlimited;
  const Bytes pages = read_pages(options.pages);
  const int passes = read_passes(options.passes);
  require_other_file("--html", options.html, options.trace);
  require_other_file("--memory-viz", options.memory_viz, options.trace);
  const Trace trace = read_trace(options.trace);
  if (!options.html.empty() || !options.memory_viz.empty()) {
    const report::Run drawn =
        report::as_run(trace, {.name = std::filesystem::path(options.trace).filename().string(),
                               .limit = limit,
                               .page_size = pages,
                               .passes = std::min(passes, kDrawnPasses)});
    if (!options.html.empty()) {
      report::write_html(drawn, options.html);
      fmt::print(stderr, "report: {}\n", options.html);
    }
    if (!options.memory_viz.empty()) {
      report::write_memory_viz(drawn, options.memory_viz);
      fmt::print(stderr, "for pytorch.org/memory_viz: {}\n", options.memory_viz);
    }
  }

  // Addresses cost nothing here: enough to move in, whatever the trace.
  constexpr Bytes kMaxAddresses = Bytes{1} << 60;
  const Bytes addresses = std::min(trace.live_peak, kMaxAddresses / 16) * 16 + GiB(1024);
  const Budget budget = Budget::root("replay", limit);
  ArenaOptions arena_options;
  arena_options.address_space = align_up(addresses, pages);
  Arena arena(make_dry_pages(pages), budget, arena_options);
  ReplayResult result;
  try {
    result = replay(trace, arena, budget.account(Tag::user, "trace"), passes);
  } catch (const OutOfMemory&) {
    fmt::print(stderr, "{}: refused allocation {}; the trace's live peak is {}\n", options.trace,
               grouped(arena.stats().allocations + 1), format_bytes(trace.live_peak));
    throw;
  }
  (options.json ? print_json : print_text)(options, pages, limit, result);
}

}  // namespace

void add_replay(Command& app) {
  Command* const command =
      app.add_subcommand("replay", "Replay an allocation trace and show its memory use");
  command->footer(kReplayFooter);
  const auto options = std::make_shared<ReplayOptions>();
  command->add_option("TRACE.csv", options->trace, "The trace")->required()->type_name("");
  command
      ->add_option("--limit", options->limit, "Memory limit; exit code 3 if the trace does not fit")
      ->type_name("SIZE");
  command->add_option("--pages", options->pages, "Page size, a power of two; default: 2MiB")
      ->type_name("SIZE");
  command->add_option("--passes", options->passes, "Replay the trace N times; default: 1")
      ->type_name("N");
  command->add_flag("--json", options->json, "Print one JSON object, sizes in bytes");
  command
      ->add_option("--html", options->html,
                   "Draw it as a page: memory after each operation, and where blocks lie")
      ->type_name("FILE");
  command->add_option("--memory-viz", options->memory_viz, "Write it for PyTorch's memory viewer")
      ->type_name("FILE");
  command->callback([options] { run_replay(*options); });
}

}  // namespace plimsoll::tools
