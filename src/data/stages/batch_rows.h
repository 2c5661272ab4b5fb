#pragma once

#include <cstdint>

namespace plimsoll::data {

/// A node that puts elements together.
class BatchRows {
 public:
  virtual ~BatchRows() = default;
  /// Elements of a full batch.
  virtual std::int64_t rows() const = 0;
  /// True if a last one that is not full is left out.
  virtual bool drops_remainder() const = 0;
};

}  // namespace plimsoll::data
