#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/plan/placement.h>

#include "command_line.h"
#include "commands.h"
#include "mistakes.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr const char* kPlaceFooter =
    "BUFFERS.csv has one line per buffer: id,lower,upper,size. The buffer takes size\n"
    "bytes and is live in [lower, upper). SOLUTION.csv has the same columns and each\n"
    "buffer's offset. Buffers that are live at the same time do not overlap.\n"
    "\n"
    "What the numbers mean:\n"
    "  height       bytes that hold all buffers at their offsets\n"
    "  lower bound  no placement can be lower: the most that is live at one time, or\n"
    "               more if the search has proved it\n"
    "  ratio        height / lower bound\n"
    "\n"
    "Examples:\n"
    "  plimsoll place step.csv --out offsets.csv\n"
    "  plimsoll place step.csv --capacity 4GiB     does it fit? exit code 3 if not\n"
    "  plimsoll place step.csv --json | jq .ratio";

struct PlaceOptions {
  std::string buffers;
  std::optional<std::string> capacity;
  std::string time = "10s";
  std::string alignment = "1";
  std::optional<std::string> out;
  bool json = false;
};

/// "3.9 GiB (4,148,232,192 bytes)".
std::string exact(Bytes bytes) {
  return fmt::format("{} ({})", format_bytes(bytes),
                     counted(static_cast<std::int64_t>(bytes), "byte"));
}

void run_place(const PlaceOptions& options) {
  plan::PlacementOptions how;
  if (options.capacity) how.capacity = parse_bytes(*options.capacity, "--capacity");
  how.time_limit = read_time(options.time, "--time");
  how.alignment = parse_bytes(options.alignment, "--alignment");
  const plan::BufferList list = plan::read_buffer_list(options.buffers);

  const Clock::time_point start = Clock::now();
  const plan::Placement placement = plan::place(list.buffers, how);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  plan::check_placement(list.buffers, placement, how.alignment);

  if (how.capacity && placement.height > *how.capacity) {
    const bool proved = placement.lower_bound > *how.capacity;
    throw BudgetTooSmall(fmt::format(
        "[place] {}: {} --capacity {}: the best height found is {}, and the lower bound is {}; use "
        "--capacity {}{}",
        printable(options.buffers),
        proved ? "no placement fits in"
               : fmt::format("no placement was found in {} that fits in", format_duration(seconds)),
        *options.capacity, exact(placement.height), exact(placement.lower_bound), placement.height,
        proved ? "" : ", or a longer --time"));
  }
  if (options.out) plan::write_placement(*options.out, list, placement);

  const double ratio = placement.lower_bound == 0 ? 1
                                                  : static_cast<double>(placement.height) /
                                                        static_cast<double>(placement.lower_bound);
  if (options.json) {
    Json all = {{"buffers_file", options.buffers}, {"buffers", list.buffers.size()}};
    all["capacity"] = how.capacity ? Json(*how.capacity) : Json(nullptr);
    all["height"] = placement.height;
    all["lower_bound"] = placement.lower_bound;
    all["ratio"] = ratio;
    all["proven_optimal"] = placement.proven_optimal;
    all["out_of_time"] = placement.out_of_time;
    all["seconds"] = seconds;
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("{}\n{} placed in {}\n\n", options.buffers,
             counted(static_cast<std::int64_t>(list.buffers.size()), "buffer"),
             format_duration(seconds));
  fmt::print("  height       {}\n", exact(placement.height));
  fmt::print("  lower bound  {}\n", exact(placement.lower_bound));
  fmt::print("  ratio        {:.5f}, {}\n", ratio,
             placement.proven_optimal ? "proven optimal"
             : how.capacity           ? "within the capacity"
                                      : "the best found");
}

}  // namespace

void add_place(Command& app) {
  Command* const command =
      app.add_subcommand("place", "Find offsets for buffers with known lifetimes");
  command->footer(kPlaceFooter);
  const auto options = std::make_shared<PlaceOptions>();
  command->add_option("BUFFERS.csv", options->buffers, "The buffers")->required()->type_name("");
  command
      ->add_option("--capacity", options->capacity,
                   "Stop at this height; exit code 3 if it is not reached")
      ->type_name("SIZE");
  command
      ->add_option("--time", options->time,
                   "Search for at most this long after twelve quick attempts; default: 10s")
      ->type_name("TIME");
  command
      ->add_option("--alignment", options->alignment,
                   "Alignment of every offset, a power of two; default: 1")
      ->type_name("SIZE");
  command->add_option("--out", options->out, "Write the offsets to this file")
      ->type_name("SOLUTION.csv");
  command->add_flag("--json", options->json, "Print one JSON object, sizes in bytes");
  command->callback([options] { run_place(*options); });
}

}  // namespace plimsoll::tools
