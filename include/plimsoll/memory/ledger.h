#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/memory/tag.h>

namespace plimsoll {

class MemoryTree;

/// One line of the ledger: who holds memory, and how much.
struct Holder {
  std::string budget;  ///< path of the budget it is charged to, "cuda:0/training"
  Tag tag = Tag::user;
  std::string label;
  Bytes bytes = 0;
  std::uint64_t blocks = 0;  ///< number of allocations
};

/// What all holders had at a point the program named.
struct Mark {
  std::string name;        ///< "step", "epoch", ...
  std::int64_t index = 0;  ///< which one
  std::int64_t time_ns = 0;
  Bytes live = 0;
  std::vector<Holder> holders;  ///< those with bytes, largest first
};

/// Something that moved memory as the system sees it, or a limit.
struct LedgerEvent {
  enum class Kind : std::uint8_t { map, unmap, move, limit, mark };
  Kind kind = Kind::map;
  std::int64_t time_ns = 0;  ///< since the tree was made
  Bytes bytes = 0;           ///< mapped, unmapped or moved; or the new limit
  Bytes live = 0;            ///< after the event
  Bytes mapped = 0;          ///< after the event, all arenas of the tree
};

std::string_view event_name(LedgerEvent::Kind kind);

/// Who holds what, now and at the peak, for a whole tree of budgets.
///
/// A ledger is a view; copies show the same tree. Thread-safe.
class Ledger {
 public:
  explicit Ledger(std::shared_ptr<MemoryTree> tree);
  // Moving copies the view: there are no empty ledgers.
  Ledger(const Ledger&) = default;
  Ledger& operator=(const Ledger&) = default;

  /// Bytes held now, all holders together, and the most there has ever been.
  Bytes live() const;
  Bytes peak() const;

  /// Current holders, largest first. `under` restricts them to one budget's path and those below.
  std::vector<Holder> holders(std::string_view under = {}) const;

  /// Who held what at the moment of peak().
  std::vector<Holder> peak_holders(std::string_view under = {}) const;

  /// Forgets the peak: it becomes what is live now.
  void reset_peak();

  /// Notes the current holders under a name, say at the end of a step. The last kMarks are kept.
  void mark(std::string_view name, std::int64_t index);
  std::vector<Mark> marks() const;

  /// Page and limit events, oldest first; the last kEvents are kept.
  std::vector<LedgerEvent> history() const;

  static constexpr std::size_t kMarks = 256;
  static constexpr std::size_t kEvents = 4096;

 private:
  std::shared_ptr<MemoryTree> tree_;
};

/// Sums holders by tag, largest first; labels and budgets are left empty.
std::vector<Holder> by_tag(const std::vector<Holder>& holders);

}  // namespace plimsoll
