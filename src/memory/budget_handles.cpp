// What budgets give out and take back by destructors: reservations, charges, guarantees, remedies
// and relief.
#include <utility>

#include <plimsoll/memory/budget.h>

#include "memory/memory_tree.h"

namespace plimsoll {

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

Guarantee& Guarantee::operator=(Guarantee&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::move(other.budget_);
  }
  return *this;
}

Guarantee::~Guarantee() { release(); }

void Guarantee::release() noexcept {
  if (!budget_) return;
  {
    MemoryTree::Lock lock(budget_->tree->mutex);
    budget_->tree->try_guarantee(budget_->node, 0);
  }
  budget_.reset();
}

RemedyHandle& RemedyHandle::operator=(RemedyHandle&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::move(other.budget_);
    entry_ = std::move(other.entry_);
  }
  return *this;
}

RemedyHandle::~RemedyHandle() { release(); }

void RemedyHandle::set(Bytes frees) {
  if (!entry_) return;
  MemoryTree::Lock lock(budget_->tree->mutex);
  entry_->bytes = frees;
}

void RemedyHandle::release() noexcept {
  if (!entry_) return;
  {
    MemoryTree::Lock lock(budget_->tree->mutex);
    std::erase(budget_->node->remedies, entry_);
  }
  entry_.reset();
  budget_.reset();
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
