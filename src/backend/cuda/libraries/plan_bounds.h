#pragma once

#include <plimsoll/base/bytes.h>

namespace plimsoll::cuda {

/// More than any device has.
inline constexpr Bytes kAnyWorkspace = GiB(1024);

/// What a plan of cuDNN's may be. The library chooses among those that take at most `offered` bytes
/// of workspace, and its choice serves if it takes at most `limit`: where more is offered, the
/// library's fastest is taken or none.
struct PlanBounds {
  // NOLINTNEXTLINE(google-explicit-constructor): a limit is all that most callers have
  PlanBounds(Bytes most) : limit(most), offered(most) {}
  PlanBounds(Bytes most, Bytes on_offer, bool only_matrix_units)
      : limit(most), offered(on_offer), matrix_units(only_matrix_units) {}

  Bytes limit;
  Bytes offered;
  bool matrix_units = false;  ///< only kernels that compute with them
};

}  // namespace plimsoll::cuda
