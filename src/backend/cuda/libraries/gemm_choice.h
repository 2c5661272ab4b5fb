#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <plimsoll/base/bytes.h>

namespace plimsoll::cuda {

/// An algorithm of cuBLASLt's as a checkpoint keeps it. NVIDIA documents that the bytes of a
/// cublasLtMatmulAlgo_t may be stored, and mean the same to the same version of the library.
struct GemmChoice {
  std::string library;  ///< "cuBLASLt 13.1.0"
  bool fused_bias = false;
  Bytes workspace = 0;
  std::array<std::uint64_t, 8> algorithm{};
  bool operator==(const GemmChoice&) const = default;
};

/// "cuBLASLt 13.1.0 bias=0 workspace=8388608 algorithm=0000000000000042..."
std::string to_text(const GemmChoice& choice);
/// nullopt for what to_text() did not give.
std::optional<GemmChoice> parse_gemm_choice(std::string_view text);

}  // namespace plimsoll::cuda
