#include "plan/range_check.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "plan/step_model.h"

namespace plimsoll::plan {
namespace {

constexpr int kPattern = 0xFF;

std::uint64_t hash(const std::byte* data, Bytes bytes, std::uint64_t h) {
  Bytes i = 0;
  for (; i + 8 <= bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + i, 8);
    h = (h ^ word) * 0x9E3779B97F4A7C15ULL;
    h ^= h >> 29;
  }
  for (; i < bytes; ++i) h = (h ^ static_cast<std::uint64_t>(data[i])) * 0x100000001B3ULL;
  return h;
}

}  // namespace

RangeCheck::RangeCheck(const Plan& plan, void* range)
    : plan_(plan),
      range_(static_cast<std::byte*>(range)),
      written_(plan.tasks.size()),
      freed_(plan.tasks.size()) {
  // Where each piece is last touched, from the tasks' own words.
  std::map<Bytes, std::pair<Bytes, std::size_t>> last;  // offset -> bytes, task
  const auto touch = [&](Bytes offset, Bytes bytes, std::size_t task) {
    // Whatever lay there before and overlaps is gone by now.
    for (auto it = last.begin(); it != last.end();) {
      const bool overlaps = it->first < offset + bytes && offset < it->first + it->second.first;
      const bool same = it->first == offset && it->second.first == bytes;
      if (overlaps && !same && it->second.second < task) {
        freed_[it->second.second].push_back({it->first, it->second.first});
        it = last.erase(it);
      } else {
        ++it;
      }
    }
    last[offset] = {bytes, task};
  };
  const auto bytes_of = [&](const Place& place) {
    return aligned(plan.graph->value(place.value).type.bytes());
  };
  for (const Place& place : plan.inputs) {
    if (!place.persistent) touch(place.offset, bytes_of(place), 0);
  }
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    const PlannedTask& task = plan.tasks[t];
    for (const Place& place : task.inputs) {
      if (!place.persistent) touch(place.offset, bytes_of(place), t);
    }
    for (const Place& place : task.outputs) {
      if (place.persistent) continue;
      touch(place.offset, bytes_of(place), t);
      written_[t].push_back({place.offset, bytes_of(place)});
    }
    if (task.workspace != 0) written_[t].push_back({task.workspace_offset, task.workspace});
    std::sort(written_[t].begin(), written_[t].end(),
              [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
  }
}

void RangeCheck::begin() { std::memset(range_, kPattern, plan_.range); }

std::uint64_t RangeCheck::hash_outside(std::size_t task) const {
  std::uint64_t h = 1;
  Bytes at = 0;
  for (const Piece& piece : written_[task]) {
    if (piece.offset > at) h = hash(range_ + at, piece.offset - at, h);
    at = std::max(at, piece.offset + piece.bytes);
  }
  return hash(range_ + at, plan_.range - at, h);
}

void RangeCheck::before(std::size_t task) { before_ = hash_outside(task); }

void RangeCheck::after(std::size_t task) {
  if (hash_outside(task) != before_) {
    throw InternalError(fmt::format("[Executor] task {} ({}) wrote outside its outputs", task,
                                    plan_.graph->node(plan_.tasks[task].node).op->name));
  }
  for (const Piece& piece : freed_[task]) std::memset(range_ + piece.offset, kPattern, piece.bytes);
}

}  // namespace plimsoll::plan
