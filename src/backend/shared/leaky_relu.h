// leaky_relu and its gradient, which is a function of dy and y.

namespace plimsoll::PLIMSOLL_BACKEND {
namespace {

struct LeakyRelu {
  static constexpr std::array<std::string_view, 1> kNumbers = {"slope"};
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x, T slope, T) {
    return x > T{0} ? x : x * slope;
  }
};
struct LeakyReluGrad {
  static constexpr std::array<std::string_view, 1> kNumbers = {"slope"};
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y, T slope, T) {
    return y > T{0} ? dy : dy * slope;
  }
};

void add_kernels(KernelTable& table) {
  table.add("leaky_relu", elementwise<LeakyRelu, 1>());
  table.add("leaky_relu_grad", elementwise<LeakyReluGrad, 2>());
}

const RegisterKernels kRegistered(kBackend, add_kernels);

}  // namespace
}  // namespace plimsoll::PLIMSOLL_BACKEND
