#include "backend/cuda/libraries/gemm.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "backend/cuda/driver/nvtx.h"
#include "backend/cuda/libraries/gemm_choice.h"
#include "backend/cuda/libraries/libraries.h"

namespace plimsoll::cuda {
namespace {

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f32:
      return CUDA_R_32F;
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    default:
      throw InternalError("[matmul] no product of " + std::string(dtype_name(dtype)));
  }
}

cublasComputeType_t compute_type(const GemmSpec& spec) {
  if (spec.a.dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  return spec.tf32 && spec.a.dtype == DType::f32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                 : CUBLAS_COMPUTE_32F;
}

cublasLtMatrixLayoutOpaque_t layout(const GemmOperand& x, std::int64_t rows, std::int64_t columns,
                                    std::int64_t batches) {
  if (x.transposed) std::swap(rows, columns);
  cublasLtMatrixLayoutOpaque_t made{};
  check(cublasLtMatrixLayoutInit(&made, data_type(x.dtype), static_cast<std::uint64_t>(columns),
                                 static_cast<std::uint64_t>(rows), x.stride),
        "matmul");
  if (batches == 1) return made;
  const auto count = static_cast<std::int32_t>(batches);
  check(cublasLtMatrixLayoutSetAttribute(&made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                         sizeof(count)),
        "matmul");
  check(cublasLtMatrixLayoutSetAttribute(&made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                         &x.step, sizeof(x.step)),
        "matmul");
  return made;
}

template <typename T>
void set(cublasLtMatmulDescOpaque_t& desc, cublasLtMatmulDescAttributes_t name, T value) {
  check(cublasLtMatmulDescSetAttribute(&desc, name, &value, sizeof(value)), "matmul");
}

/// The scratch that cuBLAS recommends for Hopper and takes by default. With less on offer, even a
/// few bytes, the library's heuristic hardly ever splits sums, however little a split needs.
constexpr Bytes kOffered = MiB(32);
/// It splits shorter sums, too, which takes longer than to compute them.
constexpr std::int64_t kLeastSplitSum = 128;

/// How partial sums may be added: in the type that is computed in, or in place if c has that type.
/// In place, blocks take turns in a fixed order, so that both give the same bits every time.
std::uint32_t reductions(const GemmSpec& spec) {
  std::uint32_t mask = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (spec.c.dtype == DType::f32) mask |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
  return mask;
}

/// What the addresses of all batches are multiples of.
std::uint32_t alignment_of(const GemmOperand& x) {
  return static_cast<std::uint32_t>(std::min(x.alignment, alignment_of_step(x.step, x.dtype)));
}

class Preference {
 public:
  Preference() { check(cublasLtMatmulPreferenceInit(&made_), "matmul"); }
  template <typename T>
  void set(cublasLtMatmulPreferenceAttributes_t name, T value) {
    check(cublasLtMatmulPreferenceSetAttribute(&made_, name, &value, sizeof(value)), "matmul");
  }
  cublasLtMatmulPreference_t get() { return &made_; }

 private:
  cublasLtMatmulPreferenceOpaque_t made_{};
};

/// What a choice is kept for: everything that the library is told.
std::string key_of(const GemmSpec& spec, Bytes limit) {
  const auto operand = [](const GemmOperand& x) {
    return fmt::format("{} {}{} {} {}", dtype_name(x.dtype), x.stride, x.transposed ? "t" : "",
                       x.step, x.alignment);
  };
  return fmt::format("gemm {}x{}x{} {} | {} | {} | {} | {}{}{}", spec.m, spec.n, spec.k,
                     spec.batches, operand(spec.a), operand(spec.b), operand(spec.c),
                     spec.bias ? "bias " : "", spec.tf32 ? "tf32 " : "", limit);
}

/// "cuBLASLt 13.1.0"
std::string blas_name() {
  const std::size_t version = cublasLtGetVersion();
  return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

using Algorithm = decltype(GemmChoice::algorithm);
static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(Algorithm));

std::string to_choice(bool fused_bias, Bytes workspace, const cublasLtMatmulAlgo_t& algorithm) {
  return to_text({.library = blas_name(),
                  .fused_bias = fused_bias,
                  .workspace = workspace,
                  .algorithm = std::bit_cast<Algorithm>(algorithm)});
}

/// What the library is asked for at a time.
constexpr int kProposals = 8;

/// `bias`: the library adds it.
cublasLtMatmulDescOpaque_t description(const GemmSpec& spec, bool bias) {
  const bool f64 = spec.a.dtype == DType::f64;
  cublasLtMatmulDescOpaque_t desc{};
  check(cublasLtMatmulDescInit(&desc, compute_type(spec), f64 ? CUDA_R_64F : CUDA_R_32F), "matmul");
  set(desc, CUBLASLT_MATMUL_DESC_TRANSA, spec.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSB, spec.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (bias) {
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    // An aligned address for the search; the true one comes with each run.
    set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(256));
  }
  return desc;
}

}  // namespace

Gemm::Gemm(cublasLtHandle_t blas, const GemmSpec& spec, Bytes limit) : spec_(spec) {
  left_ = layout(spec.b, spec.k, spec.n, spec.batches);
  right_ = layout(spec.a, spec.m, spec.k, spec.batches);
  result_ = layout(spec.c, spec.m, spec.n, spec.batches);
  ChoiceTable& choices = Libraries::current()->choices();
  const std::string key = key_of(spec, limit);
  if (const auto text = choices.preferred(key)) {
    const std::optional<GemmChoice> choice = parse_gemm_choice(*text);
    const bool readable = choice && choice->library == blas_name();
    if (readable) {
      fused_bias_ = choice->fused_bias && spec.bias;
      desc_ = description(spec, fused_bias_);
      algorithm_ = std::bit_cast<cublasLtMatmulAlgo_t>(choice->algorithm);
      cublasLtMatmulHeuristicResult_t found{};
      const cublasStatus_t status = cublasLtMatmulAlgoCheck(blas, &desc_, &left_, &right_, &result_,
                                                            &result_, &algorithm_, &found);
      workspace_ = std::max<Bytes>(choice->workspace, found.workspaceSize);
      if (status == CUBLAS_STATUS_SUCCESS && workspace_ <= limit) {
        choices.took(key, *text);
        return;
      }
      fused_bias_ = false;
    }
    choices.give_up(
        key, readable ? blas_name() + " has no such algorithm here" : "this is " + blas_name());
  }
  if (spec.bias) fused_bias_ = choose(blas, limit, true);
  if (fused_bias_ || choose(blas, limit, false)) {
    choices.took(key, to_choice(fused_bias_, workspace_, algorithm_));
    if (choices.exploring()) choices.offer(key, alternatives(blas, limit));
    return;
  }
  throw DeviceError("[matmul] cuBLASLt has no algorithm for " +
                    std::string(dtype_name(spec.a.dtype)) + " [" + std::to_string(spec.m) + "," +
                    std::to_string(spec.k) + "] times [" + std::to_string(spec.k) + "," +
                    std::to_string(spec.n) + "]");
}

bool Gemm::choose(cublasLtHandle_t blas, Bytes limit, bool bias) {
  desc_ = description(spec_, bias);
  return (spec_.k >= kLeastSplitSum && propose(blas, kOffered, limit)) ||
         propose(blas, limit, limit);
}

bool Gemm::propose(cublasLtHandle_t blas, Bytes offered, Bytes limit) {
  const auto found = proposals(blas, offered, limit, offered > limit ? kProposals : 1);
  if (found.empty()) return false;
  algorithm_ = found.front().algo;
  workspace_ = found.front().workspaceSize;
  return true;
}

std::vector<std::string> Gemm::alternatives(cublasLtHandle_t blas, Bytes limit) const {
  std::vector<std::string> all;
  const auto add = [&](bool bias, Bytes offered) {
    Gemm other = *this;
    other.desc_ = description(spec_, bias);
    for (const auto& each : other.proposals(blas, offered, limit, kProposals)) {
      all.push_back(to_choice(bias, each.workspaceSize, each.algo));
    }
  };
  for (const bool bias : {true, false}) {
    if (bias && !spec_.bias) continue;
    if (spec_.k >= kLeastSplitSum) add(bias, kOffered);
    add(bias, limit);
  }
  return all;
}

std::vector<cublasLtMatmulHeuristicResult_t> Gemm::proposals(cublasLtHandle_t blas, Bytes offered,
                                                             Bytes limit, int most) {
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(offered));
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions(spec_));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(spec_.b));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(spec_.a));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(spec_.c));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(spec_.c));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(blas, &desc_, &left_, &right_, &result_, &result_,
                                     preference.get(), most, found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
  check(status, "matmul");
  found.resize(static_cast<std::size_t>(count));
  std::erase_if(found, [&](const cublasLtMatmulHeuristicResult_t& each) {
    return each.state != CUBLAS_STATUS_SUCCESS || each.workspaceSize > limit;
  });
  return found;
}

void Gemm::run(cublasLtHandle_t blas, cudaStream_t stream, const void* a, const void* b, void* c,
               const void* bias, void* workspace, bool accumulate) const {
  // The library takes them as if it might write them.
  cublasLtMatmulDescOpaque_t desc = desc_;
  cublasLtMatrixLayoutOpaque_t left = left_;
  cublasLtMatrixLayoutOpaque_t right = right_;
  cublasLtMatrixLayoutOpaque_t result = result_;
  if (fused_bias_) {
    set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  } else if (spec_.bias) {
    for (std::int64_t i = 0; i < spec_.batches; ++i) {
      auto* to = static_cast<std::byte*>(c) +
                 i * spec_.c.step * static_cast<std::int64_t>(dtype_size(spec_.c.dtype));
      fill_rows(to, bias, spec_.m, spec_.n, spec_.c.stride, spec_.c.dtype, stream);
    }
    accumulate = true;
  }
  const bool f64 = spec_.a.dtype == DType::f64;
  const std::array<double, 2> factors = {1, accumulate ? 1.0 : 0.0};
  const std::array<float, 2> narrow = {1, accumulate ? 1.0F : 0.0F};
  const void* alpha = f64 ? static_cast<const void*>(factors.data()) : narrow.data();
  const void* beta = f64 ? static_cast<const void*>(&factors[1]) : &narrow[1];
  check(cublasLtMatmul(blas, &desc, alpha, b, &left, a, &right, beta, c, &result, c, &result,
                       &algorithm_, workspace, workspace_, stream),
        "matmul");
  const std::int64_t span =
      (spec_.batches - 1) * spec_.c.step + (spec_.m - 1) * spec_.c.stride + spec_.n;
  nvtx::written(c, static_cast<std::size_t>(span) * dtype_size(spec_.c.dtype), stream);
}

}  // namespace plimsoll::cuda
