// Single products and attentions on a GPU, recorded as a step is. Reads lines
//
//   product PRECISION TRANSPOSE_A TRANSPOSE_B BATCHES M N K
//   attention PRECISION CAUSAL BATCHES HEADS TOKENS SIZE
//
// and answers each with a line of JSON: microseconds, those predicted, and whether elements that
// were looked at are right. bench/products.py runs it beside PyTorch.
#include <cmath>
#include <random>

#include <plimsoll/ops/product_shape.h>

#include "single_op.h"

namespace {

using namespace plimsoll;
using namespace plimsoll::bench;

/// Some elements of c against sums in double. -1: too large to look at.
int errors(const ops::ProductShape& s, const Tensor& a, const Tensor& b, const Tensor& c) {
  if (a.type().bytes() + b.type().bytes() + c.type().bytes() > MiB(96)) return -1;
  const Numbers x(a);
  const Numbers y(b);
  const Numbers z(c);
  std::mt19937_64 random(5);
  const double relative = s.dtype == DType::f32 ? 1e-5 : s.dtype == DType::f16 ? 1e-3 : 8e-3;
  const double absolute = s.tf32 ? 4e-3 : 2e-4;
  int wrong = 0;
  for (int i = 0; i < 64; ++i) {
    const auto at =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(s.batches * s.m * s.n));
    // The last elements are where copies would go wrong.
    const std::int64_t element = i < 8 ? s.batches * s.m * s.n - 1 - i % (s.m * s.n) : at;
    const std::int64_t batch = element / (s.m * s.n);
    const std::int64_t row = element / s.n % s.m;
    const std::int64_t column = element % s.n;
    double sum = 0;
    for (std::int64_t k = 0; k < s.k; ++k) {
      const std::int64_t left = s.transpose_a ? k * s.m + row : row * s.k + k;
      const std::int64_t right = s.transpose_b ? column * s.k + k : k * s.n + column;
      sum += x[batch * s.m * s.k + left] * y[batch * s.k * s.n + right];
    }
    const double most = relative * std::abs(sum) + absolute * std::sqrt(static_cast<double>(s.k));
    if (!(std::abs(z[element] - sum) <= most)) ++wrong;
  }
  return wrong;
}

nlohmann::json product(std::istringstream& words, const Place& place) {
  const auto& [device, described, stream] = place;
  std::string precision;
  ops::ProductShape s;
  words >> precision >> s.transpose_a >> s.transpose_b >> s.batches >> s.m >> s.n >> s.k;
  s.dtype = dtype_named(precision);
  s.tf32 = precision == "tf32";
  const auto shape = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    if (transposed) std::swap(rows, columns);
    return s.batches == 1 ? Shape{rows, columns} : Shape{s.batches, rows, columns};
  };
  Attributes attributes = {{"transpose_a", s.transpose_a}, {"transpose_b", s.transpose_b}};
  if (s.tf32) attributes.set("tf32", true);
  const Tensor a = random(shape(s.m, s.k, s.transpose_a), s.dtype, device);
  const Tensor b = random(shape(s.k, s.n, s.transpose_b), s.dtype, device);
  const Call call("matmul", {a, b}, attributes, device);
  const double took = microseconds(call, device, stream);
  const ops::ProductRoute route = ops::product_route(s);
  return {{"us", took},
          {"predicted", call.predicted(described)},
          {"errors", errors(s, a, b, call.results[0])},
          {"copies", route.copy_a + route.copy_b + route.copy_c},
          {"within", call.workspace <= call.allowed}};
}

nlohmann::json attention(std::istringstream& words, const Place& place) {
  const auto& [device, described, stream] = place;
  std::string precision;
  bool causal = false;
  std::int64_t n = 0;
  std::int64_t heads = 0;
  std::int64_t tokens = 0;
  std::int64_t size = 0;
  words >> precision >> causal >> n >> heads >> tokens >> size;
  Attributes attributes = {
      {"heads", heads}, {"causal", causal}, {"scale", 1 / std::sqrt(static_cast<double>(size))}};
  if (precision == "tf32") attributes.set("tf32", true);
  const DType dtype = dtype_named(precision);
  const Tensor qkv = random({n, tokens, 3 * heads * size}, dtype, device);
  const Tensor dy = random({n, tokens, heads * size}, dtype, device);
  const Call forward("self_attention", {qkv}, attributes, device);
  const double us = microseconds(forward, device, stream);
  const Call backward("self_attention_grad", {qkv, forward.results[0], forward.results[1], dy},
                      attributes, device);
  const double grad = microseconds(backward, device, stream);
  return {
      {"us", us},
      {"predicted", forward.predicted(described)},
      {"grad_us", grad},
      {"grad_predicted", backward.predicted(described)},
      {"within", forward.workspace <= forward.allowed && backward.workspace <= backward.allowed}};
}

}  // namespace

int main() {
  return answer_lines([](std::istringstream& words, const Place& place) {
    std::string kind;
    words >> kind;
    return kind == "product" ? product(words, place) : attention(words, place);
  });
}
