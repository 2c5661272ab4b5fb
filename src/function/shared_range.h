#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <plimsoll/device/owned_stream.h>
#include <plimsoll/plan/executor.h>

namespace plimsoll {

/// The memory in which the functions of a device compute, one at a time, and their executors, which
/// know where it is.
class SharedRange {
 public:
  /// The one of `device`; it goes with the last function that has it.
  static std::shared_ptr<SharedRange> of(const Device& device);

  explicit SharedRange(const Device& device) : device_(device), stream_(device) {}

  /// Held while one plans or runs.
  std::mutex& mutex() { return mutex_; }
  const Device& device() const { return device_; }
  StreamId stream() const { return stream_.id(); }
  /// What it holds.
  Bytes bytes() const;

  /// The executor known as `key`; null if there is none, or if it went because the range moved.
  plan::Executor* find(std::uint64_t key) const;
  /// Makes one for `plan`. Takes a larger range if it must: all executors go then. Throws
  /// OutOfMemory.
  plan::Executor& add(std::uint64_t key, const plan::Plan& plan,
                      std::function<Tensor(const graph::Value&)> bind);
  void remove(std::uint64_t key) { executors_.erase(key); }

 private:
  std::mutex mutex_;
  Device device_;
  OwnedStream stream_;
  std::shared_ptr<Storage> range_;
  std::shared_ptr<Storage> workspace_;
  std::map<std::uint64_t, std::unique_ptr<plan::Executor>> executors_;
};

}  // namespace plimsoll
