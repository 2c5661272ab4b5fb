#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/data/dataset.h>
#include <plimsoll/data/element.h>

namespace plimsoll::data {

class Engine;

/// Puts rows together as one element: each component gets a first dimension.
class Collator {
 public:
  /// `who` speaks in errors. Without padding, rows must have equal shapes.
  explicit Collator(std::string who, std::optional<PaddedBatchOptions> padding = std::nullopt)
      : who_(std::move(who)), padding_(std::move(padding)) {}

  /// Throws DataError unless `row` goes together with `first` (may be the same) and with the
  /// padding.
  void check(const Element& first, const Element& row) const;

  /// Bytes of the result's numbers, without byte strings.
  Bytes nbytes(const std::vector<const Element*>& rows) const;

  /// The batch of `rows`, at least one, which have passed check(). Takes its memory before anything
  /// else; throws OutOfMemory.
  Element collate(const std::vector<const Element*>& rows, const Engine& engine,
                  const TensorOptions& options) const;

 private:
  /// What component `c` is padded to and with; null where that is not said.
  const std::vector<std::int64_t>* target(std::size_t c) const;
  const Value* filling(std::size_t c) const;
  void check_padding(const Element& row, std::size_t c) const;
  /// The shape that component `c` of all rows gets.
  Shape row_shape(const std::vector<const Element*>& rows, std::size_t c) const;
  Value numbers(const std::vector<const Element*>& rows, std::size_t c, const Engine& engine,
                const TensorOptions& options) const;
  Value strings(const std::vector<const Element*>& rows, std::size_t c, const Engine& engine,
                const TensorOptions& options) const;

  std::string who_;
  std::optional<PaddedBatchOptions> padding_;
};

}  // namespace plimsoll::data
