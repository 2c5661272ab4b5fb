#include <plimsoll/memory/out_of_memory.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "memory/arena_state.h"
#include "memory/memory_tree.h"

namespace plimsoll {

namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kShownHolders = 8;
constexpr std::size_t kShownRemedies = 5;

/// `text` in at most `width` columns, its middle cut out if it must be: both ends of a label tell.
std::string fit(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  const std::size_t tail = (width - 3) / 2;
  return text.substr(0, width - 3 - tail) + "..." + text.substr(text.size() - tail);
}

/// Breaks `text` at blanks into lines of at most kWidth columns; later ones start with `indent`.
std::string wrap(const std::string& text, const std::string& indent) {
  std::string result;
  std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  std::string line = text.substr(0, begin);
  bool fresh = true;
  while (begin < text.size()) {
    std::size_t end = text.find(' ', begin);
    if (end == std::string::npos) end = text.size();
    const std::string word = fit(text.substr(begin, end - begin), kWidth - indent.size() - 1);
    if (!fresh && line.size() + 1 + word.size() > kWidth) {
      result += line + "\n";
      line = indent + word;
    } else {
      line += (fresh ? "" : " ") + word;
    }
    fresh = false;
    begin = end + 1;
  }
  return result + line + "\n";
}

/// `bytes` as text that, read again, is not less: advice that was rounded down would not help.
std::string format_at_least(Bytes bytes) {
  std::string text = format_bytes(bytes);
  if (bytes >= GiB(1) << 19) return text;  // beyond the units that are read
  for (Bytes more = bytes; parse_bytes(text) < bytes; text = format_bytes(more)) {
    more += more / 256 + 1;
  }
  return text;
}

/// The limits that stand in the way of `needed` more bytes from `node` up, and what they would have
/// to be; nothing where the device does not have that much.
std::vector<Remedy> raised_limits(const MemoryTree& tree, const BudgetNode* refuser, Bytes needed,
                                  const ArenaState* arena) {
  std::vector<Remedy> result;
  Bytes more = needed;
  for (const BudgetNode* node = refuser; node != nullptr; node = node->parent) {
    // Free pages serve what a budget without pages of its own had no room for.
    if (node != refuser && arena != nullptr && node->arena == arena) {
      more -= std::min(more, arena->free_mapped());
    }
    const Bytes limit = node->held + std::min(more, kUnlimited - node->held);
    if (limit > node->limit) {
      if (node->parent == nullptr && limit > tree.capacity) return {};
      std::string text = format_at_least(limit);
      if (node->parent == nullptr && tree.capacity != kUnlimited &&
          parse_bytes(text) > tree.capacity) {
        text = std::to_string(limit);
      }
      result.push_back({fmt::format("raise the limit of '{}' to {}", node->path, text), 0});
    }
    if (node->guaranteed != 0) more = std::max(limit, node->guaranteed) - node->owed();
  }
  return result;
}

/// True if `arena` stands on `node` or below it.
bool carries(const BudgetNode& node, const ArenaState* arena) {
  return node.arena == arena ||
         std::any_of(node.children.begin(), node.children.end(),
                     [&](const BudgetNode* child) { return carries(*child, arena); });
}

}  // namespace

std::string OutOfMemoryReport::to_string() const {
  std::string out;
  const std::string asked = fmt::format("[out of memory] {} for {} '{}'", format_bytes(requested),
                                        tag_name(tag), fit(label, 40));
  if (budget.empty()) {
    out += wrap(fmt::format("{} could not be allocated: {}", asked, system_error), "  ");
  } else {
    out += wrap(fmt::format("{} would exceed the budget '{}'", asked, budget), "  ");
    out += wrap(
        fmt::format("  its limit is {}, {} is in use{}", format_bytes(limit), format_bytes(used),
                    promised == 0 ? ""
                                  : fmt::format(", and {} is promised to logical devices",
                                                format_bytes(promised))),
        "  ");
  }
  if (free_mapped != 0) {
    out += wrap(
        fmt::format("  mapped but free: {}, largest block {}, fragmentation {:.0f}%",
                    format_bytes(free_mapped), format_bytes(largest_free), fragmentation * 100),
        "  ");
  }
  if (!holders.empty()) {
    out += fmt::format("\n  {:<12} {:<46} {:>10} {:>7}\n", "held as", "by", "bytes", "blocks");
    Bytes rest = 0;
    std::uint64_t rest_blocks = 0;
    for (std::size_t i = 0; i < holders.size(); ++i) {
      const Holder& h = holders[i];
      if (i >= kShownHolders) {
        rest += h.bytes;
        rest_blocks += h.blocks;
        continue;
      }
      const std::string place =
          h.budget == budget ? h.label : fmt::format("{} ({})", h.label, h.budget);
      out += fmt::format("  {:<12} {:<46} {:>10} {:>7}\n", tag_name(h.tag), fit(place, 46),
                         format_bytes(h.bytes), h.blocks);
    }
    if (rest != 0) {
      out += fmt::format("  {:<12} {:<46} {:>10} {:>7}\n", "",
                         fmt::format("{} others", holders.size() - kShownHolders),
                         format_bytes(rest), rest_blocks);
    }
  }
  if (!remedies.empty()) {
    out += fmt::format("\n  {:<59} {:>10}\n", "what would help", "frees");
    for (const Remedy& r : remedies) {
      if (r.bytes == 0) {
        out += fmt::format("  {}\n", fit(r.text, kWidth - 2));
      } else {
        out += fmt::format("  {:<59} {:>10}\n", fit(r.text, 59), format_bytes(r.bytes));
      }
    }
  }
  out.pop_back();
  return out;
}

std::string OutOfMemoryReport::to_json() const {
  nlohmann::json j = {{"error", "out_of_memory"},
                      {"requested", requested},
                      {"tag", tag_name(tag)},
                      {"label", label},
                      {"budget", budget},
                      {"limit", limit},
                      {"used", used},
                      {"promised", promised},
                      {"system_error", system_error},
                      {"free_mapped", free_mapped},
                      {"largest_free", largest_free},
                      {"fragmentation", fragmentation},
                      {"holders", nlohmann::json::array()},
                      {"remedies", nlohmann::json::array()}};
  for (const Holder& h : holders) {
    j["holders"].push_back({{"budget", h.budget},
                            {"tag", tag_name(h.tag)},
                            {"label", h.label},
                            {"bytes", h.bytes},
                            {"blocks", h.blocks}});
  }
  for (const Remedy& r : remedies) j["remedies"].push_back({{"text", r.text}, {"bytes", r.bytes}});
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

OutOfMemory::OutOfMemory(OutOfMemoryReport report)
    : Error(report.to_string()), report_(std::move(report)) {}

void throw_out_of_memory(MemoryTree& tree, MemoryTree::Lock& lock, Bytes bytes,
                         const LedgerEntry* entry, const BudgetNode* refuser,
                         const std::string& system_error, const ArenaState* arena) {
  OutOfMemoryReport r;
  r.requested = bytes;
  r.tag = entry->tag;
  r.label = entry->label;
  r.system_error = system_error;
  if (refuser != nullptr) {
    r.budget = refuser->path;
    r.limit = refuser->limit;
    r.used = refuser->used;
    r.promised = refuser->held - refuser->used;
  }
  if (arena != nullptr) {
    r.free_mapped = arena->free_mapped();
    r.largest_free = std::min(arena->largest_free(), r.free_mapped);
    if (r.free_mapped != 0) {
      r.fragmentation =
          1.0 - static_cast<double>(r.largest_free) / static_cast<double>(r.free_mapped);
    }
  }
  r.holders = tree.holders(refuser != nullptr ? refuser->path : tree.root()->path, false);
  // Where an arena stands on the refusing budget or below it, whole pages are charged.
  Bytes needed = bytes;
  if (refuser != nullptr && arena != nullptr && carries(*refuser, arena) &&
      bytes < kUnlimited / 2) {
    needed = align_up(bytes, arena->source->page_size());
  }
  r.remedies = raised_limits(tree, refuser, needed, arena);
  for (auto& [text, frees] :
       tree.remedies(refuser != nullptr ? refuser : static_cast<const BudgetNode*>(tree.root()))) {
    if (r.remedies.size() < kShownRemedies) r.remedies.push_back({std::move(text), frees});
  }
  lock.unlock();
  if (refuser == nullptr) {
    r.remedies.insert(r.remedies.begin(),
                      {"leave more memory to this process, or set a budget that fits", 0});
  }
  throw OutOfMemory(std::move(r));
}

}  // namespace plimsoll
