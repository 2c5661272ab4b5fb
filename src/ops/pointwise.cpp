#include <plimsoll/ops/pointwise.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "ops/pointwise_ops.h"

namespace plimsoll::ops {

std::optional<PointwiseArray> pointwise_array(const TensorType& input, const Shape& output) {
  PointwiseArray array{.dtype = input.dtype};
  const std::int64_t elements = output.elements();
  if (input.elements() == elements) return array;
  if (input.elements() == 1) {
    array.spread = Spread::single;
    return array;
  }
  // Kernels divide in 32 bits.
  if (elements >= std::int64_t{1} << 32) return std::nullopt;
  // Dimensions, the last first: repeated or not, in two runs at most.
  const Shape& shape = input.shape;
  std::int64_t last = 1;  // elements of the run at the end
  int runs = 0;
  std::optional<bool> repeated;
  bool repeated_at_the_end = false;
  for (int d = output.rank() - 1; d >= 0; --d) {
    if (output[d] == 1) continue;
    const int of_input = d - (output.rank() - shape.rank());
    const bool repeats = of_input < 0 || shape[of_input] == 1;
    if (!repeated || *repeated != repeats) {
      if (++runs == 1) repeated_at_the_end = repeats;
      if (runs > 2) return std::nullopt;
      repeated = repeats;
    }
    if (runs == 1) last *= output[d];
  }
  array.spread = repeated_at_the_end ? Spread::columns : Spread::rows;
  array.inner = last;
  return array;
}

bool is_pointwise(const OpDef& op, std::span<const TensorType> inputs,
                  std::span<const TensorType> outputs) {
  const PointwiseOp* known = find_pointwise_op(op.name);
  if (known == nullptr || op.writes != 0 || op.view) return false;
  if (outputs.size() != 1 || inputs.size() != static_cast<std::size_t>(known->inputs)) return false;
  if (outputs[0].elements() == 0) return false;
  return std::ranges::all_of(inputs, [&](const TensorType& input) {
    return input.dtype != DType::bytes && pointwise_array(input, outputs[0].shape).has_value();
  });
}

namespace {

struct Compilers {
  std::mutex mutex;
  std::map<std::string, PointwiseCompiler, std::less<>> by_backend;
};

/// Never destroyed: whatever is static may still compute.
Compilers& compilers() {
  static auto* const the = new Compilers;  // NOLINT(cppcoreguidelines-owning-memory)
  return *the;
}

}  // namespace

RegisterPointwise::RegisterPointwise(std::string_view backend, PointwiseCompiler compiler) {
  Compilers& all = compilers();
  const std::lock_guard lock(all.mutex);
  if (!all.by_backend.emplace(backend, compiler).second) {
    throw InternalError(fmt::format("[RegisterPointwise] {} has a compiler already", backend));
  }
}

const PointwiseCompiler* pointwise_compiler(std::string_view backend) {
  Compilers& all = compilers();
  const std::lock_guard lock(all.mutex);
  const auto it = all.by_backend.find(backend);
  return it == all.by_backend.end() ? nullptr : &it->second;
}

}  // namespace plimsoll::ops
