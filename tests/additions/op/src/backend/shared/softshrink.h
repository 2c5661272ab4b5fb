// softshrink and its gradient, which is a function of dy and y.

namespace plimsoll::PLIMSOLL_BACKEND {
namespace {

struct Softshrink {
  static constexpr std::array<std::string_view, 1> kNumbers = {"lambda"};
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x, T lambda, T) {
    const T above = x - lambda;
    const T below = x + lambda;
    return above > T{0} ? above : (below < T{0} ? below : x * T{0});  // NaN stays
  }
};
struct SoftshrinkGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y) {
    return y == T{0} ? T{0} : dy;
  }
};

void add_kernels(KernelTable& table) {
  table.add("softshrink", elementwise<Softshrink, 1>());
  table.add("softshrink_grad", elementwise<SoftshrinkGrad, 2>());
}

const RegisterKernels kRegistered(kBackend, add_kernels);

}  // namespace
}  // namespace plimsoll::PLIMSOLL_BACKEND
