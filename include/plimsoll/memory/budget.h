#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/memory/ledger.h>
#include <plimsoll/memory/tag.h>

namespace plimsoll {

class BudgetHandle;
struct BudgetNode;
class ArenaState;
struct LedgerEntry;
class Reservation;
class Charge;
class Guarantee;
class ReliefHandle;
class RemedyHandle;

/// A line in the ledger that memory is charged to: a budget, a tag and a label. Made once by
/// Budget::account and passed to every allocation. Copies are cheap and mean the same line.
class Account {
 public:
  Account() = default;
  bool valid() const { return entry_ != nullptr; }

 private:
  friend class Budget;
  friend class ArenaState;
  friend class Charge;
  friend class RemedyHandle;
  std::shared_ptr<BudgetHandle> budget_;
  LedgerEntry* entry_ = nullptr;
};

/// In which order holders are asked to give memory back when a budget is short.
enum class ReliefOrder : std::uint8_t { cache, prefetch, shuffle, replan };

/// Asked to free `wanted` bytes; returns how many it freed, more or less. Called with no lock of
/// the memory layer held, from whichever thread was short; it may release memory, lower limits,
/// even end its own registration. It must not allocate from the budget that is short.
using ReliefFunction = std::function<Bytes(Bytes wanted)>;

/// A node in a tree of limits.
///
/// The root is a device's limit. Children (a session, training, validation, a cache) have hard
/// limits of their own or draw on their parent (kUnlimited). Memory is reserved first, then
/// taken; what would exceed any limit on the way to the root is refused before anything is taken.
///
/// An Arena stands on a budget: that budget and those above it are charged with the pages the
/// arena has mapped (they are what the system sees), the ones below it with the bytes of their
/// live blocks.
///
/// A Budget is a handle: copies are the same node. The node goes away with its last handle, child
/// and byte. Using a handle that was moved from throws InvalidArgument. Thread-safe.
class Budget {
 public:
  /// A new tree. A name has at least one character, no slash and no control character; else
  /// InvalidArgument. `capacity` is what there is in all: the root's limit cannot be raised above
  /// it.
  static Budget root(std::string_view name, Bytes limit = kUnlimited, Bytes capacity = kUnlimited);

  /// A new node under this one. A sibling of the same name makes it "name#2".
  Budget child(std::string_view name, Bytes limit = kUnlimited) const;

  std::string name() const;
  /// Names from the root on: "cuda:0/training".
  std::string path() const;
  Bytes limit() const;
  /// Bytes charged now, and the most there has ever been.
  Bytes used() const;
  Bytes peak() const;
  /// What was guaranteed to budgets below and is not used by them yet: nobody else can have it.
  Bytes promised() const;
  /// What could still be charged here, given every limit and every guarantee up to the root.
  Bytes available() const;

  /// Moves the limit. If less is used and guaranteed, it holds from now on. Otherwise free pages
  /// are returned, then holders are asked for relief in ReliefOrder; if that is not enough the
  /// limit stays as it was and InvalidArgument says who holds what. The limit of a budget with a
  /// Guarantee is raised only as far as those above it have room for.
  void set_limit(Bytes limit) const;
  /// The limit that a set_limit() under way is to set: what relief functions, which are told how
  /// many bytes it lacked when it asked, have to come down to. Else the limit.
  Bytes coming_limit() const;

  /// Sets the whole limit aside in the budgets above, so that nothing else there, neither
  /// siblings nor the parent itself, can take what is not used here yet. The guarantee moves with
  /// set_limit. The budget must have a limit, a parent and an arena of its own, and no guarantee
  /// yet; else InvalidArgument. Throws OutOfMemory if a budget above has no room.
  [[nodiscard]] Guarantee guarantee() const;

  /// The line for `tag` and `label` in this budget; the same arguments give the same line.
  Account account(Tag tag, std::string_view label) const;

  /// Sets `bytes` aside for allocations to come. Throws OutOfMemory.
  Reservation reserve(Bytes bytes) const;

  /// Charges memory that no arena gave: a library's buffers, the driver's context. Throws
  /// OutOfMemory if it would exceed a limit.
  Charge charge(Tag tag, std::string_view label, Bytes bytes) const;

  /// Registers a holder that can give memory back when this budget, or one above it, is short.
  [[nodiscard]] ReliefHandle on_relief(ReliefOrder order, std::string_view name,
                                       ReliefFunction relief) const;

  /// Says what could be done about memory that is held here, and how many bytes that would free.
  /// Reports of OutOfMemory by this budget or one above it list it while the handle lives: offer
  /// what applies to this very holder. Same texts are added up.
  [[nodiscard]] RemedyHandle remedy(std::string_view text, Bytes frees) const;
  /// The same for a `share` of whatever the line `of` holds when the report is made.
  [[nodiscard]] static RemedyHandle remedy(std::string_view text, const Account& of,
                                           double share = 1);

  /// Budgets directly under this one.
  std::vector<Budget> children() const;

  /// The ledger of the whole tree.
  Ledger ledger() const;

  bool operator==(const Budget& other) const;

 private:
  friend class Arena;
  friend class ArenaState;
  explicit Budget(std::shared_ptr<BudgetHandle> handle) : handle_(std::move(handle)) {}
  /// Throws InvalidArgument naming the function `who` if this handle was moved from.
  const std::shared_ptr<BudgetHandle>& handle(const char* who) const;
  std::shared_ptr<BudgetHandle> handle_;
};

/// Bytes set aside in a budget; what has not been used goes back when it is destroyed. Not
/// thread-safe itself; movable.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  /// What is left of it.
  Bytes bytes() const { return bytes_; }
  /// Gives back all that is left.
  void release() noexcept;

 private:
  friend class Budget;
  friend class ArenaState;
  std::shared_ptr<BudgetHandle> budget_;
  BudgetNode* pages_ = nullptr;
  Bytes bytes_ = 0;
};

/// A charge for memory that no arena gave; undone when destroyed. Movable.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept;
  Charge& operator=(Charge&& other) noexcept;
  ~Charge();

  Bytes bytes() const { return bytes_; }
  void release() noexcept;

 private:
  friend class Budget;
  Account account_;
  Bytes bytes_ = 0;
};

/// Keeps a budget's limit set aside for it; ends when it is destroyed. Movable.
class Guarantee {
 public:
  Guarantee() = default;
  Guarantee(Guarantee&& other) noexcept = default;
  Guarantee& operator=(Guarantee&& other) noexcept;
  ~Guarantee();
  void release() noexcept;

 private:
  friend class Budget;
  std::shared_ptr<BudgetHandle> budget_;
};

/// Keeps a remedy on offer. Movable.
class RemedyHandle {
 public:
  RemedyHandle() = default;
  RemedyHandle(RemedyHandle&& other) noexcept = default;
  RemedyHandle& operator=(RemedyHandle&& other) noexcept;
  ~RemedyHandle();
  /// From now on it frees so many bytes; 0: it is not listed.
  void set(Bytes frees);
  void release() noexcept;

  struct Entry;  ///< internal

 private:
  friend class Budget;
  std::shared_ptr<BudgetHandle> budget_;
  std::shared_ptr<Entry> entry_;
};

/// Keeps a relief function registered. Its destruction waits for a call in progress, except from
/// within that call.
class ReliefHandle {
 public:
  ReliefHandle() = default;
  ReliefHandle(ReliefHandle&& other) noexcept;
  ReliefHandle& operator=(ReliefHandle&& other) noexcept;
  ~ReliefHandle();
  void release() noexcept;

  struct Entry;  ///< internal

 private:
  friend class Budget;
  std::shared_ptr<BudgetHandle> budget_;
  std::shared_ptr<Entry> entry_;
};

}  // namespace plimsoll
