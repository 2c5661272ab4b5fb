#include "plan/range_check.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>

namespace plimsoll::plan {
namespace {

constexpr int kPattern = 0xFF;
constexpr Bytes kBlock = KiB(64);
constexpr std::int64_t kBlocksPerThread = 32;

std::uint64_t hash_bytes(const std::byte* data, Bytes bytes) {
  // Four chains, as one would wait for its multiplications.
  std::array<std::uint64_t, 4> h = {1, 2, 3, 4};
  Bytes i = 0;
  for (; i + 32 <= bytes; i += 32) {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), data + i, 32);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      h[lane] = (h[lane] ^ words[lane]) * 0x9E3779B97F4A7C15ULL;
      h[lane] ^= h[lane] >> 29;
    }
  }
  std::uint64_t all = h[0] ^ (h[1] * 3) ^ (h[2] * 5) ^ (h[3] * 7);
  for (; i < bytes; ++i) all = (all ^ static_cast<std::uint64_t>(data[i])) * 0x100000001B3ULL;
  return all;
}

}  // namespace

RangeCheck::RangeCheck(const Plan& plan, void* range)
    : plan_(plan),
      range_(static_cast<std::byte*>(range)),
      use_(follow_range(plan)),
      hashes_((plan.range + kBlock - 1) / kBlock) {}

Piece RangeCheck::block(std::size_t index) const {
  const Bytes offset = index * kBlock;
  return {offset, std::min(kBlock, plan_.range - offset)};
}

std::uint64_t RangeCheck::hash(const Piece& piece) const {
  return hash_bytes(range_ + piece.offset, piece.bytes);
}

void RangeCheck::rehash(const Piece& piece) {
  if (piece.bytes == 0) return;
  const std::size_t first = piece.offset / kBlock;
  const std::size_t last = (piece.offset + piece.bytes - 1) / kBlock;
  parallel_for(static_cast<std::int64_t>(last - first + 1), kBlocksPerThread,
               [&](std::int64_t a, std::int64_t b) {
                 for (auto i = first + static_cast<std::size_t>(a);
                      i < first + static_cast<std::size_t>(b); ++i) {
                   hashes_[i] = hash(block(i));
                 }
               });
}

void RangeCheck::begin() { std::memset(range_, kPattern, plan_.range); }

void RangeCheck::before(std::size_t task) {
  if (task == 0) rehash({0, plan_.range});  // the inputs are there now
  edges_.clear();
  untouched_.clear();
  const auto gap = [&](Bytes from, Bytes to) {
    const Bytes first = std::min(align_up(from, kBlock), to);
    const Bytes last = to == plan_.range ? to : std::max(align_down(to, kBlock), first);
    for (Bytes at = first; at < last; at += kBlock) untouched_.push_back(at / kBlock);
    if (from < first) edges_.push_back({{from, first - from}, 0});
    if (last < to) edges_.push_back({{last, to - last}, 0});
  };
  Bytes at = 0;
  for (const Piece& piece : use_.written[task]) {
    if (piece.offset > at) gap(at, piece.offset);
    at = std::max(at, piece.offset + piece.bytes);
  }
  if (at < plan_.range) gap(at, plan_.range);
  for (Edge& edge : edges_) edge.hash = hash(edge.piece);
}

void RangeCheck::fail(std::size_t task, Bytes offset) const {
  throw InternalError(fmt::format(
      "[Executor] task {} ({}) wrote outside its outputs, at or after byte {} of the range", task,
      plan_.graph->node(plan_.tasks[task].node).op->name, offset));
}

void RangeCheck::after(std::size_t task) {
  for (const Edge& edge : edges_) {
    if (hash(edge.piece) != edge.hash) fail(task, edge.piece.offset);
  }
  std::atomic<std::size_t> changed{hashes_.size()};
  parallel_for(static_cast<std::int64_t>(untouched_.size()), kBlocksPerThread,
               [&](std::int64_t a, std::int64_t b) {
                 for (auto i = static_cast<std::size_t>(a); i < static_cast<std::size_t>(b); ++i) {
                   if (hash(block(untouched_[i])) != hashes_[untouched_[i]]) {
                     changed = untouched_[i];
                   }
                 }
               });
  if (changed != hashes_.size()) fail(task, changed * kBlock);
  for (const Piece& piece : use_.freed[task]) {
    std::memset(range_ + piece.offset, kPattern, piece.bytes);
    rehash(piece);
  }
  for (const Piece& piece : use_.written[task]) rehash(piece);
}

}  // namespace plimsoll::plan
