#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <plimsoll/ops/fused.h>
#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

/// Neighbouring tasks of a plan that one launch stands for.
struct FusedLaunch {
  std::size_t first = 0;  ///< task
  std::size_t count = 0;  ///< at least two
  const ops::FusedPattern* pattern = nullptr;
  /// Whether a later task or the caller reads what the first task of a chain hands on.
  bool between = true;
};

/// What can be fused by `patterns`, the first that fits before others, without changing what any
/// task reads: where a plan has put results over memory that is free by then, the tasks stay apart,
/// as do those between which a copy to or from the host begins or is waited for. The plan itself
/// stays as it is.
std::vector<FusedLaunch> fused_launches(const Plan& plan,
                                        std::span<const ops::FusedPattern* const> patterns);

/// By task of the plan: whether it is in one of the launches.
std::vector<bool> fused_tasks(std::span<const FusedLaunch> launches, const Plan& plan);

}  // namespace plimsoll::plan
