// rope beside products of complex numbers.
#include <cmath>
#include <complex>

#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

struct RopeCase {
  Shape shape;
  std::int64_t size = 0;
  std::int64_t heads = 0;
  bool interleaved = false;
  bool inverse = false;
};

OpCase rope_case(const RopeCase& c) {
  const std::int64_t half = c.size / 2;
  const std::int64_t tokens = c.shape.dim(-2);
  const std::int64_t columns = c.shape.dim(-1);
  std::vector<double> cos;
  std::vector<double> sin;
  for (std::int64_t i = 0; i < tokens * half; ++i) {
    const double angle = 0.4 + 1.3 * static_cast<double>(i);
    cos.push_back(std::cos(angle));
    sin.push_back(std::sin(angle));
  }
  std::vector<double> x;
  for (std::int64_t i = 0; i < c.shape.elements(); ++i) {
    x.push_back(2 * std::sin(0.9 * static_cast<double>(i) + 0.2));
  }
  std::vector<double> y = x;
  for (std::int64_t row = 0; columns > 0 && row < c.shape.elements() / columns; ++row) {
    for (std::int64_t head = 0; head < c.heads; ++head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const std::int64_t start = row * columns + head * c.size;
        const auto a = static_cast<std::size_t>(start + (c.interleaved ? 2 * i : i));
        const auto b = static_cast<std::size_t>(start + (c.interleaved ? 2 * i + 1 : i + half));
        const double angle = 0.4 + 1.3 * static_cast<double>(row % tokens * half + i);
        const std::complex<double> turned =
            std::complex<double>(x[a], x[b]) * std::polar(1.0, c.inverse ? -angle : angle);
        y[a] = turned.real();
        y[b] = turned.imag();
      }
    }
  }
  const Shape table{tokens, half};
  return {.op = "rope",
          .attributes = {{"size", c.size},
                         {"heads", c.heads},
                         {"interleaved", c.interleaved},
                         {"inverse", c.inverse}},
          .inputs = {from_doubles(x, c.shape, DType::f64), from_doubles(cos, table, DType::f64),
                     from_doubles(sin, table, DType::f64)},
          .outputs = {from_doubles(y, c.shape, DType::f64)},
          .wide = {1, 2}};
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  std::vector<OpCase> cases;
  for (const bool interleaved : {false, true}) {
    for (const bool inverse : {false, true}) {
      const auto add = [&](const Shape& shape, std::int64_t size, std::int64_t heads) {
        cases.push_back(rope_case({shape, size, heads, interleaved, inverse}));
      };
      add({2, 3, 4}, 4, 1);
      add({3, 2}, 2, 1);
      add({2, 2, 3, 10}, 10, 1);
      add({2, 3, 12}, 4, 2);   // the last head of a row stays as it is
      add({2, 5, 72}, 8, 9);   // more heads than a thread of a GPU has
      add({1, 3, 96}, 16, 5);  // whole words of 16 bytes
      add({3, 1, 64}, 32, 1);
      add({2, 3, 4}, 2, 0);
      add({0, 3, 4}, 4, 1);
      add({2, 0, 4}, 2, 1);
      add({2, 3, 0}, 4, 0);
    }
  }
  return cases;
});

}  // namespace
}  // namespace plimsoll::test
