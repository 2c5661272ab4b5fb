#pragma once

#include <cstdint>
#include <vector>

#include "plan/placement_problem.h"

namespace plimsoll::plan {

/// Placed items, kept by time so that those beside a new one are found quickly.
class Strip {
 public:
  struct Span {
    Units begin = 0;
    Units end = 0;
    std::int32_t item = 0;
  };

  explicit Strip(const Problem& problem);

  void insert(std::int32_t item, Units offset);
  /// `item` must be placed.
  void erase(std::int32_t item);
  void clear();

  bool placed(std::int32_t item) const { return offsets_[static_cast<std::size_t>(item)] >= 0; }
  /// -1 for items that are not placed.
  Units offset(std::int32_t item) const { return offsets_[static_cast<std::size_t>(item)]; }
  const std::vector<Units>& offsets() const { return offsets_; }

  /// The placed items that are live together with `item`, by their offsets. Valid until the next
  /// call.
  const std::vector<Span>& beside(std::int32_t item);

 private:
  struct Entry {
    Units begin;
    Units end;
    std::int32_t first;
    std::int32_t last;
    std::int32_t item;
  };

  std::int32_t bucket(std::int32_t section) const { return section / width_; }

  const Problem& problem_;
  std::int32_t width_ = 1;  ///< sections in a bucket
  std::vector<std::vector<Entry>> buckets_;
  std::vector<Units> offsets_;
  std::vector<Span> beside_;
};

enum class Fit { lowest, tightest };

/// The offset for `item` beside `spans` (by their beginnings): the lowest free one, or the one in
/// the gap that it fills best, all ending at `limit` or below. -1 if there is none.
Units find_gap(const Problem& problem, const Item& item, const std::vector<Strip::Span>& spans,
               Fit fit, Units limit);

}  // namespace plimsoll::plan
