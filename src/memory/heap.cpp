#include <plimsoll/memory/heap.h>

#include <mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll {

struct Heap::State {
  struct Piece {
    Block block;
    Bytes bytes = 0;
  };

  State(Arena& from, Account charged) : arena(from), account(std::move(charged)) {}

  Arena& arena;
  Account account;
  mutable std::mutex mutex;
  Bytes live = 0;
  std::unordered_map<void*, Piece> pieces;
};

Heap::Heap(Arena& arena, Account account)
    : state_(std::make_unique<State>(arena, std::move(account))) {}

Heap::~Heap() = default;

void* Heap::allocate(Bytes bytes) {
  // The arena is asked outside the lock: relief may free from this heap.
  Block block = state_->arena.allocate(bytes == 0 ? 1 : bytes, state_->account);
  void* const pointer = block.data();
  const std::lock_guard lock(state_->mutex);
  state_->pieces.try_emplace(pointer, State::Piece{std::move(block), bytes});
  state_->live += bytes;
  return pointer;
}

void Heap::free(void* pointer) {
  if (pointer == nullptr) return;
  State::Piece piece;  // released after the lock
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->pieces.find(pointer);
  if (found == state_->pieces.end()) {
    throw InvalidArgument(fmt::format("[heap] free of {}, which is not allocated here", pointer));
  }
  piece = std::move(found->second);
  state_->pieces.erase(found);
  state_->live -= piece.bytes;
}

Bytes Heap::live() const {
  const std::lock_guard lock(state_->mutex);
  return state_->live;
}

}  // namespace plimsoll
