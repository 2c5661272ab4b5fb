#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include <plimsoll/base/dtype.h>

namespace plimsoll::ops {

/// A number beside a tensor, as it was written: integers stay exact where doubles no longer count
/// one by one.
class Scalar {
 public:
  template <typename N>
  requires std::is_arithmetic_v<N> Scalar(N number)  // NOLINT: `x + 1` should read like that
      : number_(static_cast<double>(number)) {
    if constexpr (std::is_same_v<N, bool>) {
      whole_ = number ? 1 : 0;
    } else if constexpr (std::is_integral_v<N>) {
      if (std::is_signed_v<N> || static_cast<std::int64_t>(number) >= 0) {
        whole_ = static_cast<std::int64_t>(number);
      }
    }
  }

  /// The nearest double.
  double number() const { return number_; }
  /// What was written as an integer; nullopt for floats and for what does not fit in 64 bits.
  std::optional<std::int64_t> whole() const { return whole_; }
  /// True for an integer that a double need not have.
  bool is_large() const {
    return whole_ && (*whole_ > (std::int64_t{1} << 53) || *whole_ < -(std::int64_t{1} << 53));
  }

 private:
  double number_;
  std::optional<std::int64_t> whole_;
};

/// Whether `dtype` has that number: integer dtypes have whole numbers in their range (floats as far
/// as doubles count one by one), bool has 0 and 1, and the others take any.
bool has_number(DType dtype, const Scalar& number);
/// "1.5", "9007199254740993"
std::string to_string(const Scalar& number);

}  // namespace plimsoll::ops
