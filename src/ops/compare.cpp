// less, logical_and ...: bool results, without a gradient.
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

#include "ops/elementwise_defs.h"

namespace plimsoll::ops {
namespace {

constexpr OpDef bool_op(std::string_view name, std::string_view summary, int inputs,
                        DTypeSet dtypes) {
  return {.name = name,
          .family = "compare",
          .summary = summary,
          .inputs = inputs,
          .dtypes = dtypes,
          .types =
              [](const OpInputs& given) {
                given.require_same_dtype();
                return std::vector<TensorType>{{DType::boolean, broadcast_shape(given)}};
              },
          .cheap = true,
          .channels = {.rule = ChannelRule::pointwise}};
}

constexpr DTypeSet kBool = {DType::boolean};
constexpr OpDef kEqual = bool_op("equal", "a == b", 2, kAnyDType);
constexpr OpDef kNotEqual = bool_op("not_equal", "a != b", 2, kAnyDType);
constexpr OpDef kLess = bool_op("less", "a < b", 2, kAnyDType);
constexpr OpDef kLessEqual = bool_op("less_equal", "a <= b", 2, kAnyDType);
constexpr OpDef kAnd = bool_op("logical_and", "a and b", 2, kBool);
constexpr OpDef kOr = bool_op("logical_or", "a or b", 2, kBool);
constexpr OpDef kNot = bool_op("logical_not", "not x", 1, kBool);
constexpr OpDef kIsFinite = bool_op("is_finite", "neither NaN nor infinite", 1, kFloats);

constexpr std::array kCompareOps = {&kEqual, &kNotEqual, &kLess, &kLessEqual,
                                    &kAnd,   &kOr,       &kNot,  &kIsFinite};

const RegisterOps kCompareRegistered(kCompareOps);

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) { return call_one(kEqual, {a, b}); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return call_one(kNotEqual, {a, b}); }
Tensor less(const Tensor& a, const Tensor& b) { return call_one(kLess, {a, b}); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return call_one(kLessEqual, {a, b}); }
Tensor greater(const Tensor& a, const Tensor& b) { return call_one(kLess, {b, a}); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return call_one(kLessEqual, {b, a}); }
Tensor logical_and(const Tensor& a, const Tensor& b) { return call_one(kAnd, {a, b}); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return call_one(kOr, {a, b}); }
Tensor logical_not(const Tensor& x) { return call_one(kNot, {x}); }
Tensor is_finite(const Tensor& x) { return call_one(kIsFinite, {x}); }

}  // namespace plimsoll::ops
