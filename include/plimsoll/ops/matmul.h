#pragma once

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  bool tf32 = false;  ///< f32 factors may be rounded to TF32 on a GPU; see ops/tf32.h
};

/// Matrix products over the last two dimensions; the others broadcast. Accumulates in f32 (f64 for
/// f64) and rounds once.
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

struct LinearOptions {
  bool transposed = false;  ///< the weight is [in, out]
  bool tf32 = false;        ///< as MatmulOptions::tf32
};

/// x [..., in] times the transpose of weight [out, in], plus bias [out] if it is defined.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const LinearOptions& options = {});

}  // namespace plimsoll::ops
