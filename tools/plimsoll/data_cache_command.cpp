#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/disk_cache.h>

#include "command_line.h"
#include "commands.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

/// The source: the last line of a signature.
std::string source_of(const std::string& pipeline) {
  std::string_view text = pipeline;
  while (text.ends_with('\n')) text.remove_suffix(1);
  text.remove_prefix(text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1);
  const auto begin = text.find_first_not_of(' ');
  return printable(begin == std::string_view::npos ? text : text.substr(begin));
}

void list(const std::string& folder, bool verify, bool json) {
  const auto entries = data::list_cache(folder, verify);
  std::size_t broken = 0;
  Json all = Json::array();
  for (const data::CacheEntry& entry : entries) {
    broken += entry.broken.size();
    if (json) {
      all.push_back({{"name", entry.name},
                     {"elements", entry.elements},
                     {"segments", entry.segments},
                     {"bytes", entry.bytes},
                     {"complete", entry.complete},
                     {"broken", entry.broken},
                     {"pipeline", entry.pipeline}});
      continue;
    }
    fmt::print("{}  {:>9} elements  {:>10}  {}  {}\n", entry.name, entry.elements,
               format_bytes(entry.bytes), entry.complete ? "complete" : "partial ",
               source_of(entry.pipeline));
    for (const std::string& bad : entry.broken) fmt::print("broken: {}\n", bad);
  }
  if (json) fmt::print("{}\n", all.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (entries.empty() && !json) fmt::print("no caches in {}\n", printable(folder));
  if (broken == 0) return;
  std::fflush(stdout);
  fmt::print(stderr, "{} {} broken; the next run makes {} again\n", broken,
             broken == 1 ? "segment is" : "segments are", broken == 1 ? "it" : "them");
  throw EndWith{2};
}

}  // namespace

void add_data_cache(Command& data) {
  Command* const command = data.add_subcommand("cache", "List, check or remove caches on disk");
  command->require_subcommand();
  command->footer(
      "Examples:\n"
      "  plimsoll data cache ls cache\n"
      "  plimsoll data cache verify cache\n"
      "  plimsoll data cache clear cache");
  struct Options {
    std::string folder;
    std::string name;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  Command* const ls = command->add_subcommand("ls", "List the caches in a folder");
  Command* const verify =
      command->add_subcommand("verify", "Check every checksum; exits 2 if one fails");
  Command* const clear = command->add_subcommand("clear", "Remove one cache, or all");
  for (Command* const each : {ls, verify, clear}) {
    each->footer("");
    each->add_option("FOLDER", options->folder, "The folder given to cache()")
        ->required()
        ->type_name("");
  }
  for (Command* const each : {ls, verify}) {
    each->add_flag("--json", options->json, "Print one JSON array, sizes in bytes");
  }
  clear->add_option("NAME", options->name, "As ls shows it; default: all of them")->type_name("");
  ls->callback([options] { list(options->folder, false, options->json); });
  verify->callback([options] { list(options->folder, true, options->json); });
  clear->callback([options] {
    fmt::print("{} removed\n", format_bytes(data::clear_cache(options->folder, options->name)));
  });
}

}  // namespace plimsoll::tools
