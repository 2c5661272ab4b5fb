#include "indexing.h"

#include <string>
#include <vector>

#include <plimsoll/base/error.h>
#include <plimsoll/math/index.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

#include "convert.h"
#include "process.h"
#include "values.h"

namespace plimsoll::python {
namespace {

Tensor take(const Tensor& x, int dim, std::int64_t index) {
  const std::int64_t extent = x.dim(dim);
  const std::int64_t at = index < 0 ? index + extent : index;
  if (at < 0 || at >= extent) {
    throw nb::index_error(("[index] " + std::to_string(index) + " is outside of dimension " +
                           std::to_string(dim) + ", which has " + std::to_string(extent) +
                           " elements")
                              .c_str());
  }
  if (!is_followed(x)) return x.select(dim, at);
  return ops::reshape(ops::slice(x, dim, at, at + 1), x.shape().with_removed(dim));
}

Tensor cut(const Tensor& x, int dim, nb::handle slice) {
  Py_ssize_t begin = 0;
  Py_ssize_t end = 0;
  Py_ssize_t step = 0;
  if (PySlice_Unpack(slice.ptr(), &begin, &end, &step) != 0) throw nb::python_error();
  if (step < 1) wrong_value({"index", "the step"}, slice, "it must not be 0");
  PySlice_AdjustIndices(x.dim(dim), &begin, &end, step);
  if (begin > end) end = begin;
  if (begin == 0 && end == x.dim(dim) && step == 1) return x;
  return is_followed(x) ? ops::slice(x, dim, begin, end, step) : x.slice(dim, begin, end, step);
}

std::vector<nb::object> parts_of(nb::handle index) {
  std::vector<nb::object> parts;
  if (PyTuple_Check(index.ptr()) != 0) {
    for (nb::handle each : index) parts.push_back(nb::borrow(each));
  } else {
    parts.push_back(nb::borrow(index));
  }
  return parts;
}

/// Lists, and arrays of others that are no scalars.
bool is_array(nb::handle each) {
  return PyList_Check(each.ptr()) != 0 ||
         (nb::hasattr(each, "__array_interface__") && nb::len(nb::getattr(each, "shape")) > 0);
}

/// True for what only math::index does: tensors, lists and arrays of indices, masks, steps
/// backwards. The rest are views.
bool is_general(const std::vector<nb::object>& parts) {
  for (const nb::object& each : parts) {
    if (PySlice_Check(each.ptr()) != 0) {
      Py_ssize_t begin = 0;
      Py_ssize_t end = 0;
      Py_ssize_t step = 0;
      if (PySlice_Unpack(each.ptr(), &begin, &end, &step) != 0) throw nb::python_error();
      if (step < 0) return true;
    } else if (is_tensor(each) || is_array(each)) {
      return true;
    }
  }
  return false;
}

math::Index entry(nb::handle each, const Tensor& x) {
  if (each.is_none()) return math::NewAxis{};
  if (each.ptr() == Py_Ellipsis) return math::Rest{};
  if (PySlice_Check(each.ptr()) != 0) {
    const auto bound = [&](const char* name) -> std::optional<std::int64_t> {
      const nb::object value = nb::getattr(each, name);
      if (value.is_none()) return std::nullopt;
      return as_int(value, {"index", "the slice"});
    };
    return math::Range{bound("start"), bound("stop"), bound("step").value_or(1)};
  }
  if (is_tensor(each)) return as_tensor(each, {"index", "the index"});
  if (is_array(each)) {
    // What is traced is on no device yet, and takes the indices as a constant.
    return make_tensor(each, std::nullopt,
                       x.is_symbolic() ? as_device(nb::none(), {"index", "device"}) : x.device());
  }
  if (PyIndex_Check(each.ptr()) != 0 && PyBool_Check(each.ptr()) == 0) {
    return as_int(each, {"index", "the index"});
  }
  wrong_type({"index", "the index"}, each,
             "give integers, slices, None, ..., or tensors of integers or bools");
}

Tensor general_item(const Tensor& x, const std::vector<nb::object>& parts) {
  std::vector<math::Index> entries;
  for (const nb::object& each : parts) entries.push_back(entry(each, x));
  const Unlocked unlocked;
  return math::index(x, entries);
}

Tensor grow(const Tensor& x, int dim) {
  return is_followed(x) ? ops::reshape(x, x.shape().with_inserted(dim, 1)) : x.unsqueeze(dim);
}

}  // namespace

bool is_followed(const Tensor& x) { return x.is_symbolic() || ViewListener::current() != nullptr; }

Tensor get_item(const Tensor& x, nb::handle index) {
  const std::vector<nb::object> parts = parts_of(index);
  if (is_general(parts)) return general_item(x, parts);
  int used = 0;
  for (const nb::object& each : parts) {
    if (!each.is_none() && each.ptr() != Py_Ellipsis) ++used;
  }
  if (used > x.rank()) {
    throw nb::index_error(("[index] " + std::to_string(used) + " indices for a tensor of shape " +
                           x.shape().to_string())
                              .c_str());
  }
  Tensor result = x;
  int dim = 0;
  bool widened = false;
  for (const nb::object& each : parts) {
    if (each.is_none()) {
      result = grow(result, dim++);
    } else if (each.ptr() == Py_Ellipsis) {
      if (widened) throw nb::index_error("[index] `...` may stand in an index once");
      widened = true;
      dim += x.rank() - used;
    } else if (PySlice_Check(each.ptr()) != 0) {
      result = cut(result, dim, each);
      ++dim;
    } else if (PyIndex_Check(each.ptr()) != 0 && PyBool_Check(each.ptr()) == 0) {
      result = take(result, dim, as_int(each, {"index", "the index"}));
    } else {
      wrong_type({"index", "the index"}, each,
                 "give integers, slices, None, ..., or tensors of integers or bools");
    }
  }
  return result;
}

void set_item(Tensor& x, nb::handle index, nb::handle value) {
  if (is_followed(x)) {
    throw InvalidArgument(
        "[setitem] a tensor cannot be written to while it is traced or on a tape; compute a new "
        "one "
        "with pm.where, pm.concat or pm.scatter_add");
  }
  if (x.storage()->read_only()) {
    throw InvalidArgument(
        "[setitem] the tensor is read-only, as the array that it shares memory with is, or as its "
        "pipeline still has it; write to x.clone()");
  }
  if (is_general(parts_of(index))) {
    throw InvalidArgument(
        "[setitem] elements that lists, masks or steps backwards choose cannot be written to; "
        "compute a new tensor with pm.where or pm.scatter_nd");
  }
  Tensor part = get_item(x, index);
  Tensor given;
  if (const auto number = as_scalar(value)) {
    if (!ops::has_number(part.dtype(), *number)) {
      throw InvalidArgument("[setitem] " + ops::to_string(*number) + " does not fit the tensor's " +
                            std::string(dtype_name(part.dtype())) +
                            "; cast the tensor first, x = x.to(pm.f32), or write a number that it "
                            "has");
    }
    given = ops::full(part.shape(), *number, part.dtype(), part.device());
  } else {
    given = as_tensor(value, {"setitem", "the value"});
    if (given.dtype() != part.dtype()) {
      throw InvalidArgument("[setitem] the value is " + given.type().to_string() + ", the tensor " +
                            std::string(dtype_name(part.dtype())) +
                            "; cast it first: value.to(x.dtype)");
    }
  }
  const Unlocked unlocked;
  given = ops::broadcast_to(given, part.shape());
  std::vector<std::byte> bytes(static_cast<std::size_t>(part.nbytes()));
  copy_out(given, bytes.data(), given.elements());
  copy_in(part, bytes.data(), part.elements());
}

}  // namespace plimsoll::python
