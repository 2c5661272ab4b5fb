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
constexpr Bytes kReclaimed = MiB(256);

}  // namespace

BudgetHandle::~BudgetHandle() {
  MemoryTree::Lock lock(tree->mutex);
  node->open = false;
  tree->drop_if_unused(node);
}

const std::shared_ptr<BudgetHandle>& Budget::handle(const char* who) const {
  if (handle_ == nullptr) {
    throw InvalidArgument(fmt::format("[Budget::{}] this Budget was moved from", who));
  }
  return handle_;
}

Budget Budget::root(std::string_view name, Bytes limit, Bytes capacity) {
  check_name(name);
  auto tree = std::make_shared<MemoryTree>(name, limit, capacity);
  auto handle = std::make_shared<BudgetHandle>(tree, tree->root(), nullptr);
  tree->root()->handle = handle;
  return Budget(std::move(handle));
}

Budget Budget::child(std::string_view name, Bytes limit) const {
  const auto& own = handle("child");
  check_name(name);
  MemoryTree::Lock lock(own->tree->mutex);
  BudgetNode* node = own->tree->add_node(own->node, name, limit);
  auto child = std::make_shared<BudgetHandle>(own->tree, node, own);
  node->handle = child;
  return Budget(std::move(child));
}

std::string Budget::name() const { return handle("name")->node->name; }
std::string Budget::path() const { return handle("path")->node->path; }

Bytes Budget::limit() const {
  MemoryTree::Lock lock(handle("limit")->tree->mutex);
  return handle_->node->limit;
}

Bytes Budget::used() const {
  MemoryTree::Lock lock(handle("used")->tree->mutex);
  return handle_->node->used;
}

Bytes Budget::peak() const {
  MemoryTree::Lock lock(handle("peak")->tree->mutex);
  return handle_->node->peak;
}

Bytes Budget::promised() const {
  MemoryTree::Lock lock(handle("promised")->tree->mutex);
  return handle_->node->held - handle_->node->used;
}

Bytes Budget::available() const {
  MemoryTree::Lock lock(handle("available")->tree->mutex);
  return MemoryTree::available(handle_->node);
}

Bytes Budget::coming_limit() const {
  MemoryTree::Lock lock(handle("coming_limit")->tree->mutex);
  return handle_->node->coming_limit.value_or(handle_->node->limit);
}

void Budget::set_limit(Bytes limit) const {
  MemoryTree& tree = *handle("set_limit")->tree;
  BudgetNode* node = handle_->node;
  MemoryTree::Lock lock(tree.mutex);
  if (node->parent == nullptr && limit > tree.capacity) {
    throw InvalidArgument(fmt::format("[set_limit] a limit of {} on '{}', which has {} in all",
                                      limit == kUnlimited ? "nothing" : format_bytes(limit),
                                      node->path, format_bytes(tree.capacity)));
  }
  const auto set = [&] {
    node->limit = limit;
    tree.add_event(LedgerEvent::Kind::limit, limit);
  };
  if (node->guaranteed != 0 && limit > node->limit) {
    BudgetNode* refuser = tree.with_relief(lock, limit - node->limit,
                                           [&] { return tree.try_guarantee(node, limit); });
    if (refuser == nullptr) return set();
    throw InvalidArgument(fmt::format(
        "[set_limit] the limit of '{}' cannot be raised to {}: '{}' has only {} left to promise; "
        "raise its limit first",
        node->path, format_bytes(limit), refuser->path,
        format_bytes(MemoryTree::available(refuser))));
  }

  // Each measure is followed by another look: others may free or take memory meanwhile.
  auto fits = [&] {
    for (;;) {
      if (node->held <= limit) {
        if (node->guaranteed != 0) tree.try_guarantee(node, limit);
        set();
        return true;
      }
      if (tree.reclaim(node, std::min(node->held - limit, kReclaimed), nullptr) == 0) return false;
      lock.unlock();
      lock.lock();
    }
  };

  if (fits()) return;
  if (tree.wait_for_fences(lock, node) && fits()) return;
  // With the lock held, as it is whenever this scope is left.
  struct Coming {
    Coming(BudgetNode& of, Bytes limit) : node(of), before(node.coming_limit) {
      node.coming_limit = limit;
    }
    ~Coming() { node.coming_limit = before; }
    BudgetNode& node;
    const std::optional<Bytes> before;
  };
  {
    const Coming coming(*node, limit);
    for (const auto& relief : tree.reliefs(node)) {
      const Bytes wanted = node->held - std::min(limit, node->held);
      lock.unlock();
      try {
        relief->call(wanted);
      } catch (...) {
        lock.lock();
        throw;
      }
      lock.lock();
      if (fits()) return;
    }
  }

  const Bytes promised = node->held - node->used;
  std::string message =
      fmt::format("[set_limit] the limit of '{}' cannot be lowered to {}: {} is in use{}",
                  node->path, format_bytes(limit), format_bytes(node->used),
                  promised == 0 ? "" : fmt::format(", and {} is promised", format_bytes(promised)));
  int shown = 0;
  for (const auto& [path, bytes] : tree.guarantees(node)) {
    if (++shown > 5) break;
    message += fmt::format("\n  {:>10}  promised to '{}'", format_bytes(bytes), path);
  }
  shown = 0;
  for (const Holder& h : tree.holders(node->path, false)) {
    if (++shown > 5) break;
    message += fmt::format("\n  {:>10}  {} '{}'", format_bytes(h.bytes), tag_name(h.tag), h.label);
  }
  message += fmt::format("\n  release some of these first; the limit stays {}",
                         node->limit == kUnlimited ? "unset" : format_bytes(node->limit));
  lock.unlock();
  throw InvalidArgument(message);
}

Guarantee Budget::guarantee() const {
  MemoryTree& tree = *handle("guarantee")->tree;
  BudgetNode* node = handle_->node;
  MemoryTree::Lock lock(tree.mutex);
  if (node->limit == kUnlimited || node->limit == 0 || node->parent == nullptr ||
      !node->has_pages || node->guaranteed != 0) {
    throw InvalidArgument(fmt::format(
        "[guarantee] '{}' needs a limit, a parent, an arena of its own, and no guarantee yet",
        node->path));
  }
  const Bytes bytes = node->limit;
  BudgetNode* refuser =
      tree.with_relief(lock, bytes, [&] { return tree.try_guarantee(node, bytes); });
  if (refuser != nullptr) {
    LedgerEntry asking{node->path, Tag::user, "guarantee", node};
    throw_out_of_memory(tree, lock, bytes, &asking, refuser, {}, nullptr);
  }
  Guarantee guarantee;
  guarantee.budget_ = handle_;
  return guarantee;
}

Account Budget::account(Tag tag, std::string_view label) const {
  MemoryTree::Lock lock(handle("account")->tree->mutex);
  Account account;
  account.budget_ = handle_;
  account.entry_ = handle_->tree->entry(handle_->node, tag, label);
  return account;
}

Reservation Budget::reserve(Bytes bytes) const {
  Reservation reservation;
  if (bytes == 0) return reservation;
  MemoryTree& tree = *handle("reserve")->tree;
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
  MemoryTree& tree = *handle("charge")->tree;
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
  handle.budget_ = this->handle("on_relief");
  handle.entry_ = std::make_shared<ReliefHandle::Entry>();
  handle.entry_->order = order;
  handle.entry_->name = name;
  handle.entry_->function = std::move(relief);
  MemoryTree::Lock lock(handle_->tree->mutex);
  handle.entry_->sequence = handle_->tree->next_sequence();
  handle_->node->reliefs.push_back(handle.entry_);
  return handle;
}

RemedyHandle Budget::remedy(std::string_view text, Bytes frees) const {
  RemedyHandle handle;
  handle.budget_ = this->handle("remedy");
  handle.entry_ = std::make_shared<RemedyHandle::Entry>();
  handle.entry_->text = text;
  handle.entry_->bytes = frees;
  MemoryTree::Lock lock(handle_->tree->mutex);
  handle_->node->remedies.push_back(handle.entry_);
  return handle;
}

RemedyHandle Budget::remedy(std::string_view text, const Account& of, double share) {
  if (!of.valid()) throw InvalidArgument("[remedy] the account is empty");
  RemedyHandle handle = Budget(of.budget_).remedy(text, 0);
  MemoryTree::Lock lock(of.budget_->tree->mutex);
  handle.entry_->line = of.entry_;
  handle.entry_->share = share;
  return handle;
}

std::vector<Budget> Budget::children() const {
  std::vector<Budget> result;
  MemoryTree::Lock lock(handle("children")->tree->mutex);
  for (const BudgetNode* c : handle_->node->children) {
    if (auto h = c->handle.lock()) result.push_back(Budget(std::move(h)));
  }
  return result;
}

Ledger Budget::ledger() const { return Ledger(handle("ledger")->tree); }

bool Budget::operator==(const Budget& other) const {
  if (handle_ == nullptr || other.handle_ == nullptr) return handle_ == other.handle_;
  return handle_->node == other.handle_->node;
}

}  // namespace plimsoll
