#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

/// Numbers by address, for readers of traces: open addressing, one array, nothing allocated per
/// entry. std::unordered_map takes three times as long here. Zero is not a key. Not thread-safe.
class PointerMap {
 public:
  /// The value of `key`, or null. Valid until the next insert or erase.
  const std::uint32_t* find(std::uint64_t key) const {
    for (std::size_t i = home(key);; i = next(i)) {
      if (cells_[i].key == key) return &cells_[i].value;
      if (cells_[i].key == 0) return nullptr;
    }
  }

  /// Adds a key that is not there.
  void insert(std::uint64_t key, std::uint32_t value) {
    if (2 * ++size_ > cells_.size()) grow();
    place({key, value});
  }

  /// Removes a key that is there, by its `value` as find() returned it.
  void erase(const std::uint32_t* value) {
    const auto* const cells = reinterpret_cast<const char*>(cells_.data());
    std::size_t hole =
        static_cast<std::size_t>(reinterpret_cast<const char*>(value) - cells) / sizeof(Cell);
    // Later entries of the same run move back, so that a search never meets a gap too early.
    for (std::size_t i = next(hole); cells_[i].key != 0; i = next(i)) {
      const std::size_t from_home = (i - home(cells_[i].key)) & (cells_.size() - 1);
      const std::size_t from_hole = (i - hole) & (cells_.size() - 1);
      if (from_home >= from_hole) {
        cells_[hole] = cells_[i];
        hole = i;
      }
    }
    cells_[hole].key = 0;
    --size_;
  }

  std::size_t size() const { return size_; }

 private:
  struct Cell {
    std::uint64_t key = 0;
    std::uint32_t value = 0;
  };

  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> shift_);
  }
  std::size_t next(std::size_t i) const { return (i + 1) & (cells_.size() - 1); }

  void place(Cell cell) {
    std::size_t i = home(cell.key);
    while (cells_[i].key != 0) i = next(i);
    cells_[i] = cell;
  }

  void grow() {
    std::vector<Cell> old(cells_.size() * 2);
    old.swap(cells_);
    --shift_;
    for (const Cell& cell : old) {
      if (cell.key != 0) place(cell);
    }
  }

  static constexpr int kFirstBits = 10;
  std::vector<Cell> cells_ = std::vector<Cell>(std::size_t{1} << kFirstBits);
  int shift_ = 64 - kFirstBits;
  std::size_t size_ = 0;
};

}  // namespace plimsoll
