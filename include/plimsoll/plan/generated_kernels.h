#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

/// Kernels of a plan that each stand for a chain of pointwise ops, and are alike.
struct GeneratedKernels {
  int count = 0;
  std::vector<std::string_view> ops;  ///< of one of them, in the order in which they run
  std::int64_t elements = 0;          ///< of every result
  double bytes = 0;  ///< that one reads and writes: each array it reads once, each result once
  double apart_bytes = 0;  ///< what its ops would one by one
  double seconds = 0;      ///< predicted for one
  double apart_seconds = 0;

  /// "a kernel for scale, sigmoid, mul: 192 MiB instead of 448 MiB, 0.0512 ms predicted instead of
  /// 0.121"
  std::string to_string() const;
};

/// Those that a step of the plan is expected to run, the ones that take longest together first.
/// Empty for devices that no kernels are generated for, such as the CPU.
std::vector<GeneratedKernels> generated_kernels(const Plan& plan);
/// A line for each of them; the last ones share a line where there are many.
std::vector<std::string> generated_lines(const Plan& plan);

/// What each task of a plan takes as predicted. Tasks that run as one launch share what that takes.
std::vector<double> task_seconds(const Plan& plan);
/// The same where the graph's nodes take `node_seconds` when each is launched by itself, measured
/// say: a launch for several of them takes the same part of that as is predicted.
std::vector<double> task_seconds(const Plan& plan, std::span<const double> node_seconds);

}  // namespace plimsoll::plan
