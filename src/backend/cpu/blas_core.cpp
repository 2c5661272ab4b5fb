// Which of its kernels OpenBLAS uses.
#if PLIMSOLL_HAS_BLAS && defined(__x86_64__)
#include <cstdlib>
#include <string_view>

#include <cblas.h>

// Of builds that bring kernels for many CPUs; others have neither.
extern "C" {
__attribute__((weak)) void gotoblas_dynamic_quit();
__attribute__((weak)) void gotoblas_dynamic_init();
}

namespace plimsoll::cpu {
namespace {

/// The kernels for what the CPU has, by OpenBLAS's name; null if it has no AVX2.
const char* suitable_core() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    return "SKYLAKEX";
  }
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "HASWELL" : nullptr;
}

/// OpenBLAS goes by the CPU's model number and takes one that is newer than itself for a Prescott
/// of 2004: four times slower in f64, and with results that depend on where a matrix lies. Has it
/// choose again by what the CPU can do, when the library is loaded and nobody computes yet. What
/// OPENBLAS_CORETYPE says is left alone.
bool choose_core() {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  if (gotoblas_dynamic_quit == nullptr || gotoblas_dynamic_init == nullptr) return false;
  if (std::getenv(kVariable) != nullptr) return false;
  if (std::string_view(openblas_get_corename()) != "Prescott") return false;
  const char* core = suitable_core();
  if (core == nullptr) return false;
  ::setenv(kVariable, core, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  ::unsetenv(kVariable);
  return true;
}

[[maybe_unused]] const bool kChosenAnew = choose_core();

}  // namespace
}  // namespace plimsoll::cpu
#endif
