#pragma once

// What Python gives, as the library wants it. Each function takes any object and either converts it
// or raises TypeError or InvalidArgument naming the function, the argument, the value and what
// would do. All need the GIL.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/base/shape.h>
#include <plimsoll/device/device.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/scalar.h>
#include <plimsoll/tensor/tensor.h>

namespace nb = nanobind;

namespace plimsoll::python {

/// Where an argument stands, for messages: {"zeros", "shape"}.
struct Where {
  const char* function;
  const char* argument;
};

/// Raises TypeError: "[zeros] shape is 'abc' (a str); give integers: (2, 3)".
[[noreturn]] void wrong_type(Where where, nb::handle value, const char* expected);
/// Raises InvalidArgument in the same words, for a value that cannot be.
[[noreturn]] void wrong_value(Where where, nb::handle value, const char* expected);

/// A Tensor, or a Variable, which is read. TypeError for all else: nothing is copied silently.
Tensor as_tensor(nb::handle value, Where where);
/// The same; None is an undefined tensor.
Tensor as_optional_tensor(nb::handle value, Where where);
bool is_tensor(nb::handle value);
/// A list or tuple of them.
std::vector<Tensor> as_tensors(nb::handle value, Where where);
/// One of them, or a list or tuple.
std::vector<Tensor> as_one_or_more_tensors(nb::handle value, Where where);

/// int, float and what says it is a number, like NumPy's scalars; nullopt for all else.
std::optional<double> as_number(nb::handle value);
/// The same, with integers as they are written.
std::optional<ops::Scalar> as_scalar(nb::handle value);
double as_double(nb::handle value, Where where);
std::int64_t as_int(nb::handle value, Where where);
/// A list or tuple of integers; one integer is a list of one.
std::vector<std::int64_t> as_ints(nb::handle value, Where where);
Shape as_shape(nb::handle value, Where where);
/// None is an empty list: all axes.
std::vector<std::int64_t> as_axes(nb::handle value, Where where);

/// A DType, its name ("f32", "float32"), a NumPy dtype, or Python's float, int, bool, bytes.
DType as_dtype(nb::handle value, Where where);

/// A Device, a Session, or a name ("cpu", "cuda:0"), which is opened. None is the default device.
Device as_device(nb::handle value, Where where);
std::optional<Device> as_optional_device(nb::handle value, Where where);

/// An integer, or "8GiB". Negative ones are refused.
Bytes as_bytes(nb::handle value, Where where);
/// The same, "50%", a share as a float, or None for nothing said.
Limit as_limit(nb::handle value, Where where);

/// A str or a Path.
std::string as_path(nb::handle value, Where where);
std::vector<std::string> as_paths(nb::handle value, Where where);
std::string as_text(nb::handle value, Where where);
std::vector<std::string> as_texts(nb::handle value, Where where);

/// "nchw" or "nhwc".
Layout as_layout(nb::handle value, Where where);

/// "4 MiB of 8 MiB used", or "4 MiB used" where there is no limit.
std::string use_of(const Budget& budget);

/// How many elements a Python container has.
std::int64_t length(nb::handle container);
/// A tuple of Python integers.
nb::tuple shape_tuple(const Shape& shape);

}  // namespace plimsoll::python
