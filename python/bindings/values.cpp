#include "values.h"

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/ops/elementwise.h>

#include "convert.h"
#include "exchange.h"
#include "process.h"

namespace plimsoll::python {
namespace {

/// Calls `use` with a value of the C++ type of `dtype`.
template <typename Use>
void with_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::f64:
      return use(double{});
    case DType::f32:
      return use(float{});
    case DType::f16:
      return use(Float16{});
    case DType::bf16:
      return use(BFloat16{});
    case DType::i64:
      return use(std::int64_t{});
    case DType::i32:
      return use(std::int32_t{});
    case DType::i16:
      return use(std::int16_t{});
    case DType::i8:
      return use(std::int8_t{});
    case DType::u16:
      return use(std::uint16_t{});
    case DType::u8:
      return use(std::uint8_t{});
    case DType::boolean:
      return use(bool{});
    case DType::bytes:
      break;
  }
  throw InvalidArgument("[tensor] a tensor of byte strings has no numbers; use tolist()");
}

nb::object number(DType dtype, const void* at) {
  nb::object made;
  with_type(dtype, [&](auto value) {
    std::memcpy(static_cast<void*>(&value), at, sizeof(value));
    if constexpr (std::is_same_v<decltype(value), bool>) {
      made = nb::bool_(value);
    } else if constexpr (std::is_integral_v<decltype(value)>) {
      made = nb::int_(static_cast<std::int64_t>(value));
    } else {
      made = nb::float_(static_cast<double>(static_cast<float>(value)));
    }
    if constexpr (std::is_same_v<decltype(value), double>) made = nb::float_(value);
  });
  return made;
}

nb::bytes bytes_at(const Tensor& x, std::int64_t index) {
  const std::string_view text = x.string_at(index);
  return nb::bytes(text.data(), text.size());
}

void refuse_symbolic(const Tensor& x, const char* who) {
  if (!x.defined() || !x.is_symbolic()) return;
  throw InvalidArgument(
      "[" + std::string(who) +
      "] this tensor has no value yet: the function around it is being traced, and runs once for "
      "all its calls. Use pm.where(condition, a, b) instead of `if`, and look at values outside");
}

std::vector<std::byte> host_copy(const Tensor& x) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(x.nbytes()));
  const Unlocked unlocked;
  copy_out(x, bytes.data(), x.elements());
  return bytes;
}

nb::object nested(const Tensor& x, const std::byte* bytes, int dim, std::int64_t& next) {
  if (dim == x.rank()) {
    const std::int64_t at = next++;
    if (x.dtype() == DType::bytes) return bytes_at(x, at);
    return number(x.dtype(), bytes + at * static_cast<std::int64_t>(dtype_size(x.dtype())));
  }
  nb::list list;
  for (std::int64_t i = 0; i < x.dim(dim); ++i) list.append(nested(x, bytes, dim + 1, next));
  return list;
}

/// What nested lists hold, read once.
struct Numbers {
  std::vector<std::int64_t> shape;
  std::vector<double> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  bool any_float = false;
  bool all_bool = true;

  void read(nb::handle value, std::size_t depth) {
    if (PyList_Check(value.ptr()) != 0 || PyTuple_Check(value.ptr()) != 0 ||
        PyRange_Check(value.ptr()) != 0) {
      const auto size = length(value);
      if (shape.size() == depth) {
        if (!floats.empty() || !strings.empty()) ragged(value);
        shape.push_back(size);
      } else if (shape[depth] != size) {
        ragged(value);
      }
      for (nb::handle each : value) read(each, depth + 1);
      return;
    }
    if (depth != shape.size()) ragged(value);
    if (PyUnicode_Check(value.ptr()) != 0) {
      strings.push_back(as_text(value, {"tensor", "data"}));
    } else if (PyBytes_Check(value.ptr()) != 0) {
      const auto bytes = nb::borrow<nb::bytes>(value);
      strings.emplace_back(bytes.c_str(), bytes.size());
    } else if (is_tensor(value) || nb::hasattr(value, "__array_interface__")) {
      read_array(value, depth);
    } else if (const auto number = as_number(value)) {
      const bool is_bool = PyBool_Check(value.ptr()) != 0;
      const bool is_int = PyLong_Check(value.ptr()) != 0;
      all_bool = all_bool && is_bool;
      any_float = any_float || !is_int;
      floats.push_back(*number);
      ints.push_back(is_int ? as_int(value, {"tensor", "data"}) : 0);
    } else {
      wrong_type({"tensor", "data"}, value,
                 PyIter_Check(value.ptr()) != 0
                     ? "make a list of what it gives: pm.tensor(list(values))"
                     : "it must be numbers, byte strings, lists of such, or an array");
    }
  }
  /// A tensor or an array in a list: one without dimensions is a number.
  void read_array(nb::handle value, std::size_t depth) {
    if (nb::cast<int>(value.attr("ndim")) > 0) {
      wrong_type({"tensor", "a part of data"}, value,
                 "lists hold numbers; pm.stack([a, b]) makes one tensor of several");
    }
    read(is_tensor(value) ? item(as_tensor(value, {"tensor", "data"})) : value.attr("item")(),
         depth);
  }
  [[noreturn]] static void ragged(nb::handle value) {
    wrong_value({"tensor", "data"}, value, "lists in it must have equal lengths at each depth");
  }
};

}  // namespace

void copy_in(Tensor& to, const void* from, std::int64_t count) {
  with_type(to.dtype(), [&](auto value) {
    using T = decltype(value);
    to.copy_from(std::span<const T>(static_cast<const T*>(from), static_cast<std::size_t>(count)));
  });
}

void copy_out(const Tensor& from, void* to, std::int64_t count) {
  with_type(from.dtype(), [&](auto value) {
    using T = decltype(value);
    from.copy_to(std::span<T>(static_cast<T*>(to), static_cast<std::size_t>(count)));
  });
}

nb::object item(const Tensor& x) {
  refuse_symbolic(x, "item");
  if (x.elements() != 1) {
    throw InvalidArgument("[item] a tensor of shape " + x.shape().to_string() +
                          " has no single value; index it, or use tolist()");
  }
  if (x.dtype() == DType::bytes) return bytes_at(x, 0);
  const std::vector<std::byte> bytes = host_copy(x);
  return number(x.dtype(), bytes.data());
}

nb::object to_list(const Tensor& x) {
  refuse_symbolic(x, "tolist");
  std::vector<std::byte> bytes;
  if (x.dtype() != DType::bytes) bytes = host_copy(x);
  std::int64_t next = 0;
  return nested(x, bytes.data(), 0, next);
}

bool truth(const Tensor& x) {
  refuse_symbolic(x, "bool");
  if (x.elements() != 1) {
    throw InvalidArgument("[bool] a tensor of shape " + x.shape().to_string() +
                          " is neither true nor false; use x.all() or x.any()");
  }
  return nb::cast<bool>(nb::bool_(item(x)));
}

nb::object as_index(const Tensor& x) {
  if (!is_integer(x.dtype())) {
    throw nb::type_error(("[index] a tensor of " + std::string(dtype_name(x.dtype())) +
                          " is not an integer; cast it: x.to(pm.i64)")
                             .c_str());
  }
  return item(x);
}

namespace {

/// An array whose memory can be shared: itself, or a copy of one that runs backwards or has its
/// bytes in the other order. Text is a list.
nb::object shareable(nb::handle data) {
  if (!nb::hasattr(data, "__array_interface__")) return nb::borrow(data);
  const nb::object dtype = data.attr("dtype");
  const auto kind = nb::cast<std::string>(nb::str(nb::object(dtype.attr("kind"))));
  if (kind == "U" || kind == "S") return data.attr("tolist")();
  if ((kind == "i" || kind == "f" || kind == "u") && !nb::cast<bool>(dtype.attr("isnative"))) {
    return data.attr("astype")(dtype.attr("newbyteorder")("="));
  }
  for (nb::handle stride : nb::object(data.attr("strides"))) {
    if (nb::cast<std::int64_t>(stride) < 0) return data.attr("copy")();
  }
  return nb::borrow(data);
}

}  // namespace

Tensor make_tensor(nb::handle given_data, std::optional<DType> dtype, const Device& device) {
  const nb::object data = shareable(given_data);
  Tensor made;
  if (is_tensor(data)) {
    const Tensor given = as_tensor(data, {"tensor", "data"});
    const Unlocked unlocked;
    made = given.clone(device, {});
  } else if (has_buffer(data)) {
    const Tensor shared = from_buffer(data, {"tensor", "data"});
    const Unlocked unlocked;
    made = shared.clone(device, {});
  } else if (nb::hasattr(data, "__dlpack__")) {
    const Tensor shared = from_dlpack_object(data);
    const Unlocked unlocked;
    made = shared.clone(device, {});
  } else {
    Numbers numbers;
    numbers.read(data, 0);
    const Shape shape{std::span<const std::int64_t>(numbers.shape)};
    if (!numbers.strings.empty()) {
      if (!numbers.floats.empty()) {
        wrong_value({"tensor", "data"}, data, "it must be either numbers or byte strings");
      }
      // Strings are the host's wherever numbers go.
      const bool here = device.capabilities().host_memory;
      return Tensor::from_strings(std::span<const std::string>(numbers.strings), shape,
                                  here ? device : DefaultDevice::host());
    }
    const bool integers = !numbers.any_float && !numbers.ints.empty();
    if (dtype == DType::f64 || (!integers && dtype && *dtype != DType::f32)) {
      made = Tensor::from_values(std::span<const double>(numbers.floats), shape, device);
    } else if (integers) {
      made = Tensor::from_values(std::span<const std::int64_t>(numbers.ints), shape, device);
      if (!dtype) dtype = numbers.all_bool ? DType::boolean : DType::i64;
    } else {
      const std::vector<float> floats(numbers.floats.begin(), numbers.floats.end());
      made = Tensor::from_values(std::span<const float>(floats), shape, device);
    }
  }
  if (!dtype || *dtype == made.dtype()) return made;
  const Unlocked unlocked;
  return ops::cast(made, *dtype);
}

}  // namespace plimsoll::python
