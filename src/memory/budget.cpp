#include <plimsoll/memory/budget.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "memory/arena_state.h"
#include "memory/memory_tree.h"

namespace plimsoll {

namespace {

/// A path names one budget only if no name has its separator in it.
void check_name(std::string_view name) {
  if (name.empty()) throw InvalidArgument("[Budget] a budget needs a name");
  if (name.find('/') != std::string_view::npos ||
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; })) {
    throw InvalidArgument(fmt::format("[Budget] the name \"{}\" has a slash or a control character",
                                      name.substr(0, 64)));
  }
}

/// How much is returned to the system under one hold of the lock, so that others get a turn.
constexpr Bytes kSlice = MiB(256);

}  // namespace

BudgetHandle::~BudgetHandle() {
  MemoryTree::Lock lock(tree->mutex);
  node->open = false;
  tree->drop_if_unused(node);
}

Budget Budget::root(std::string_view name, Bytes limit) {
  check_name(name);
  auto tree = std::make_shared<MemoryTree>(name, limit);
  auto handle = std::make_shared<BudgetHandle>(tree, tree->root(), nullptr);
  tree->root()->handle = handle;
  return Budget(std::move(handle));
}

Budget Budget::child(std::string_view name, Bytes limit) const {
  check_name(name);
  MemoryTree::Lock lock(handle_->tree->mutex);
  BudgetNode* node = handle_->tree->add_node(handle_->node, name, limit);
  auto handle = std::make_shared<BudgetHandle>(handle_->tree, node, handle_);
  node->handle = handle;
  return Budget(std::move(handle));
}

std::string Budget::name() const { return handle_->node->name; }
std::string Budget::path() const { return handle_->node->path; }

Bytes Budget::limit() const {
  MemoryTree::Lock lock(handle_->tree->mutex);
  return handle_->node->limit;
}

Bytes Budget::used() const {
  MemoryTree::Lock lock(handle_->tree->mutex);
  return handle_->node->used;
}

Bytes Budget::peak() const {
  MemoryTree::Lock lock(handle_->tree->mutex);
  return handle_->node->peak;
}

Bytes Budget::available() const {
  MemoryTree::Lock lock(handle_->tree->mutex);
  return MemoryTree::available(handle_->node);
}

void Budget::set_limit(Bytes limit) const {
  MemoryTree& tree = *handle_->tree;
  BudgetNode* node = handle_->node;
  MemoryTree::Lock lock(tree.mutex);

  // Each measure is followed by another look: others may free or take memory meanwhile.
  auto fits = [&] {
    for (;;) {
      if (node->used <= limit) {
        node->limit = limit;
        tree.add_event(LedgerEvent::Kind::limit, limit);
        return true;
      }
      if (tree.reclaim(node, std::min(node->used - limit, kSlice), nullptr) == 0) return false;
      lock.unlock();
      lock.lock();
    }
  };

  if (fits()) return;
  if (tree.wait_for_fences(lock, node) && fits()) return;
  for (const auto& relief : tree.reliefs(node)) {
    const Bytes wanted = node->used - std::min(limit, node->used);
    lock.unlock();
    relief->call(wanted);
    lock.lock();
    if (fits()) return;
  }

  std::string message =
      fmt::format("[set_limit] the limit of '{}' cannot be lowered to {}: {} are in use",
                  node->path, format_bytes(limit), format_bytes(node->used));
  int shown = 0;
  for (const Holder& h : tree.holders(node->path, false)) {
    if (++shown > 5) break;
    message += fmt::format("\n  {:>10}  {} '{}'", format_bytes(h.bytes), tag_name(h.tag), h.label);
  }
  message += fmt::format("\n  release some of these first; the limit stays {}",
                         node->limit == kUnlimited ? "unset" : format_bytes(node->limit));
  lock.unlock();
  throw InvalidArgument(message);
}

Account Budget::account(Tag tag, std::string_view label) const {
  MemoryTree::Lock lock(handle_->tree->mutex);
  Account account;
  account.budget_ = handle_;
  account.entry_ = handle_->tree->entry(handle_->node, tag, label);
  return account;
}

Reservation Budget::reserve(Bytes bytes) const {
  Reservation reservation;
  if (bytes == 0) return reservation;
  MemoryTree& tree = *handle_->tree;
  MemoryTree::Lock lock(tree.mutex);
  BudgetNode* pages = MemoryTree::arena_node(handle_->node);
  BudgetNode* refuser =
      tree.with_relief(lock, bytes, [&] { return tree.reserve(handle_->node, pages, bytes); });
  if (refuser != nullptr) {
    LedgerEntry asking{handle_->node->path, Tag::user, "reservation", handle_->node};
    throw_out_of_memory(tree, lock, bytes, &asking, refuser, {}, nullptr);
  }
  reservation.budget_ = handle_;
  reservation.pages_ = pages;
  reservation.bytes_ = bytes;
  return reservation;
}

Charge Budget::charge(Tag tag, std::string_view label, Bytes bytes) const {
  Charge charge;
  Account account = this->account(tag, label);
  MemoryTree& tree = *handle_->tree;
  MemoryTree::Lock lock(tree.mutex);
  BudgetNode* refuser =
      tree.with_relief(lock, bytes, [&] { return tree.try_charge(handle_->node, nullptr, bytes); });
  if (refuser != nullptr) {
    throw_out_of_memory(tree, lock, bytes, account.entry_, refuser, {}, nullptr);
  }
  tree.credit(account.entry_, bytes);
  account.entry_->direct += bytes;
  charge.account_ = std::move(account);
  charge.bytes_ = bytes;
  return charge;
}

ReliefHandle Budget::on_relief(ReliefOrder order, std::string_view name,
                               ReliefFunction relief) const {
  ReliefHandle handle;
  handle.budget_ = handle_;
  handle.entry_ = std::make_shared<ReliefHandle::Entry>();
  handle.entry_->order = order;
  handle.entry_->name = name;
  handle.entry_->function = std::move(relief);
  MemoryTree::Lock lock(handle_->tree->mutex);
  handle.entry_->sequence = handle_->tree->next_sequence();
  handle_->node->reliefs.push_back(handle.entry_);
  return handle;
}

std::vector<Budget> Budget::children() const {
  std::vector<Budget> result;
  MemoryTree::Lock lock(handle_->tree->mutex);
  for (const BudgetNode* c : handle_->node->children) {
    if (auto h = c->handle.lock()) result.push_back(Budget(std::move(h)));
  }
  return result;
}

Ledger Budget::ledger() const { return Ledger(handle_->tree); }

bool Budget::operator==(const Budget& other) const { return handle_->node == other.handle_->node; }

Reservation::Reservation(Reservation&& other) noexcept
    : budget_(std::move(other.budget_)),
      pages_(other.pages_),
      bytes_(std::exchange(other.bytes_, 0)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::move(other.budget_);
    pages_ = other.pages_;
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Reservation::~Reservation() { release(); }

void Reservation::release() noexcept {
  if (!budget_) return;
  {
    MemoryTree::Lock lock(budget_->tree->mutex);
    budget_->tree->unreserve(budget_->node, pages_, bytes_);
  }
  bytes_ = 0;
  budget_.reset();
}

Charge::Charge(Charge&& other) noexcept
    : account_(std::exchange(other.account_, {})), bytes_(std::exchange(other.bytes_, 0)) {}

Charge& Charge::operator=(Charge&& other) noexcept {
  if (this != &other) {
    release();
    account_ = std::exchange(other.account_, {});
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Charge::~Charge() { release(); }

void Charge::release() noexcept {
  if (!account_.valid()) return;
  {
    MemoryTree& tree = *account_.budget_->tree;
    MemoryTree::Lock lock(tree.mutex);
    tree.debit(account_.entry_, bytes_);
    account_.entry_->direct -= bytes_;
    tree.uncharge(account_.budget_->node, nullptr, bytes_);
  }
  account_ = {};
  bytes_ = 0;
}

Bytes ReliefHandle::Entry::call(Bytes wanted) {
  if (runner.load() == std::this_thread::get_id()) return 0;  // short within its own relief
  std::lock_guard guard(running);
  if (dead) return 0;
  runner = std::this_thread::get_id();
  Bytes freed = 0;
  try {
    freed = function(wanted);
  } catch (...) {
    runner = std::thread::id{};
    throw;
  }
  runner = std::thread::id{};
  return freed;
}

ReliefHandle::ReliefHandle(ReliefHandle&& other) noexcept
    : budget_(std::move(other.budget_)), entry_(std::move(other.entry_)) {}

ReliefHandle& ReliefHandle::operator=(ReliefHandle&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::move(other.budget_);
    entry_ = std::move(other.entry_);
  }
  return *this;
}

ReliefHandle::~ReliefHandle() { release(); }

void ReliefHandle::release() noexcept {
  if (!entry_) return;
  {
    MemoryTree::Lock lock(budget_->tree->mutex);
    std::erase(budget_->node->reliefs, entry_);
  }
  if (entry_->runner.load() == std::this_thread::get_id()) {
    entry_->dead = true;  // within its own call, which holds `running`
  } else {
    std::lock_guard guard(entry_->running);
    entry_->dead = true;
  }
  entry_.reset();
  budget_.reset();
}

}  // namespace plimsoll
