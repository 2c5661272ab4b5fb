#include "backend/cpu/onednn.h"

#if PLIMSOLL_HAS_ONEDNN

#include <csignal>
#include <cstdlib>

namespace plimsoll::cpu::onednn {
namespace {

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
constexpr auto kForward = dnnl::prop_kind::forward_training;

/// Scratch memory comes from our workspace, never from the library.
dnnl::primitive_attr attributes() {
  dnnl::primitive_attr result;
  result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return result;
}

/// What `make` makes, unless oneDNN has no such thing.
template <typename Make>
auto if_there(Make make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
    return std::nullopt;
  }
}

/// Signals wait until it goes out of scope, except those that a thread's own instructions cause:
/// blocking them would end the process without its handler.
class SignalsWait {
 public:
  SignalsWait() {
    static const sigset_t waiting = [] {
      sigset_t set;
      sigfillset(&set);
      for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
        sigdelset(&set, own);
      }
      return set;
    }();
    pthread_sigmask(SIG_BLOCK, &waiting, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// Before anything else is asked of the library. Version 2 ends products in bf16 with an illegal
/// instruction on virtual machines that offer AMX: it is left out there. What the user says by
/// oneDNN's own variables is left alone.
void choose_instructions() {
#if DNNL_VERSION_MAJOR < 3
  static const bool chosen = [] {
    return std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr &&
           std::getenv("DNNL_MAX_CPU_ISA") == nullptr &&
           dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16) == dnnl::status::success;
  }();
  (void)chosen;
#endif
}

}  // namespace

/// A process that meets ever new shapes, such as a search for hyperparameters, keeps some 75 KiB of
/// code for each primitive that the library remembers, beside every budget. Plans and eager ops
/// hold on to those that they use, so that few are needed here.
void limit_what_is_remembered() {
  static const bool chosen = [] {
    constexpr int kPrimitives = 128;
    if (std::getenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY") != nullptr ||
        std::getenv("DNNL_PRIMITIVE_CACHE_CAPACITY") != nullptr) {
      return false;
    }
    dnnl::set_primitive_cache_capacity(kPrimitives);
    return true;
  }();
  (void)chosen;
}

const dnnl::engine& engine() {
  choose_instructions();
  limit_what_is_remembered();
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

bool has_avx512() {
  choose_instructions();
  constexpr unsigned kNeeded = dnnl_cpu_isa_avx512_core;
  static const bool has =
      (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
  return has;
}

std::optional<dnnl::memory::data_type> data_type(DType dtype) {
  if (dtype == DType::f32) return dnnl::memory::data_type::f32;
  if (dtype == DType::bf16 && has_avx512()) return dnnl::memory::data_type::bf16;
  return std::nullopt;
}

void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             const std::unordered_map<int, dnnl::memory>& arguments) {
  const SignalsWait signals;
  primitive.execute(stream, arguments);
}

void sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
           float alpha, const float* a, std::int64_t a_stride, const float* b,
           std::int64_t b_stride, float beta, float* c, std::int64_t c_stride) {
  const auto order = [](bool transposed) { return transposed ? 'T' : 'N'; };
  const SignalsWait signals;
  dnnl::error::wrap_c_api(dnnl_sgemm(order(transpose_a), order(transpose_b), m, n, k, alpha, a,
                                     a_stride, b, b_stride, beta, c, c_stride),
                          "no product of matrices by oneDNN");
}

#if DNNL_VERSION_MAJOR >= 3

std::optional<dnnl::matmul::primitive_desc> matmul(const Desc& a, const Desc& b, const Desc& bias,
                                                   const Desc& c) {
  return if_there([&] {
    return bias.is_zero() ? dnnl::matmul::primitive_desc(engine(), a, b, c, attributes())
                          : dnnl::matmul::primitive_desc(engine(), a, b, bias, c, attributes());
  });
}

std::optional<dnnl::convolution_forward::primitive_desc> convolution(const Desc& x, const Desc& w,
                                                                     const Desc& bias,
                                                                     const Desc& y,
                                                                     const Window& window) {
  return if_there([&] {
    return dnnl::convolution_forward::primitive_desc(engine(), kForward, kAlgorithm, x, w, bias, y,
                                                     window.stride, window.dilation, window.before,
                                                     window.after, attributes());
  });
}

std::optional<dnnl::convolution_backward_data::primitive_desc> convolution_by_input(
    const Desc& x, const Desc& w, const Desc& y, const Window& window) {
  const auto hint = convolution(x, w, Desc(), y, window);
  if (!hint) return std::nullopt;
  return if_there([&] {
    return dnnl::convolution_backward_data::primitive_desc(
        engine(), kAlgorithm, x, w, y, window.stride, window.dilation, window.before, window.after,
        *hint, attributes());
  });
}

std::optional<dnnl::convolution_backward_weights::primitive_desc> convolution_by_weight(
    const Desc& x, const Desc& w, const Desc& y, const Window& window) {
  const auto hint = convolution(x, w, Desc(), y, window);
  if (!hint) return std::nullopt;
  return if_there([&] {
    return dnnl::convolution_backward_weights::primitive_desc(
        engine(), kAlgorithm, x, w, y, window.stride, window.dilation, window.before, window.after,
        *hint, attributes());
  });
}

#else

std::optional<dnnl::matmul::primitive_desc> matmul(const Desc& a, const Desc& b, const Desc& bias,
                                                   const Desc& c) {
  return if_there([&] {
    return dnnl::matmul::primitive_desc(
        bias.is_zero() ? dnnl::matmul::desc(a, b, c) : dnnl::matmul::desc(a, b, bias, c),
        attributes(), engine());
  });
}

std::optional<dnnl::convolution_forward::primitive_desc> convolution(const Desc& x, const Desc& w,
                                                                     const Desc& bias,
                                                                     const Desc& y,
                                                                     const Window& window) {
  return if_there([&] {
    return dnnl::convolution_forward::primitive_desc(
        {kForward, kAlgorithm, x, w, bias, y, window.stride, window.dilation, window.before,
         window.after},
        attributes(), engine());
  });
}

std::optional<dnnl::convolution_backward_data::primitive_desc> convolution_by_input(
    const Desc& x, const Desc& w, const Desc& y, const Window& window) {
  const auto hint = convolution(x, w, Desc(), y, window);
  if (!hint) return std::nullopt;
  return if_there([&] {
    return dnnl::convolution_backward_data::primitive_desc(
        {kAlgorithm, x, w, y, window.stride, window.dilation, window.before, window.after},
        attributes(), engine(), *hint);
  });
}

std::optional<dnnl::convolution_backward_weights::primitive_desc> convolution_by_weight(
    const Desc& x, const Desc& w, const Desc& y, const Window& window) {
  const auto hint = convolution(x, w, Desc(), y, window);
  if (!hint) return std::nullopt;
  return if_there([&] {
    return dnnl::convolution_backward_weights::primitive_desc(
        {kAlgorithm, x, w, y, window.stride, window.dilation, window.before, window.after},
        attributes(), engine(), *hint);
  });
}

#endif

}  // namespace plimsoll::cpu::onednn
#endif
