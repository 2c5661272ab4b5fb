#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <plimsoll/plan/placement.h>

namespace plimsoll::testing {

/// How a square is cut into buffers.
struct Cuts {
  int pieces = 200;
  double fill = 0.95;       ///< share of the square that stays; pieces beyond it are left out
  double area_power = 0.5;  ///< a piece is cut with a chance of its area to this power
  double along_time = 0.6;  ///< share of cuts that part sizes, not lifetimes
  double pinwheels = 0;     ///< share of cuts into five that no straight cut can make
};

/// A square of 1024 sizes of 1 KiB and as many times, cut into pieces: they fit into 1 MiB exactly.
inline std::vector<plan::Buffer> cut_square(std::uint64_t seed, const Cuts& cuts) {
  struct Piece {
    std::int64_t lower, upper, bottom, top;
    double area() const { return static_cast<double>((upper - lower) * (top - bottom)); }
  };
  constexpr std::int64_t kSide = 1024;
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  // A whole number in [from, to).
  const auto between = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(uniform() * static_cast<double>(to - from));
  };
  std::vector<Piece> pieces = {{0, kSide, 0, kSide}};
  while (pieces.size() < static_cast<std::size_t>(cuts.pieces)) {
    double total = 0;
    for (const Piece& piece : pieces) total += std::pow(piece.area(), cuts.area_power);
    double at = uniform() * total;
    std::size_t k = 0;
    for (; k + 1 < pieces.size(); ++k) {
      at -= std::pow(pieces[k].area(), cuts.area_power);
      if (at <= 0) break;
    }
    const Piece p = pieces[k];
    const std::int64_t length = p.upper - p.lower;
    const std::int64_t size = p.top - p.bottom;
    const auto replace = [&](const std::vector<Piece>& by) {
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(k));
      pieces.insert(pieces.end(), by.begin(), by.end());
    };
    if (uniform() < cuts.pinwheels) {
      if (length < 8 || size < 8) continue;
      const std::int64_t a = between(p.lower + 1, p.lower + length / 2);
      const std::int64_t b = between(p.lower + length / 2 + 1, p.upper);
      const std::int64_t c = between(p.bottom + 1, p.bottom + size / 2);
      const std::int64_t d = between(p.bottom + size / 2 + 1, p.top);
      replace({{p.lower, b, p.bottom, c},
               {b, p.upper, p.bottom, d},
               {a, p.upper, d, p.top},
               {p.lower, a, c, p.top},
               {a, b, c, d}});
    } else if (uniform() < cuts.along_time) {
      if (size < 2) continue;
      const std::int64_t cut = between(p.bottom + 1, p.top);
      replace({{p.lower, p.upper, p.bottom, cut}, {p.lower, p.upper, cut, p.top}});
    } else {
      if (length < 2) continue;
      const std::int64_t cut = between(p.lower + 1, p.upper);
      replace({{p.lower, cut, p.bottom, p.top}, {cut, p.upper, p.bottom, p.top}});
    }
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  constexpr double kSquare = static_cast<double>(kSide * kSide);
  double left = kSquare;
  std::vector<plan::Buffer> buffers;
  for (const Piece& piece : pieces) {
    const double area = piece.area();
    if (area < 0.012 * kSquare && left - area >= cuts.fill * kSquare) {
      left -= area;
      continue;
    }
    buffers.push_back({.size = static_cast<Bytes>(piece.top - piece.bottom) * 1024,
                       .lower = piece.lower * 1024,
                       .upper = piece.upper * 1024});
  }
  return buffers;
}

/// Sizes log-uniform from 512 B to 16 MiB, exponential lifetimes, about `live` at a time.
inline std::vector<plan::Buffer> random_buffers(std::uint64_t seed, int count, double live) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<plan::Buffer> buffers;
  double time = 0;
  for (int i = 0; i < count; ++i) {
    time -= std::log1p(-uniform()) * 1000;
    const double life = 1 - std::log1p(-uniform()) * 1000 * live;
    buffers.push_back({.size = static_cast<Bytes>(512 * std::pow(32768.0, uniform())),
                       .lower = static_cast<std::int64_t>(time),
                       .upper = static_cast<std::int64_t>(time + life) + 1});
  }
  return buffers;
}

/// What a training step holds: each layer's activations from its forward to its backward pass,
/// gradients and workspaces in between, and some that live throughout.
inline std::vector<plan::Buffer> training_step(std::uint64_t seed, int layers) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<plan::Buffer> buffers;
  const std::int64_t end = 2 * layers + 2;
  for (int i = 0; i < layers; ++i) {
    const auto size = static_cast<Bytes>(std::pow(2.0, 10 + std::floor(14 * uniform())) *
                                         (1 + std::floor(4 * uniform())));
    const std::int64_t backward = 2 * layers - i;
    buffers.push_back({.size = size, .lower = i, .upper = backward + 1});
    buffers.push_back({.size = size, .lower = backward, .upper = backward + 2});
    buffers.push_back({.size = size / 4 + 4, .lower = i, .upper = i + 1});
    if (uniform() < 0.3) buffers.push_back({.size = size / 2, .lower = 0, .upper = end});
    if (uniform() < 0.3) buffers.push_back({.size = size, .lower = i, .upper = i + 3});
  }
  return buffers;
}

/// Empty, or the two buffers that overlap: every pair is looked at.
inline std::string find_overlap(const std::vector<plan::Buffer>& buffers,
                                const plan::Placement& placement) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const plan::Buffer& a = buffers[i];
    if (placement.offsets[i] + a.size > placement.height) return std::to_string(i) + " sticks out";
    for (std::size_t j = 0; j < i; ++j) {
      const plan::Buffer& b = buffers[j];
      const bool in_time = a.lower < b.upper && b.lower < a.upper;
      const bool in_bytes = placement.offsets[i] < placement.offsets[j] + b.size &&
                            placement.offsets[j] < placement.offsets[i] + a.size;
      if (in_time && in_bytes) return std::to_string(j) + " and " + std::to_string(i);
    }
  }
  return "";
}

}  // namespace plimsoll::testing
