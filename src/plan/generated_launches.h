#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <plimsoll/device/device.h>
#include <plimsoll/ops/pointwise.h>

#include "plan/pointwise_groups.h"

namespace plimsoll::plan {

/// Launches of an executor that one generated kernel each stands for. Empty until they are
/// compiled.
class GeneratedLaunches {
 public:
  struct Launch {
    std::size_t first = 0;  ///< task
    std::size_t count = 0;
    std::vector<const void*> arrays;
    std::vector<void*> written;
  };

  /// Where a task finds an input, or puts an output.
  using AddressOf = std::function<void*(const TaskPlace& place)>;

  /// Compiles a kernel for each of a plan's groups, in one program, where the device's backend can;
  /// what cannot be compiled or loaded, or has no room, runs task by task.
  void compile(const Device& device, std::span<const PointwiseTasks> found, const AddressOf& input,
               const AddressOf& output);
  /// Whether the device's backend has a compiler.
  static bool possible(const Device& device);

  /// By rising task.
  std::span<const Launch> all() const { return launches_; }
  /// Submits all()[index].
  void run(std::size_t index, void* queue) const {
    program_->run(index, launches_[index].arrays, launches_[index].written, queue);
  }

 private:
  bool charge(const Device& device, Bytes bytes);

  Charge charge_;  ///< goes after the program
  std::shared_ptr<const ops::PointwiseProgram> program_;
  std::vector<Launch> launches_;
};

}  // namespace plimsoll::plan
