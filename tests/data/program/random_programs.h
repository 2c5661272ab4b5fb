#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {

/// A matrix of f32 in plain C++: what random programs are checked against.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;

  float at(std::int64_t r, std::int64_t c) const {
    return values[static_cast<std::size_t>(r * columns + c)];
  }
};

/// Extents of 1 are repeated.
template <typename F>
Matrix broadcast(const Matrix& a, const Matrix& b, F f) {
  Matrix out{std::max(a.rows, b.rows), std::max(a.columns, b.columns), {}};
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.columns; ++c) {
      out.values.push_back(f(a.at(a.rows == 1 ? 0 : r, a.columns == 1 ? 0 : c),
                             b.at(b.rows == 1 ? 0 : r, b.columns == 1 ? 0 : c)));
    }
  }
  return out;
}

template <typename F>
Matrix each(const Matrix& a, F f) {
  Matrix out = a;
  for (float& value : out.values) value = f(value);
  return out;
}

/// A program at random over two matrices of the same extents, and its results in plain C++. The
/// program is traced with some extents unknown.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed * 2654435761U + 99) {
    rows_ = 1 + 2 * below(9);
    columns_ = 1 + 2 * below(9);
    steps_ = 1 + below(12);
    for (int i = 0; i < 4096; ++i) choices_.push_back(below(1 << 20));
  }

  ElementSpec spec() const {
    const std::int64_t rows = choices_[0] % 2 == 0 ? kAnyExtent : rows_;
    const std::int64_t columns = choices_[1] % 2 == 0 ? kAnyExtent : columns_;
    return elements_of(
        {numbers_of(DType::f32, {rows, columns}), numbers_of(DType::f32, {rows, columns})});
  }

  Matrix input(unsigned seed) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> number(-4, 4);
    Matrix matrix{rows_, columns_, {}};
    for (std::int64_t i = 0; i < rows_ * columns_; ++i) matrix.values.push_back(number(random));
    return matrix;
  }

  /// The same choices on symbolic values and on matrices.
  Symbolics describe(const Symbolics& in) const {
    std::vector<Symbolic> values = {in[0], in[1]};
    walk<Symbolic>(values, Symbolically{});
    return {values.back(), values[values.size() / 2], sum(values.back(), {.axes = {1}})};
  }
  std::vector<Matrix> evaluate(const Matrix& a, const Matrix& b) const {
    std::vector<Matrix> values = {a, b};
    walk<Matrix>(values, Plainly{});
    const Matrix& last = values.back();
    Matrix sums{last.rows, 1, {}};
    for (std::int64_t r = 0; r < last.rows; ++r) {
      double total = 0;
      for (std::int64_t c = 0; c < last.columns; ++c) total += last.at(r, c);
      sums.values.push_back(static_cast<float>(total));
    }
    return {last, values[values.size() / 2], sums};
  }

 private:
  struct Symbolically {
    static Symbolic add(const Symbolic& a, const Symbolic& b) { return a + b; }
    static Symbolic sub(const Symbolic& a, const Symbolic& b) { return a - b; }
    static Symbolic mul(const Symbolic& a, const Symbolic& b) { return a * b; }
    static Symbolic largest(const Symbolic& a, const Symbolic& b) { return maximum(a, b); }
    static Symbolic chosen(const Symbolic& a, const Symbolic& b) { return where(a < b, b, a * 2); }
    static Symbolic scaled(const Symbolic& a, int by) { return a * (by % 5) - 1; }
    static Symbolic absolute(const Symbolic& a) { return abs(a); }
    static Symbolic clipped(const Symbolic& a) { return clip(a, -3, 3); }
    static Symbolic negative(const Symbolic& a) { return -a; }
    static Symbolic turned_twice(const Symbolic& a) {
      return transpose(transpose(a, {1, 0}), {1, 0});
    }
    static Symbolic flat_and_back(const Symbolic& a, std::int64_t columns) {
      return reshape(reshape(a, {-1}), {-1, columns});
    }
    static Symbolic swapped(const Symbolic& a) {
      return concat({slice(a, 0, -1), slice(a, 0, 0, -1)}, 0);
    }
    static Symbolic through_i32(const Symbolic& a) {
      return cast(cast(a, DType::i32) + 1, DType::f32);
    }
  };
  struct Plainly {
    static Matrix add(const Matrix& a, const Matrix& b) {
      return broadcast(a, b, [](float x, float y) { return x + y; });
    }
    static Matrix sub(const Matrix& a, const Matrix& b) {
      return broadcast(a, b, [](float x, float y) { return x - y; });
    }
    static Matrix mul(const Matrix& a, const Matrix& b) {
      return broadcast(a, b, [](float x, float y) { return x * y; });
    }
    static Matrix largest(const Matrix& a, const Matrix& b) {
      return broadcast(a, b, [](float x, float y) { return x < y ? y : x; });
    }
    static Matrix chosen(const Matrix& a, const Matrix& b) {
      return broadcast(a, b, [](float x, float y) { return x < y ? y : x * 2; });
    }
    static Matrix scaled(const Matrix& a, int by) {
      return each(a, [by](float x) {
        const float product = x * static_cast<float>(by % 5);
        return product - 1;
      });
    }
    static Matrix absolute(const Matrix& a) {
      return each(a, [](float x) { return std::fabs(x); });
    }
    static Matrix clipped(const Matrix& a) {
      return each(a, [](float x) { return std::clamp(x, -3.0F, 3.0F); });
    }
    static Matrix negative(const Matrix& a) {
      return each(a, [](float x) { return -x; });
    }
    static Matrix turned_twice(const Matrix& a) { return a; }
    static Matrix flat_and_back(const Matrix& a, std::int64_t) { return a; }
    static Matrix swapped(const Matrix& a) {
      Matrix out{a.rows, a.columns, {}};
      for (std::int64_t r = 0; r < a.rows; ++r) {
        for (std::int64_t c = 0; c < a.columns; ++c) {
          out.values.push_back(a.at(r == 0 ? a.rows - 1 : r - 1, c));
        }
      }
      return out;
    }
    static Matrix through_i32(const Matrix& a) {
      return each(a, [](float x) { return std::trunc(x) + 1; });
    }
  };

  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  template <typename V, typename Ops>
  void walk(std::vector<V>& values, Ops) const {
    std::size_t next = 2;
    const auto pick = [&] {
      return values[static_cast<std::size_t>(choices_[next++]) % values.size()];
    };
    for (int i = 0; i < steps_; ++i) {
      const int op = choices_[next++] % 13;
      const V a = pick();
      const V b = pick();
      const int number = choices_[next++];
      values.push_back(op == 0    ? Ops::add(a, b)
                       : op == 1  ? Ops::sub(a, b)
                       : op == 2  ? Ops::clipped(Ops::mul(a, b))
                       : op == 3  ? Ops::largest(a, b)
                       : op == 4  ? Ops::chosen(a, b)
                       : op == 5  ? Ops::scaled(a, number)
                       : op == 6  ? Ops::absolute(a)
                       : op == 7  ? Ops::clipped(a)
                       : op == 8  ? Ops::negative(a)
                       : op == 9  ? Ops::turned_twice(a)
                       : op == 10 ? Ops::flat_and_back(a, columns_)
                       : op == 11 ? Ops::swapped(a)
                                  : Ops::through_i32(Ops::clipped(a)));
    }
  }

  std::mt19937 random_;
  std::int64_t rows_ = 1;
  std::int64_t columns_ = 1;
  int steps_ = 0;
  std::vector<int> choices_;
};

}  // namespace plimsoll::data::testing
