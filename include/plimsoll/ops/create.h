#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include <plimsoll/ops/scalar.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll {

// Tensors from nothing: f32 and on the DefaultDevice unless something else is said. All throw
// OutOfMemory, and InvalidArgument for what cannot be.

/// What to say about a tensor besides its shape: `pm::zeros({2, 3}, {.dtype = pm::DType::i64})`.
struct CreateOptions {
  DType dtype = DType::f32;
  std::optional<Device> device = std::nullopt;
};

Tensor zeros(const Shape& shape, const CreateOptions& options = {});
Tensor ones(const Shape& shape, const CreateOptions& options = {});
Tensor full(const Shape& shape, const ops::Scalar& value, const CreateOptions& options = {});
/// 0, 1, ... count - 1.
Tensor arange(std::int64_t count, const CreateOptions& options = {});
/// first, first + step, ... before `end`. Integers as i64 are exact, whatever their size.
Tensor arange(const ops::Scalar& first, const ops::Scalar& end, const ops::Scalar& step = 1,
              const CreateOptions& options = {});
/// `count` numbers from `first` to `last`, both of them included.
Tensor linspace(double first, double last, std::int64_t count, const CreateOptions& options = {});
/// Ones on the diagonal of a square matrix.
Tensor eye(std::int64_t size, const CreateOptions& options = {});
/// Random numbers, of floating dtypes: see set_seed() and ops/random.h.
Tensor random_uniform(const Shape& shape, double low = 0, double high = 1,
                      const CreateOptions& options = {});
Tensor random_normal(const Shape& shape, double mean = 0, double deviation = 1,
                     const CreateOptions& options = {});

/// A number, or a list of such: {{1, 2}, {3, 4}}.
class Nested {
 public:
  Nested(double number) : number_(number) {}  // NOLINT: {1, 2} should read like that
  Nested(std::initializer_list<Nested> list) : list_(list), is_list_(true) {}
  bool is_list() const { return is_list_; }
  double number() const { return number_; }
  const std::vector<Nested>& list() const { return list_; }

 private:
  double number_ = 0;
  std::vector<Nested> list_;
  bool is_list_ = false;
};

/// pm::tensor({{1, 2}, {3, 4}}) has shape [2,2]. InvalidArgument for lists of unequal lengths.
Tensor tensor(const Nested& values, const CreateOptions& options = {});

}  // namespace plimsoll
