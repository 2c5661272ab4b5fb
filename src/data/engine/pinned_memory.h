#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/device/device.h>
#include <plimsoll/tensor/tensor.h>

#include "data/engine/engine.h"

namespace plimsoll::data {

/// Host memory of a pipeline that a device's copy engines read directly: buffers, and batches that
/// are put together there, so that nothing is copied on the host on their way to the device. All of
/// it is of the pipeline's budget. Thread-safe.
class PinnedMemory : public std::enable_shared_from_this<PinnedMemory> {
 public:
  /// For copies to `device`; `title` labels what is on its way there.
  PinnedMemory(const Engine& engine, Device device, std::string title);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// A buffer, charged as staging; empty where that would leave the others less than they need.
  Block buffer(Bytes bytes);

  /// Tensors of one batch, charged to Tag::input as `label`; nullopt where there is no room for
  /// pinned memory, so that the batch has to do with other memory. They are not to be handed to the
  /// consumer.
  std::optional<std::vector<Tensor>> make(std::span<const TensorType> types,
                                          const std::string& label);

  /// Whether all the tensors are of make().
  bool owns(std::span<const Tensor> tensors) const;
  /// They are on their way until `fence` is passed, charged as staging; then they are let go.
  void keep_until(std::shared_ptr<Fence> fence, std::vector<Tensor> tensors);
  /// Lets go what has arrived.
  void sweep();
  /// Waits for all that is on its way, lets it go, and gives free pages back. Returns their bytes.
  Bytes release();

 private:
  struct Flight {
    std::shared_ptr<Fence> fence;
    std::vector<Tensor> tensors;
  };

  Block allocate(Bytes bytes, Tag tag, const std::string& label);
  /// With the mutex.
  std::shared_ptr<Block> find(const Tensor& tensor) const;

  const Engine& engine_;
  const Device device_;
  const std::string title_;
  mutable std::mutex mutex_;
  std::unique_ptr<Arena> arena_;
  std::map<const std::byte*, std::weak_ptr<Block>> batches_;  ///< by where they begin
  std::vector<Flight> flights_;
};

/// A stage that makes batches, or hands those of its input on as they are.
class PinnedBatches {
 public:
  virtual ~PinnedBatches() = default;
  /// Has batches put together in `memory` where that has room. Called once, before the first
  /// element; whoever takes the batches copies them to the device and keeps none.
  virtual void assemble_in(const std::shared_ptr<PinnedMemory>& memory) = 0;

  /// The same for a stage that may be one.
  static void offer(Stage& stage, const std::shared_ptr<PinnedMemory>& memory) {
    auto* const batches = dynamic_cast<PinnedBatches*>(&stage);
    if (batches != nullptr) batches->assemble_in(memory);
  }
};

}  // namespace plimsoll::data
