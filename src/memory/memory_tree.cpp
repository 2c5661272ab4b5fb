#include "memory/memory_tree.h"

#include <algorithm>

#include <plimsoll/base/error.h>

#include "memory/arena_state.h"

namespace plimsoll {

MemoryTree::MemoryTree(std::string_view root_name, Bytes limit, Bytes most) : capacity(most) {
  add_node(nullptr, root_name, limit);
}

BudgetNode* MemoryTree::add_node(BudgetNode* parent, std::string_view name, Bytes limit) {
  auto node = std::make_unique<BudgetNode>();
  node->name = name;
  node->limit = limit;
  node->parent = parent;
  if (parent != nullptr) {
    auto taken = [&](const std::string& candidate) {
      return std::any_of(parent->children.begin(), parent->children.end(),
                         [&](const BudgetNode* c) { return c->name == candidate; });
    };
    for (int i = 2; taken(node->name); ++i)
      node->name = std::string(name) + "#" + std::to_string(i);
    node->path = parent->path + "/" + node->name;
    parent->children.push_back(node.get());
  } else {
    node->path = node->name;
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

void MemoryTree::drop_if_unused(BudgetNode* node) {
  while (node != nullptr && node->parent != nullptr) {
    if (node->open || node->used != 0 || !node->children.empty() || node->arena != nullptr) return;
    for (const auto& [key, e] : entries_) {
      if (e->node != node) continue;
      e->node = nullptr;
      e->arena = nullptr;
    }
    BudgetNode* parent = node->parent;
    std::erase(parent->children, node);
    std::erase_if(nodes_, [&](const auto& n) { return n.get() == node; });
    node = parent;
  }
}

LedgerEntry* MemoryTree::entry(BudgetNode* node, Tag tag, std::string_view label) {
  std::string key = node->path;
  key += '\n';
  key += static_cast<char>('a' + static_cast<int>(tag));
  key += label;
  auto& slot = entries_[key];
  if (!slot) {
    slot = std::make_unique<LedgerEntry>();
    slot->budget = node->path;
    slot->tag = tag;
    slot->label = label;
    slot->seen_peak = peak_id_;  // it held nothing at the peak so far
  }
  if (slot->node != node) slot->arena = nullptr;
  slot->node = node;
  return slot.get();
}

Bytes MemoryTree::available(const BudgetNode* node) {
  const Bytes own =
      node->limit == kUnlimited ? kUnlimited : node->limit - std::min(node->limit, node->held);
  if (node->parent == nullptr) return own;
  // What is guaranteed here and unused is taken from nobody.
  const Bytes above = available(node->parent);
  const Bytes spare = node->owed() - node->held;
  return std::min(own, above > kUnlimited - spare ? kUnlimited : above + spare);
}

bool MemoryTree::is_under(const BudgetNode* node, const BudgetNode* ancestor) {
  while (node != nullptr && node != ancestor) node = node->parent;
  return node != nullptr;
}

bool MemoryTree::gives_to(const BudgetNode* node, const BudgetNode* ancestor) {
  while (node != nullptr && node != ancestor && node->guaranteed == 0) node = node->parent;
  return node == ancestor;
}

BudgetNode* MemoryTree::arena_node(BudgetNode* node) {
  while (node != nullptr && !node->has_pages) node = node->parent;
  return node;
}

BudgetNode* MemoryTree::reserve(BudgetNode* node, BudgetNode* pages, Bytes bytes) {
  if (BudgetNode* refuser = try_charge(node, pages, bytes)) return refuser;
  if (pages != nullptr) {
    const PageAccount p = pages->pages;
    if (BudgetNode* refuser = set_pages(pages, p.mapped, p.live, p.reserved + bytes)) {
      uncharge(node, pages, bytes);
      return refuser;
    }
  }
  node->reserved_here += bytes;
  return nullptr;
}

void MemoryTree::unreserve(BudgetNode* node, BudgetNode* pages, Bytes bytes) {
  uncharge(node, pages, bytes);
  if (pages != nullptr) {
    const PageAccount p = pages->pages;
    set_pages(pages, p.mapped, p.live, p.reserved - bytes);
  }
  node->reserved_here -= bytes;
}

BudgetNode* MemoryTree::with_relief(Lock& lock, Bytes bytes,
                                    const std::function<BudgetNode*()>& attempt) {
  auto reclaiming = [&] {
    BudgetNode* refuser = attempt();
    while (refuser != nullptr && reclaim(refuser, bytes, nullptr) > 0) refuser = attempt();
    return refuser;
  };
  BudgetNode* refuser = reclaiming();
  if (refuser != nullptr && wait_for_fences(lock, refuser)) refuser = reclaiming();
  if (refuser == nullptr) return nullptr;
  for (const auto& relief : reliefs(refuser)) {
    lock.unlock();
    relief->call(bytes);
    lock.lock();
    refuser = reclaiming();
    if (refuser == nullptr) return nullptr;
  }
  return refuser;
}

Bytes MemoryTree::reclaim(BudgetNode* node, Bytes wanted, const ArenaState* skip) {
  Bytes got = 0;
  if (node->arena != nullptr && node->arena != skip) got = node->arena->reclaim(wanted);
  for (BudgetNode* c : node->children) {
    if (got >= wanted) break;
    if (c->guaranteed != 0) continue;
    got += reclaim(c, wanted - got, skip);
  }
  return got;
}

bool MemoryTree::wait_for_fences(Lock& lock, BudgetNode* node) {
  std::vector<std::shared_ptr<Fence>> fences;
  for (const auto& n : nodes_) {
    if (n->arena == nullptr || !gives_to(n.get(), node)) continue;
    auto more = n->arena->fences();
    fences.insert(fences.end(), more.begin(), more.end());
  }
  if (fences.empty()) return false;
  lock.unlock();
  for (const auto& fence : fences) fence->wait();
  lock.lock();
  return true;
}

std::vector<std::shared_ptr<ReliefHandle::Entry>> MemoryTree::reliefs(
    const BudgetNode* node) const {
  std::vector<std::shared_ptr<ReliefHandle::Entry>> found;
  for (const auto& n : nodes_) {
    if (gives_to(n.get(), node)) found.insert(found.end(), n->reliefs.begin(), n->reliefs.end());
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a->order != b->order ? a->order < b->order : a->sequence < b->sequence;
  });
  return found;
}

std::vector<Holder> MemoryTree::holders(std::string_view under, bool at_peak) const {
  std::vector<Holder> result;
  for (const auto& [key, e] : entries_) {
    if (!under.empty() && e->budget != under &&
        !(e->budget.starts_with(under) && e->budget[under.size()] == '/')) {
      continue;
    }
    const bool old = at_peak && e->seen_peak == peak_id_;
    const Bytes bytes = old ? e->at_peak : e->bytes;
    if (bytes == 0) continue;
    result.push_back({e->budget, e->tag, e->label, bytes, old ? e->blocks_at_peak : e->blocks});
  }
  std::sort(result.begin(), result.end(), [](const Holder& a, const Holder& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    if (a.budget != b.budget) return a.budget < b.budget;
    return a.tag != b.tag ? a.tag < b.tag : a.label < b.label;
  });
  return result;
}

std::vector<std::pair<std::string, Bytes>> MemoryTree::guarantees(const BudgetNode* node) const {
  std::vector<std::pair<std::string, Bytes>> result;
  for (const auto& n : nodes_) {
    if (n.get() == node || n->owed() == n->held || !is_under(n.get(), node)) continue;
    result.emplace_back(n->path, n->owed() - n->held);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

std::vector<std::pair<std::string, Bytes>> MemoryTree::remedies(const BudgetNode* node) const {
  std::vector<std::pair<std::string, Bytes>> result;
  for (const auto& n : nodes_) {
    if (!gives_to(n.get(), node)) continue;
    for (const auto& offered : n->remedies) {
      const Bytes frees = offered->frees();
      if (frees == 0) continue;
      const auto same = std::find_if(result.begin(), result.end(), [&](const auto& known) {
        return known.first == offered->text;
      });
      if (same == result.end()) {
        result.emplace_back(offered->text, frees);
      } else {
        same->second += frees;
      }
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

void MemoryTree::reset_peak() {
  peak_ = live_;
  ++peak_id_;
}

std::int64_t MemoryTree::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              start_)
      .count();
}

void MemoryTree::add_event(LedgerEvent::Kind kind, Bytes bytes) {
  if (events_.size() == Ledger::kEvents) events_.pop_front();
  events_.push_back({kind, now_ns(), bytes, live_, mapped_});
}

void MemoryTree::add_mark(std::string_view name, std::int64_t index) {
  if (marks_.size() == Ledger::kMarks) marks_.pop_front();
  marks_.push_back({std::string(name), index, now_ns(), live_, holders({}, false)});
  add_event(LedgerEvent::Kind::mark, 0);
}

void MemoryTree::check() const {
  std::unordered_map<const BudgetNode*, Bytes> expected;
  auto add = [&](const BudgetNode* from, const BudgetNode* to, Bytes bytes) {
    for (; from != to; from = from->parent) expected[from] += bytes;
  };
  Bytes live = 0;
  for (const auto& [key, e] : entries_) {
    live += e->bytes;
    if (e->bytes == 0) continue;
    if (e->node == nullptr) throw InternalError("[check] a holder without a budget: " + e->label);
    add(e->node, arena_node(e->node), e->bytes - e->direct);
    add(e->node, nullptr, e->direct);
  }
  for (const auto& n : nodes_) {
    add(n.get(), arena_node(n.get()), n->reserved_here);
    if (n->has_pages) add(n.get(), nullptr, n->pages.charged);
  }
  for (const auto& n : nodes_) {
    if (expected[n.get()] != n->used) {
      throw InternalError("[check] budget " + n->path + " says " + std::to_string(n->used) +
                          " bytes, its holders have " + std::to_string(expected[n.get()]));
    }
    Bytes held = n->used;
    for (const BudgetNode* c : n->children) held += c->owed() - c->used;
    if (held != n->held) {
      throw InternalError("[check] budget " + n->path + " holds " + std::to_string(n->held) +
                          " bytes; with what it guarantees they are " + std::to_string(held));
    }
    if (n->held > n->limit) throw InternalError("[check] budget " + n->path + " is over its limit");
  }
  if (live != live_) throw InternalError("[check] the ledger's total is not the sum of its lines");
}

}  // namespace plimsoll
