#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <plimsoll/memory/budget.h>
#include <plimsoll/memory/ledger.h>

#include "memory/fast_mutex.h"

namespace plimsoll {

class ArenaState;

/// A ledger line. `bytes` is what it holds now; what it held at the tree's peak is derived lazily:
/// `at_peak` is right if the line has changed since that peak (`seen_peak` says so), else `bytes`
/// still is what it was then. So a new peak costs nothing per line.
struct LedgerEntry {
  std::string budget;
  Tag tag = Tag::user;
  std::string label;
  BudgetNode* node = nullptr;
  const ArenaState* arena = nullptr;  ///< one that `node` is known to be under
  Bytes bytes = 0;
  std::uint64_t blocks = 0;
  Bytes at_peak = 0;
  std::uint64_t blocks_at_peak = 0;
  std::uint64_t seen_peak = 0;
  Bytes direct = 0;  ///< of `bytes`: charged without an arena
};

/// What an arena node owes its ancestors: the larger of the pages that are mapped and what has been
/// given out or promised. So a reservation is backed by pages, and free pages serve reservations.
struct PageAccount {
  Bytes mapped = 0;
  Bytes live = 0;
  Bytes reserved = 0;
  Bytes charged = 0;  ///< max(mapped, live + reserved), as charged from the node to the root
};

struct BudgetNode {
  std::string name;
  std::string path;
  Bytes limit = kUnlimited;
  Bytes used = 0;
  /// `used` and what guarantees below have not used yet: never above `limit`.
  Bytes held = 0;
  /// Set aside for this node in its ancestors, whatever it uses; 0: nothing.
  Bytes guaranteed = 0;
  Bytes peak = 0;
  BudgetNode* parent = nullptr;
  std::vector<BudgetNode*> children;
  ArenaState* arena = nullptr;
  bool has_pages = false;  ///< carries an arena or has carried one
  PageAccount pages;
  Bytes reserved_here = 0;  ///< by reservations of this very node
  bool open = true;         ///< a handle exists
  std::weak_ptr<BudgetHandle> handle;
  std::vector<std::shared_ptr<ReliefHandle::Entry>> reliefs;
  std::vector<std::shared_ptr<RemedyHandle::Entry>> remedies;
  /// What set_limit() is about to set while it asks for relief.
  std::optional<Bytes> coming_limit = std::nullopt;

  /// What the parent is charged for this node, besides what the parent holds itself.
  Bytes owed() const { return held > guaranteed ? held : guaranteed; }
};

/// Registered relief. `call` is entered with no lock held and runs one at a time.
struct ReliefHandle::Entry {
  ReliefOrder order = ReliefOrder::cache;
  std::uint64_t sequence = 0;
  std::string name;
  ReliefFunction function;
  std::mutex running;
  std::atomic<std::thread::id> runner{};
  bool dead = false;  ///< guarded by `running`

  Bytes call(Bytes wanted);
};

/// A remedy on offer: a number of bytes, or a share of what a line of the ledger holds.
struct RemedyHandle::Entry {
  std::string text;
  Bytes bytes = 0;
  const LedgerEntry* line = nullptr;
  double share = 1;

  Bytes frees() const {
    return line == nullptr ? bytes : static_cast<Bytes>(static_cast<double>(line->bytes) * share);
  }
};

/// All budgets of a device with their ledger, under one lock. Arenas share it, so that an
/// allocation takes one lock and leaves arena, budgets and ledger in agreement.
///
/// Members are guarded by `mutex` and the methods below expect it held, except where noted.
class MemoryTree {
 public:
  using Lock = std::unique_lock<FastMutex>;

  MemoryTree(std::string_view root_name, Bytes limit, Bytes capacity);

  mutable FastMutex mutex;
  /// What the memory under the tree is in all: the root's limit cannot exceed it.
  const Bytes capacity;

  BudgetNode* root() { return nodes_.front().get(); }
  BudgetNode* add_node(BudgetNode* parent, std::string_view name, Bytes limit);
  /// Forgets `node` if no handle, child or byte is left; then its parents likewise.
  void drop_if_unused(BudgetNode* node);

  LedgerEntry* entry(BudgetNode* node, Tag tag, std::string_view label);

  /// Adds `bytes` to every node from `from` up to, not including, `to` (null: past the root).
  /// Returns null, or the node whose limit forbids it, with nothing changed.
  BudgetNode* try_charge(BudgetNode* from, const BudgetNode* to, Bytes bytes) {
    return try_hold(from, to, bytes, bytes);
  }

  void uncharge(BudgetNode* from, const BudgetNode* to, Bytes bytes) {
    unhold(from, to, bytes, bytes);
  }

  /// Sets `bytes` aside for `node` in its ancestors, in place of what was guaranteed before.
  /// Returns null, or the node whose limit forbids it, with nothing changed.
  BudgetNode* try_guarantee(BudgetNode* node, Bytes bytes) {
    const Bytes before = node->owed();
    const Bytes after = node->held > bytes ? node->held : bytes;
    if (after > before) {
      if (BudgetNode* refuser = try_hold(node->parent, nullptr, 0, after - before)) return refuser;
    } else {
      unhold(node->parent, nullptr, 0, before - after);
    }
    node->guaranteed = bytes;
    return nullptr;
  }

  void credit(LedgerEntry* e, Bytes bytes) {
    settle(e);
    e->bytes += bytes;
    ++e->blocks;
    live_ += bytes;
    if (live_ > peak_) {
      peak_ = live_;
      ++peak_id_;
    }
  }

  void debit(LedgerEntry* e, Bytes bytes) {
    settle(e);
    e->bytes -= bytes;
    --e->blocks;
    live_ -= bytes;
  }

  /// Lowest of what the limits from `node` to the root still allow.
  static Bytes available(const BudgetNode* node);
  static bool is_under(const BudgetNode* node, const BudgetNode* ancestor);
  /// Whether `ancestor` gains by what `node` gives up: not if it stays guaranteed on the way.
  static bool gives_to(const BudgetNode* node, const BudgetNode* ancestor);
  /// The nearest node from `node` up that carries an arena; null if none does.
  static BudgetNode* arena_node(BudgetNode* node);

  /// Brings `node`'s page account to these figures and charges the difference up to the root.
  /// Returns null, or the node whose limit forbids it, with nothing changed.
  BudgetNode* set_pages(BudgetNode* node, Bytes mapped, Bytes live, Bytes reserved) {
    PageAccount& p = node->pages;
    const Bytes charged = mapped > live + reserved ? mapped : live + reserved;
    if (charged > p.charged) {
      if (BudgetNode* refuser = try_charge(node, nullptr, charged - p.charged)) return refuser;
    } else if (charged < p.charged) {
      uncharge(node, nullptr, p.charged - charged);
    }
    p = {mapped, live, reserved, charged};
    return nullptr;
  }

  /// Sets `bytes` aside in `node`, whose pages are accounted at `pages` (null: nowhere).
  BudgetNode* reserve(BudgetNode* node, BudgetNode* pages, Bytes bytes);
  void unreserve(BudgetNode* node, BudgetNode* pages, Bytes bytes);

  /// Runs `attempt`, which returns null or the node that refused, until it succeeds: after free
  /// pages went back to the system, after fences, after each relief function. `lock` is released
  /// around fences and relief. Returns what the last attempt returned.
  BudgetNode* with_relief(Lock& lock, Bytes bytes, const std::function<BudgetNode*()>& attempt);

  /// Throws InternalError if the budgets are not the sums of what is charged to them.
  void check() const;

  /// Returns free pages of the arenas at and under `node`, except `skip`, to the system: about
  /// `wanted` bytes, or all there are. Does not wait for fences.
  Bytes reclaim(BudgetNode* node, Bytes wanted, const ArenaState* skip);
  /// Waits for the fences of what was released in the arenas at and under `node`; releases `lock`
  /// meanwhile. True if there was anything to wait for.
  bool wait_for_fences(Lock& lock, BudgetNode* node);

  /// Relief functions registered at and under `node`, in the order they are to be asked.
  std::vector<std::shared_ptr<ReliefHandle::Entry>> reliefs(const BudgetNode* node) const;

  std::vector<Holder> holders(std::string_view under, bool at_peak) const;
  /// What budgets under `node` were guaranteed and have not used, largest first.
  std::vector<std::pair<std::string, Bytes>> guarantees(const BudgetNode* node) const;
  /// What holders under `node` could do about a shortage there, what frees most first; the same
  /// text only once.
  std::vector<std::pair<std::string, Bytes>> remedies(const BudgetNode* node) const;
  void add_event(LedgerEvent::Kind kind, Bytes bytes);
  std::int64_t now_ns() const;

  Bytes live() const { return live_; }
  Bytes peak() const { return peak_; }
  void reset_peak();
  std::uint64_t next_sequence() { return ++sequence_; }
  void change_mapped(Bytes plus, Bytes minus) { mapped_ = mapped_ + plus - minus; }

  void add_mark(std::string_view name, std::int64_t index);
  std::vector<Mark> marks() const { return {marks_.begin(), marks_.end()}; }
  std::vector<LedgerEvent> history() const { return {events_.begin(), events_.end()}; }

  const std::unordered_map<std::string, std::unique_ptr<LedgerEntry>>& entries() const {
    return entries_;
  }

 private:
  /// `used` more bytes, of which the nodes have to hold `held` more: what a guarantee on the way
  /// covers, those above it hold already.
  static BudgetNode* try_hold(BudgetNode* from, const BudgetNode* to, Bytes used, Bytes held) {
    Bytes more = held;
    for (BudgetNode* n = from; n != to; n = n->parent) {
      const Bytes sum = n->held + more;
      if (sum > n->limit || sum < more) {
        unhold(from, n, used, held);
        return n;
      }
      const Bytes before = n->owed();
      n->used += used;
      n->held = sum;
      more = n->owed() - before;
    }
    for (BudgetNode* n = from; n != to; n = n->parent) {
      if (n->used > n->peak) n->peak = n->used;
    }
    return nullptr;
  }

  static void unhold(BudgetNode* from, const BudgetNode* to, Bytes used, Bytes held) {
    Bytes less = held;
    for (BudgetNode* n = from; n != to; n = n->parent) {
      const Bytes before = n->owed();
      n->used -= used;
      n->held -= less;
      less = before - n->owed();
    }
  }

  void settle(LedgerEntry* e) const {
    if (e->seen_peak != peak_id_) {
      e->at_peak = e->bytes;
      e->blocks_at_peak = e->blocks;
      e->seen_peak = peak_id_;
    }
  }

  std::vector<std::unique_ptr<BudgetNode>> nodes_;
  std::unordered_map<std::string, std::unique_ptr<LedgerEntry>> entries_;
  Bytes live_ = 0;
  Bytes peak_ = 0;
  std::uint64_t peak_id_ = 1;
  Bytes mapped_ = 0;
  std::uint64_t sequence_ = 0;
  std::deque<Mark> marks_;
  std::deque<LedgerEvent> events_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What Budget handles share: keeps the tree alive, and the node open.
class BudgetHandle {
 public:
  BudgetHandle(std::shared_ptr<MemoryTree> t, BudgetNode* n, std::shared_ptr<BudgetHandle> p)
      : tree(std::move(t)), node(n), parent(std::move(p)) {}
  BudgetHandle(const BudgetHandle&) = delete;
  BudgetHandle& operator=(const BudgetHandle&) = delete;
  ~BudgetHandle();

  std::shared_ptr<MemoryTree> tree;
  BudgetNode* node;
  std::shared_ptr<BudgetHandle> parent;
};

/// Builds the report for `bytes` refused to `entry` by `refuser` (null: by the system), and throws
/// it. `lock` is released first.
[[noreturn]] void throw_out_of_memory(MemoryTree& tree, MemoryTree::Lock& lock, Bytes bytes,
                                      const LedgerEntry* entry, const BudgetNode* refuser,
                                      const std::string& system_error, const ArenaState* arena);

}  // namespace plimsoll
