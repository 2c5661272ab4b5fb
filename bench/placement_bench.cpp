// Placement against its bars: heights beside the lower bound, on generated lists and on those of a
// folder. Exits 1 if a bar is missed. Times are those of one core, however loaded.

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/plan/placement.h>

#include "plan/placement_instances.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
using plan::Buffer;

class Table {
 public:
  /// Places `buffers` and prints a line; `bar` is the largest ratio of height to `of`.
  void add(const std::string& name, const std::vector<Buffer>& buffers, std::optional<Bytes> of,
           double bar, int seconds) {
    const Clock::time_point start = Clock::now();
    const plan::Placement placement = plan::place(
        buffers, {.capacity = of, .time_limit = std::chrono::seconds(seconds), .alignment = 1});
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    plan::check_placement(buffers, placement);
    const double ratio = static_cast<double>(placement.height) /
                         static_cast<double>(of.value_or(placement.lower_bound));
    const bool holds = ratio <= bar;
    missed_ += holds ? 0 : 1;
    fmt::print("{:<28} {:>7} {:>12} {:>9.5f} {:>9.5f} {:>8.2f}s  {}\n", name, buffers.size(),
               placement.height, ratio, bar, took, holds ? "PASS" : "FAIL");
  }
  int missed() const { return missed_; }

 private:
  int missed_ = 0;
};

void add_folder(Table& table, const std::string& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") files.insert(entry.path());
  }
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    const plan::BufferList list = plan::read_buffer_list(file.string());
    if (name.starts_with("minimalloc-")) table.add(name, list.buffers, MiB(1), 1, 10);
    if (name.starts_with("somas-")) table.add(name, list.buffers, std::nullopt, 1.003, 2);
  }
}

void compare_fast(int count) {
  const std::vector<Buffer> buffers = testing::random_buffers(1, count, 100);
  double least = 1e9;
  plan::Placement placement;
  for (int turn = 0; turn < 5; ++turn) {
    const Clock::time_point start = Clock::now();
    placement = plan::place_fast(buffers);
    least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
  }
  fmt::print("place_fast, {} buffers: {:.2f} ms, ratio {:.5f}\n", count, 1e3 * least,
             static_cast<double>(placement.height) / static_cast<double>(placement.lower_bound));
}

int run(int argc, char** argv) {
  CLI::App app("Placement against its bars");
  std::string folder;
  int seeds = 3;
  app.add_option("--traces", folder, "A folder with minimalloc-*.csv and somas-*.csv");
  app.add_option("--seeds", seeds, "Generated lists of each kind; else 3");
  CLI11_PARSE(app, argc, argv);

  Table table;
  fmt::print("{:<28} {:>7} {:>12} {:>9} {:>9} {:>9}\n", "list", "buffers", "height", "ratio", "bar",
             "time");
  if (!folder.empty()) add_folder(table, folder);
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    table.add(fmt::format("cut square {}", seed),
              testing::cut_square(number, {.pieces = 150 + 20 * (seed % 5),
                                           .fill = 0.9 + 0.02 * (seed % 5),
                                           .area_power = 0.2 + 0.1 * (seed % 6)}),
              MiB(1), 1, 10);
    for (const int live : {50, 100, 200}) {
      table.add(fmt::format("random {}, {} live", seed, live),
                testing::random_buffers(number, 20'000, live), std::nullopt, 1.05, 30);
    }
  }
  compare_fast(2000);
  return table.missed() == 0 ? 0 : 1;
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
