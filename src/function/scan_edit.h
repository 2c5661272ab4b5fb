#pragma once

#include <vector>

#include <plimsoll/ops/scan.h>

// Changes to a scan's body that leave its results as they are.

namespace plimsoll::scanning {

/// Nodes read `instead`, which is the same, where they read `value`.
void read_instead(ops::ScanBody& body, int value, int instead);

/// Without nodes that lead to no result.
void drop_unused(ops::ScanBody& body);

/// Inputs of a body, each by its number among those of its kind.
struct BodyInputs {
  std::vector<int> delayed;
  std::vector<int> xs;
  std::vector<int> shared;
};
/// Without inputs that no node reads, but for states. Returns those that are left.
BodyInputs drop_unused_inputs(ops::ScanBody& body);

}  // namespace plimsoll::scanning
