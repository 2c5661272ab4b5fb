#pragma once

#include <memory>
#include <vector>

#include <plimsoll/device/device.h>

namespace plimsoll::plan {

/// Copies of a step between a device and the host's memory, on a queue each way beside the stream
/// that computes. Gives work to the device and never waits itself, so that it can be recorded.
class CopyQueues {
 public:
  struct Copy {
    bool out = false;  ///< to the host
    void* device = nullptr;
    void* host = nullptr;
    Bytes bytes = 0;
    int begins = 0;  ///< before this task
    int needed = 0;
  };

  /// `copies` by `begins`, as Plan::copies has them. The streams are made by the caller.
  CopyQueues(const Device& device, StreamId compute, StreamId to_host, StreamId from_host,
             std::vector<Copy> copies);

  /// To be called before every task in turn, and once with their number: lets copies begin, and
  /// makes the compute stream wait for those that the task needs.
  void before(int task);

 private:
  void begin(int task, bool out);
  void wait(int task, bool out);

  Device device_;
  StreamId compute_;
  StreamId to_host_;
  StreamId from_host_;
  std::vector<Copy> copies_;
  std::vector<std::size_t> by_need_;            ///< indices into copies_
  std::vector<std::shared_ptr<Fence>> fences_;  ///< of copies that were begun in this step
  std::size_t next_ = 0;
  std::size_t next_needed_ = 0;
};

}  // namespace plimsoll::plan
