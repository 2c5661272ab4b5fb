#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/cuda/programs/rtc_headers.h"

namespace plimsoll::cuda {

/// NVIDIA's run-time compiler, opened when it is first asked for and never linked: where it is
/// missing everything works without it. Thread-safe.
class Nvrtc {
 public:
  /// The compiler of exactly this version of the toolkit, as only that gives the bits of kernels
  /// that were compiled with the library. Null where there is none, and `why` says so: "not found",
  /// "is 13.1, but the library was built with 13.0". The first call's version counts.
  static const Nvrtc* load(int major, int minor, std::string* why);

  /// "13.0"
  const std::string& version() const { return version_; }

  /// Machine code for `architecture` ("sm_90"), with line information and without contraction.
  /// Throws DeviceError with the compiler's words. Needs no GPU.
  std::string compile(const std::string& source, std::span<const RtcHeader> headers,
                      const std::string& architecture) const;

 private:
  struct Calls {
    int (*version)(int*, int*) = nullptr;
    int (*create)(void**, const char*, const char*, int, const char* const*,
                  const char* const*) = nullptr;
    int (*compile)(void*, int, const char* const*) = nullptr;
    int (*destroy)(void**) = nullptr;
    int (*log_size)(void*, std::size_t*) = nullptr;
    int (*log)(void*, char*) = nullptr;
    int (*cubin_size)(void*, std::size_t*) = nullptr;
    int (*cubin)(void*, char*) = nullptr;
  };

  Nvrtc() = default;
  static Nvrtc open(int major, int minor);
  std::string log_of(void* program) const;

  Calls calls_;
  std::string version_;
  std::string why_;  ///< why it cannot be used; empty if it can
};

}  // namespace plimsoll::cuda
