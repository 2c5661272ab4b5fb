#pragma once

#include <string>

#include <plimsoll/base/bytes.h>

#include "backend/cuda/driver/driver.h"

namespace plimsoll::cuda {

/// A device's primary context, which all CUDA libraries of a process share; held while this
/// lives. Thread-safe.
class Context {
 public:
  /// Throws DeviceError.
  Context(const Driver& driver, int ordinal);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  const Driver& driver() const { return driver_; }
  CUdevice device() const { return device_; }
  int ordinal() const { return ordinal_; }
  std::string name() const { return "cuda:" + std::to_string(ordinal_); }

  /// Makes the context the calling thread's for as long as the scope lasts. Costs next to nothing
  /// where it is already.
  class Scope {
   public:
    explicit Scope(const Context& context);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    const Driver& driver_;
    bool pushed_ = false;
  };

  /// The same by hand: the context is the thread's until pop().
  void push() const;
  void pop() const noexcept;

  /// Throws DeviceError naming the call and what the driver said, unless `result` is success.
  void check(CUresult result, const char* call) const {
    if (result != CUDA_SUCCESS) fail(result, call);
  }

  /// The same for calls that take memory: being out of it is OutOfPages, naming `bytes`.
  void check_pages(CUresult result, const char* call, Bytes bytes) const {
    if (result != CUDA_SUCCESS) fail_pages(result, call, bytes);
  }

  /// True once the driver has shut down, which it does as the process ends: objects that live
  /// until then have nothing left to give back.
  bool gone() const;

 private:
  [[noreturn]] void fail(CUresult result, const char* call) const;
  [[noreturn]] void fail_pages(CUresult result, const char* call, Bytes bytes) const;

  const Driver& driver_;
  const int ordinal_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

}  // namespace plimsoll::cuda
