#pragma once

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>

#if PLIMSOLL_HAS_ONEDNN
#include <cstdint>
#include <optional>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>

// What differs between versions 2 and 3 of oneDNN, in one place. Descriptors that oneDNN has no
// implementation for are nullopt; the caller then has a kernel of its own.

namespace plimsoll::cpu::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

/// The one engine of the host.
const dnnl::engine& engine();
/// nullopt for dtypes that oneDNN does not compute with on this CPU.
std::optional<dnnl::memory::data_type> data_type(DType dtype);

/// c = a b, plus bias if it is not empty.
std::optional<dnnl::matmul::primitive_desc> matmul(const Desc& a, const Desc& b, const Desc& bias,
                                                   const Desc& c);

struct Window {
  Dims stride;
  Dims dilation;  ///< 0 is none
  Dims before;    ///< padding at the top and the left
  Dims after;
};

std::optional<dnnl::convolution_forward::primitive_desc> convolution(const Desc& x, const Desc& w,
                                                                     const Desc& bias,
                                                                     const Desc& y,
                                                                     const Window& window);
std::optional<dnnl::convolution_backward_data::primitive_desc> convolution_by_input(
    const Desc& x, const Desc& w, const Desc& y, const Window& window);
std::optional<dnnl::convolution_backward_weights::primitive_desc> convolution_by_weight(
    const Desc& x, const Desc& w, const Desc& y, const Window& window);

/// Computes, on this thread; nothing else calls the library's execute. No signal is handled on this
/// thread meanwhile: kernels of versions up to 3.11.1 let the stack pointer point into the heap,
/// and a handler, whose frame goes below it, would write over other blocks
/// (github.com/uxlfoundation/oneDNN/issues/4845). Other threads take what comes, or this one does
/// afterwards.
void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             const std::unordered_map<int, dnnl::memory>& arguments);

/// Whether it computes f32 with AVX-512.
bool has_avx512();

/// c = alpha a b + beta c in row-major order, in this thread, at execute()'s terms.
void sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
           float alpha, const float* a, std::int64_t a_stride, const float* b,
           std::int64_t b_stride, float beta, float* c, std::int64_t c_stride);

/// True if the bytes of both are laid out alike.
inline bool same_layout(const Desc& a, const Desc& b) { return a == b; }

}  // namespace plimsoll::cpu::onednn
#endif
