#include "convert.h"

#include <cmath>

#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/ops/variable.h>

#include "process.h"
#include "symbolic.h"

namespace plimsoll::python {
namespace {

/// "'abc' (a str)", "the class ReLU", "the function relu", "a list_iterator".
std::string shown(nb::handle value) {
  if (value.is_none()) return "None";
  if (PyType_Check(value.ptr()) != 0) {
    return "the class " + nb::cast<std::string>(value.attr("__name__"));
  }
  const auto type = nb::cast<std::string>(value.type().attr("__name__"));
  const bool is_vowel = std::string("aeiouAEIOU").find(type[0]) != std::string::npos;
  std::string kind = (is_vowel ? "an " : "a ") + type;
  // Of arrays and tensors their extents say more than some of their elements.
  if (nb::hasattr(value, "shape") && nb::hasattr(value, "dtype") && nb::hasattr(value, "ndim")) {
    const nb::object shape = value.attr("shape");
    if (PyTuple_Check(shape.ptr()) != 0 && length(shape) > 0 && type != "Symbolic") {
      return kind + " of shape " + nb::cast<std::string>(nb::repr(shape));
    }
  }
  std::string text = nb::cast<std::string>(nb::repr(value));
  if (text.find(" at 0x") != std::string::npos) {
    if (!nb::hasattr(value, "__name__") || PyIter_Check(value.ptr()) != 0) return kind;
    return "the function " + nb::cast<std::string>(nb::str(value.attr("__name__")));
  }
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text + " (" + kind + ")";
}

std::string message(Where where, nb::handle value, const char* expected) {
  return "[" + std::string(where.function) + "] " + where.argument + " is " + shown(value) + "; " +
         expected;
}

bool is_text(nb::handle value) { return PyUnicode_Check(value.ptr()) != 0; }
bool is_list(nb::handle value) {
  return PyList_Check(value.ptr()) != 0 || PyTuple_Check(value.ptr()) != 0;
}

std::string text_of(nb::handle value) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

void wrong_type(Where where, nb::handle value, const char* expected) {
  throw nb::type_error(message(where, value, expected).c_str());
}

void wrong_value(Where where, nb::handle value, const char* expected) {
  throw InvalidArgument(message(where, value, expected));
}

bool is_tensor(nb::handle value) {
  return nb::isinstance<Tensor>(value) || nb::isinstance<Variable>(value);
}

Tensor as_tensor(nb::handle value, Where where) {
  Tensor* tensor = nullptr;
  if (nb::try_cast(value, tensor) && tensor != nullptr) return *tensor;
  Variable* variable = nullptr;
  if (nb::try_cast(value, variable) && variable != nullptr) {
    check_process();
    return variable->value();
  }
  if (nb::isinstance<Traced>(value)) {
    throw nb::type_error(
        ("[" + std::string(where.function) +
         "] it cannot be traced by map(), whose function got a component for " + where.argument +
         "; compute it with other ops, or use map(f, python=True), which calls the "
         "function with NumPy arrays for each element")
            .c_str());
  }
  wrong_type(where, value, "it must be a tensor: pm.tensor(...) makes one of numbers and arrays");
}

Tensor as_optional_tensor(nb::handle value, Where where) {
  return value.is_none() ? Tensor() : as_tensor(value, where);
}

std::vector<Tensor> as_tensors(nb::handle value, Where where) {
  if (!is_list(value)) wrong_type(where, value, "it must be a list of tensors");
  std::vector<Tensor> tensors;
  for (nb::handle each : value) tensors.push_back(as_tensor(each, where));
  return tensors;
}

std::vector<Tensor> as_one_or_more_tensors(nb::handle value, Where where) {
  if (is_list(value)) return as_tensors(value, where);
  return {as_tensor(value, where)};
}

std::optional<double> as_number(nb::handle value) {
  if (PyFloat_Check(value.ptr()) != 0 || PyLong_Check(value.ptr()) != 0) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return number;
  }
  if (is_tensor(value) || is_text(value) || nb::isinstance<Traced>(value)) return std::nullopt;
  // NumPy's scalars say "()" as their shape and convert.
  if (nb::hasattr(value, "__float__") && nb::hasattr(value, "dtype") &&
      nb::hasattr(value, "shape") && length(nb::object(value.attr("shape"))) == 0) {
    return nb::cast<double>(nb::float_(value));
  }
  return std::nullopt;
}

std::optional<ops::Scalar> as_scalar(nb::handle value) {
  const auto number = as_number(value);
  if (!number || PyFloat_Check(value.ptr()) != 0 || PyIndex_Check(value.ptr()) == 0) return number;
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {  // an array of one float, say
    PyErr_Clear();
    return number;
  }
  int overflow = 0;
  const std::int64_t whole = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) return number;
  return whole;
}

double as_double(nb::handle value, Where where) {
  if (const auto number = as_number(value)) return *number;
  wrong_type(where, value, "it must be a number");
}

std::int64_t as_int(nb::handle value, Where where) {
  if (PyFloat_Check(value.ptr()) != 0 || PyIndex_Check(value.ptr()) == 0) {
    wrong_type(where, value, "it must be an integer");
  }
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();
    wrong_type(where, value, "it must be an integer");
  }
  const std::int64_t number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    wrong_value(where, value, "it must fit in 64 bits");
  }
  return number;
}

namespace {

/// A tensor or an array of integers with one dimension, as shapes are computed.
bool is_row_of_integers(nb::handle value) {
  Tensor* tensor = nullptr;
  if (nb::try_cast(value, tensor) && tensor != nullptr) {
    return tensor->rank() == 1 && is_integer(tensor->dtype());
  }
  if (!nb::hasattr(value, "__array_interface__")) return false;
  const auto kind = nb::cast<std::string>(nb::str(nb::object(value.attr("dtype").attr("kind"))));
  return nb::cast<int>(value.attr("ndim")) == 1 && (kind == "i" || kind == "u");
}

}  // namespace

std::vector<std::int64_t> as_ints(nb::handle value, Where where) {
  std::vector<std::int64_t> ints;
  if (is_list(value)) {
    for (nb::handle each : value) ints.push_back(as_int(each, where));
  } else if (is_row_of_integers(value)) {
    return as_ints(nb::object(value.attr("tolist")()), where);
  } else if (PyIndex_Check(value.ptr()) != 0) {
    ints.push_back(as_int(value, where));
  } else {
    wrong_type(where, value, "it must be integers: (2, 3)");
  }
  return ints;
}

Shape as_shape(nb::handle value, Where where) {
  const std::vector<std::int64_t> dims = as_ints(value, where);
  for (const std::int64_t each : dims) {
    if (each < 0) wrong_value(where, value, "its extents must not be negative");
  }
  return Shape(dims);
}

std::vector<std::int64_t> as_axes(nb::handle value, Where where) {
  if (value.is_none()) return {};
  return as_ints(value, where);
}

DType as_dtype(nb::handle value, Where where) {
  DType dtype{};
  if (nb::try_cast(value, dtype, false)) return dtype;
  const std::string what = "[" + std::string(where.function) + "] " + where.argument;
  if (is_text(value)) return parse_dtype(text_of(value), what);
  if (PyType_Check(value.ptr()) != 0) {
    const auto name = nb::cast<std::string>(value.attr("__name__"));
    if (name == "float") return DType::f32;
    if (name == "int") return DType::i64;
    if (name == "bytes" || name == "str") return DType::bytes;
    return parse_dtype(name == "bool_" ? "bool" : name, what);
  }
  // A NumPy dtype has a name; PyTorch's says "torch.float32".
  if (nb::hasattr(value, "name") && nb::hasattr(value, "itemsize")) {
    return parse_dtype(nb::cast<std::string>(nb::str(value.attr("name"))), what);
  }
  const auto text = nb::cast<std::string>(nb::str(value));
  if (text.rfind("torch.", 0) == 0) return parse_dtype(text.substr(6), what);
  wrong_type(where, value, "it must be a dtype: pm.f32, or its name");
}

Device as_device(nb::handle value, Where where) {
  use_process();
  if (value.is_none()) return DefaultDevice::get();
  Device* device = nullptr;
  if (nb::try_cast(value, device) && device != nullptr) return *device;
  if (is_text(value)) return Device::open(text_of(value));
  if (nb::hasattr(value, "_session_device")) {
    return nb::cast<Device>(value.attr("_session_device"));
  }
  wrong_type(where, value, "it must be a device: pm.device(\"cpu\"), a session, or a name");
}

std::optional<Device> as_optional_device(nb::handle value, Where where) {
  if (value.is_none()) return std::nullopt;
  return as_device(value, where);
}

Bytes as_bytes(nb::handle value, Where where) {
  if (is_text(value)) {
    return parse_bytes(text_of(value), "[" + std::string(where.function) + "] " + where.argument);
  }
  if (PyFloat_Check(value.ptr()) != 0 || PyBool_Check(value.ptr()) != 0 ||
      PyIndex_Check(value.ptr()) == 0) {
    wrong_type(where, value, "it must be a size: \"8GiB\", or bytes as an integer");
  }
  const std::int64_t bytes = as_int(value, where);
  if (bytes < 0) wrong_value(where, value, "a size is not negative");
  return static_cast<Bytes>(bytes);
}

std::string use_of(const Budget& budget) {
  const std::string used = format_bytes(budget.used());
  if (budget.limit() == kUnlimited) return used + " used";
  return used + " of " + format_bytes(budget.limit()) + " used";
}

Limit as_limit(nb::handle value, Where where) {
  if (value.is_none()) return {};
  if (is_text(value)) {
    return Limit::parse(text_of(value), "[" + std::string(where.function) + "] " + where.argument);
  }
  if (PyFloat_Check(value.ptr()) != 0) {
    const double share = PyFloat_AsDouble(value.ptr());
    if (!(share > 0 && share <= 1)) {
      wrong_value(where, value,
                  "as a float it is a share of the device, above 0 and at most 1; for bytes give "
                  "an integer, or \"8GiB\"");
    }
    return Limit::share(share);
  }
  return as_bytes(value, where);
}

std::string as_path(nb::handle value, Where where) {
  const nb::object path = nb::steal(PyOS_FSPath(value.ptr()));
  if (!path.is_valid()) {
    PyErr_Clear();
    wrong_type(where, value, "it must be a path: a str or a pathlib.Path");
  }
  if (PyBytes_Check(path.ptr()) != 0) return nb::cast<nb::bytes>(path).c_str();
  return text_of(path);
}

std::vector<std::string> as_paths(nb::handle value, Where where) {
  if (!is_list(value)) return {as_path(value, where)};
  std::vector<std::string> paths;
  for (nb::handle each : value) paths.push_back(as_path(each, where));
  return paths;
}

std::string as_text(nb::handle value, Where where) {
  if (!is_text(value)) wrong_type(where, value, "it must be a str");
  return text_of(value);
}

std::vector<std::string> as_texts(nb::handle value, Where where) {
  if (is_text(value)) return {text_of(value)};
  if (!is_list(value)) wrong_type(where, value, "it must be a list of names");
  std::vector<std::string> texts;
  for (nb::handle each : value) texts.push_back(as_text(each, where));
  return texts;
}

Layout as_layout(nb::handle value, Where where) {
  const std::string text = as_text(value, where);
  if (text == "channels_first" || text == "nchw" || text == "chw") return Layout::channels_first;
  if (text == "channels_last" || text == "nhwc" || text == "hwc") return Layout::channels_last;
  wrong_value(where, value, "it must be \"channels_first\" or \"channels_last\"");
}

std::int64_t length(nb::handle container) {
  const Py_ssize_t size = PyObject_Length(container.ptr());
  if (size < 0) throw nb::python_error();
  return size;
}

nb::tuple shape_tuple(const Shape& shape) {
  nb::list dims;
  for (const std::int64_t each : shape) dims.append(each);
  return nb::tuple(dims);
}

}  // namespace plimsoll::python
