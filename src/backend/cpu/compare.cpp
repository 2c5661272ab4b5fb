// Comparisons and logic: bool results.
#include "backend/cpu/loops.h"

namespace plimsoll::cpu {
namespace {

struct Equal {
  template <typename T>
  PLIMSOLL_INLINE static bool apply(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <typename T>
  PLIMSOLL_INLINE static bool apply(T a, T b) {
    return a != b;
  }
};
struct Less {
  template <typename T>
  PLIMSOLL_INLINE static bool apply(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  PLIMSOLL_INLINE static bool apply(T a, T b) {
    return a <= b;
  }
};
struct IsFinite {
  template <typename T>
  PLIMSOLL_INLINE static bool apply(T x) {
    return x - x == T{0};
  }
};
struct And {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T a, T b) {
    return a | b;
  }
};
struct Not {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return x ^ T { 1 };
  }
};

/// bool compares as the bytes 0 and 1.
template <typename F>
Kernel comparison() {
  return {[](const KernelContext& k) {
    if (k.in(0).dtype() == DType::boolean) {
      run_chunks(k, {.run = loops::plain<F, 2, std::uint8_t>, .widen = false});
    } else {
      run_number<F, 2>(k);
    }
  }};
}
template <typename F, int Count>
Kernel logic() {
  return {[](const KernelContext& k) {
    run_chunks(k, {.run = loops::plain<F, Count, std::uint8_t>, .widen = false});
  }};
}

void add_kernels(KernelTable& table) {
  table.add("equal", comparison<Equal>());
  table.add("not_equal", comparison<NotEqual>());
  table.add("less", comparison<Less>());
  table.add("less_equal", comparison<LessEqual>());
  table.add("is_finite", {[](const KernelContext& k) { run_float<IsFinite, 1>(k); }});
  table.add("logical_and", logic<And, 2>());
  table.add("logical_or", logic<Or, 2>());
  table.add("logical_not", logic<Not, 1>());
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
