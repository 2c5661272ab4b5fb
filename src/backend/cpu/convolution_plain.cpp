#include <algorithm>
#include <type_traits>

#include "backend/cpu/blas.h"
#include "backend/cpu/convolution.h"
#include "backend/cpu/dtype_switch.h"

namespace plimsoll::cpu {
namespace {

using ops::ConvShape;

/// One picture's elements: (channel, row, column) is at channel*c + row*h + column*w.
struct Strides {
  std::int64_t c;
  std::int64_t h;
  std::int64_t w;
};
Strides strides_of(bool nhwc, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return nhwc ? Strides{1, width * channels, channels} : Strides{height * width, width, 1};
}

/// Sizes in elements of what the workspace holds, one after the other, in what is computed in.
struct Sizes {
  std::int64_t columns;  ///< windows of one picture and group
  std::int64_t weight;   ///< 0 where T is what is computed in
  std::int64_t x;
  std::int64_t y;
};

Sizes sizes_of(const ConvSpec& spec) {
  const ConvShape& s = spec.shape;
  const bool narrow = spec.dtype == DType::f16 || spec.dtype == DType::bf16;
  const std::int64_t x = s.in_channels * s.in_height * s.in_width;
  const std::int64_t places = s.out_height * s.out_width;
  return {s.in_channels / s.groups * s.kernel_height * s.kernel_width * places,
          narrow ? s.weight_shape().elements() : 0,
          narrow && spec.pass == ConvPass::by_input ? x : 0, narrow ? s.out_channels * places : 0};
}

/// Visits every pair of an element of the columns [channel, row, column of the window; place] and
/// the element of the picture it stands for, in order; -1 for padding.
template <typename Visit>
void each_column(const ConvShape& s, std::int64_t group, Visit visit) {
  const Strides at = strides_of(s.nhwc, s.in_channels, s.in_height, s.in_width);
  const std::int64_t channels = s.in_channels / s.groups;
  std::int64_t column = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t ky = 0; ky < s.kernel_height; ++ky) {
      for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
        for (std::int64_t oy = 0; oy < s.out_height; ++oy) {
          const std::int64_t y = oy * s.stride_down - s.padding.top + ky * s.dilation_down;
          const bool inside = y >= 0 && y < s.in_height;
          const std::int64_t row = (group * channels + c) * at.c + y * at.h;
          for (std::int64_t ox = 0; ox < s.out_width; ++ox) {
            const std::int64_t x = ox * s.stride_across - s.padding.left + kx * s.dilation_across;
            visit(column++, inside && x >= 0 && x < s.in_width ? row + x * at.w : -1);
          }
        }
      }
    }
  }
}

/// `count` elements in what T is computed in: themselves, or a copy in `space`.
template <typename T>
const Acc<T>* widened(const T* from, std::int64_t count, Acc<T>* space) {
  if constexpr (std::is_same_v<T, Acc<T>>) {
    return from;
  } else {
    for (std::int64_t i = 0; i < count; ++i) space[i] = static_cast<Acc<T>>(from[i]);
    return space;
  }
}

/// Where to put results: `to` itself, or `space`, to be narrowed later.
template <typename T>
Acc<T>* target(T* to, Acc<T>* space) {
  if constexpr (std::is_same_v<T, Acc<T>>) {
    return to;
  } else {
    return space;
  }
}
template <typename T>
void narrow(const Acc<T>* from, std::int64_t count, T* to) {
  if constexpr (!std::is_same_v<T, Acc<T>>) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
  }
}

template <typename T>
class PlainConv {
 public:
  using A = Acc<T>;

  PlainConv(const ConvSpec& spec, const ConvArguments& a) : s_(spec.shape), pass_(spec.pass) {
    const Sizes sizes = sizes_of(spec);
    columns_ = static_cast<A*>(a.workspace);
    weight_space_ = columns_ + sizes.columns;
    x_space_ = weight_space_ + sizes.weight;
    y_space_ = x_space_ + sizes.x;
    x_ = static_cast<T*>(a.x);
    w_ = static_cast<T*>(a.w);
    y_ = static_cast<T*>(a.y);
    bias_ = static_cast<const T*>(a.bias);
  }

  void run() {
    A* dw = nullptr;
    if (pass_ == ConvPass::by_weight) {
      dw = target(w_, weight_space_);
      std::fill_n(dw, weights_, A(0));
    } else {
      w_wide_ = widened<T>(w_, weights_, weight_space_);
    }
    for (std::int64_t i = 0; i < s_.n; ++i) {
      T* x = x_ + i * s_.in_channels * s_.in_height * s_.in_width;
      T* y = y_ + i * s_.out_channels * places_;
      if (pass_ == ConvPass::forward) forward(x, y);
      if (pass_ == ConvPass::by_input) by_input(x, y);
      if (pass_ == ConvPass::by_weight) by_weight(x, y, dw);
    }
    if (pass_ == ConvPass::by_weight) narrow<T>(dw, weights_, w_);
  }

 private:
  void read_columns(const T* x, std::int64_t group) {
    each_column(s_, group, [&](std::int64_t column, std::int64_t at) {
      columns_[column] = at < 0 ? A(0) : static_cast<A>(x[at]);
    });
  }
  /// A group's part of y [channels, places], or of its transpose in NHWC.
  template <typename P>
  Matrix<P> y_part(P* y, std::int64_t group) const {
    return s_.nhwc ? Matrix<P>{y + group * channels_, s_.out_channels, true}
                   : Matrix<P>{y + group * channels_ * places_, places_, false};
  }
  static Matrix<const A> flipped(Matrix<const A> m) { return {m.data, m.stride, !m.transposed}; }

  void forward(const T* x, T* y) {
    A* to = target(y, y_space_);
    for (std::int64_t g = 0; g < s_.groups; ++g) {
      read_columns(x, g);
      const Matrix<const A> w{w_wide_ + g * channels_ * depth_, depth_};
      const Matrix<const A> columns{columns_, places_};
      const Matrix<A> part = y_part(to, g);
      if (s_.nhwc) {
        gemm(places_, channels_, depth_, A(1), flipped(columns), flipped(w), A(0),
             {part.data, part.stride});
      } else {
        gemm(channels_, places_, depth_, A(1), w, columns, A(0), part);
      }
    }
    if (bias_ != nullptr) {
      const Strides at = strides_of(s_.nhwc, s_.out_channels, s_.out_height, s_.out_width);
      for (std::int64_t c = 0; c < s_.out_channels; ++c) {
        for (std::int64_t p = 0; p < places_; ++p)
          to[c * at.c + p * at.w] += static_cast<A>(bias_[c]);
      }
    }
    narrow<T>(to, s_.out_channels * places_, y);
  }

  void by_input(T* x, const T* y) {
    const std::int64_t elements = s_.in_channels * s_.in_height * s_.in_width;
    const A* dy = widened<T>(y, s_.out_channels * places_, y_space_);
    A* to = target(x, x_space_);
    std::fill_n(to, elements, A(0));
    for (std::int64_t g = 0; g < s_.groups; ++g) {
      gemm(depth_, places_, channels_, A(1), {w_wide_ + g * channels_ * depth_, depth_, true},
           y_part(dy, g), A(0), {columns_, places_});
      each_column(s_, g, [&](std::int64_t column, std::int64_t at) {
        if (at >= 0) to[at] += columns_[column];
      });
    }
    narrow<T>(to, elements, x);
  }

  void by_weight(const T* x, const T* y, A* dw) {
    const A* dy = widened<T>(y, s_.out_channels * places_, y_space_);
    for (std::int64_t g = 0; g < s_.groups; ++g) {
      read_columns(x, g);
      gemm(channels_, depth_, places_, A(1), y_part(dy, g), {columns_, places_, true}, A(1),
           {dw + g * channels_ * depth_, depth_});
    }
  }

  const ConvShape& s_;
  ConvPass pass_;
  std::int64_t places_ = s_.out_height * s_.out_width;
  std::int64_t channels_ = s_.out_channels / s_.groups;  ///< of a group of the result
  std::int64_t depth_ = s_.in_channels / s_.groups * s_.kernel_height * s_.kernel_width;
  std::int64_t weights_ = s_.weight_shape().elements();
  A* columns_;
  A* weight_space_;
  A* x_space_;
  A* y_space_;
  T* x_;
  T* w_;
  T* y_;
  const T* bias_;
  const A* w_wide_ = nullptr;
};

}  // namespace

Bytes plain_conv_workspace(const ConvSpec& spec) {
  const Sizes sizes = sizes_of(spec);
  return static_cast<Bytes>(sizes.columns + sizes.weight + sizes.x + sizes.y) *
         (spec.dtype == DType::f64 ? sizeof(double) : sizeof(float));
}

void plain_conv(const ConvSpec& spec, const ConvArguments& arguments) {
  with_float(spec.dtype, [&]<typename T>() { PlainConv<T>(spec, arguments).run(); });
}

}  // namespace plimsoll::cpu
