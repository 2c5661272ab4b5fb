// The buffer protocol, both ways.
#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>

#include "exchange.h"
#include "exports.h"
#include "process.h"

namespace plimsoll::python {
namespace {

/// struct's character for a dtype; null if it has none.
const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "d";
    case DType::f32:
      return "f";
    case DType::f16:
      return "e";
    case DType::i64:
      return "q";
    case DType::i32:
      return "i";
    case DType::i16:
      return "h";
    case DType::i8:
      return "b";
    case DType::u16:
      return "H";
    case DType::u8:
      return "B";
    case DType::boolean:
      return "?";
    case DType::bf16:
    case DType::bytes:
      break;
  }
  return nullptr;
}

std::optional<DType> dtype_of_format(std::string_view format, Py_ssize_t size) {
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) {
    format.remove_prefix(1);
  }
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case 'd':
      return DType::f64;
    case 'f':
      return DType::f32;
    case 'e':
      return DType::f16;
    case 'l':
    case 'q':
    case 'n':
      return size == 8 ? DType::i64 : DType::i32;
    case 'i':
      return DType::i32;
    case 'h':
      return DType::i16;
    case 'b':
      return DType::i8;
    case 'H':
      return DType::u16;
    case 'B':
    case 'c':
      return DType::u8;
    case '?':
      return DType::boolean;
    default:
      return std::nullopt;
  }
}

/// What to write for an array of a NumPy dtype that has no counterpart.
std::string conversion(nb::handle array) {
  const nb::object dtype = array.attr("dtype");
  const auto kind = nb::cast<std::string>(nb::str(nb::object(dtype.attr("kind"))));
  if (kind == "c") return "convert its parts: array.real.astype(\"float32\")";
  if (kind == "U" || kind == "S") return "give its text as a list: array.tolist()";
  if (kind == "V") return "give its fields one by one: array[\"name\"]";
  const auto as = [](const std::string& name) {
    return "convert it: array.astype(\"" + name + "\")";
  };
  const auto native =
      nb::cast<std::string>(nb::str(nb::object(dtype.attr("newbyteorder")("=").attr("name"))));
  const bool is_native = nb::cast<bool>(dtype.attr("isnative"));
  const auto size = nb::cast<int>(dtype.attr("itemsize"));
  if (kind == "u") return as(!is_native && size <= 2 ? native : "int64");
  if (kind == "f") return as(!is_native && size <= 8 ? native : "float64");
  return as(kind == "i" ? native : "float32");
}

/// What a view of a tensor needs until it is released.
struct View {
  explicit View(const Tensor& x) : tensor(x), exported(x) {}
  Tensor tensor;
  Export exported;
  std::array<Py_ssize_t, kMaxRank> shape{};
  std::array<Py_ssize_t, kMaxRank> strides{};
};

int fail(const std::string& message) {
  PyErr_SetString(PyExc_BufferError, message.c_str());
  return -1;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) try {
  view->obj = nullptr;
  const Tensor& x = *nb::inst_ptr<Tensor>(nb::handle(self));
  if (x.is_symbolic()) return fail("a tensor that is traced has no values to share");
  const char* format = format_of(x.dtype());
  if (format == nullptr) {
    return fail("NumPy has no " + std::string(dtype_name(x.dtype())) + "; " +
                (x.dtype() == DType::bytes ? "use tolist()" : "cast it: x.to(pm.f32)"));
  }
  if (!x.device().capabilities().host_memory) {
    return fail("the tensor is on '" + x.device().name() + "'; copy it first: x.to(\"cpu\")");
  }
  const bool read_only = x.storage()->read_only();
  if (read_only && (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
    return fail("the tensor is read-only; write to x.clone()");
  }
  const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  if (!strided && !x.is_contiguous()) {
    return fail("the tensor is not contiguous; use x.contiguous()");
  }
  auto made = std::make_unique<View>(x);
  const auto item = static_cast<Py_ssize_t>(dtype_size(x.dtype()));
  for (int i = 0; i < x.rank(); ++i) {
    made->shape[static_cast<std::size_t>(i)] = x.dim(i);
    made->strides[static_cast<std::size_t>(i)] = x.strides()[static_cast<std::size_t>(i)] * item;
  }
  static char nothing = 0;  // an empty tensor has no address
  const void* data = x.raw_data();
  view->buf = data == nullptr ? &nothing : const_cast<void*>(data);  // NOLINT: as readonly says
  view->len = x.elements() * item;
  view->itemsize = item;
  view->readonly = read_only ? 1 : 0;
  view->ndim = x.rank();
  view->format =
      (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;  // NOLINT
  view->shape = (flags & PyBUF_ND) == PyBUF_ND ? made->shape.data() : nullptr;
  view->strides = strided ? made->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = made.release();
  view->obj = nb::handle(self).inc_ref().ptr();
  return 0;
} catch (const std::exception& error) {
  return fail(error.what());
}

void release_buffer(PyObject* /*self*/, Py_buffer* view) {
  delete static_cast<View*>(view->internal);  // NOLINT: made by get_buffer
}

}  // namespace

const PyType_Slot* buffer_slots() {
  static const std::array<PyType_Slot, 3> slots = {
      PyType_Slot{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},          // NOLINT
      PyType_Slot{Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},  // NOLINT
      PyType_Slot{0, nullptr}};
  return slots.data();
}

bool has_buffer(nb::handle value) {
  return PyObject_CheckBuffer(value.ptr()) != 0 && PyBytes_Check(value.ptr()) == 0;
}

Tensor from_buffer(nb::handle value, Where where) {
  auto view = std::make_shared<Py_buffer>();
  bool read_only = false;
  if (PyObject_GetBuffer(value.ptr(), view.get(), PyBUF_FULL) != 0) {
    PyErr_Clear();
    read_only = true;
    if (PyObject_GetBuffer(value.ptr(), view.get(), PyBUF_FULL_RO) != 0) {
      PyErr_Clear();
      wrong_value(where, value, "its memory cannot be shared; give an array of numbers");
    }
  }
  std::shared_ptr<Py_buffer> held(view.get(), [view](Py_buffer* buffer) {
    release_with_gil([view, buffer] { PyBuffer_Release(buffer); });
  });
  const auto dtype = dtype_of_format(view->format == nullptr ? "B" : view->format, view->itemsize);
  if (!dtype) {
    const std::string format = view->format == nullptr ? "" : view->format;
    const bool is_array = nb::hasattr(value, "dtype");
    const std::string name = is_array
                                 ? nb::cast<std::string>(nb::str(nb::object(value.attr("dtype"))))
                                 : "of struct format '" + format + "'";
    const std::string remedy = "its elements are " + name + ", and no dtype here is like that; " +
                               (is_array ? conversion(value) : "convert it to numbers");
    wrong_value(where, value, remedy.c_str());
  }
  if (view->ndim > kMaxRank) wrong_value(where, value, "it has more than 8 dimensions");
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
  Py_ssize_t last = 0;
  bool empty = false;
  for (int i = 0; i < view->ndim; ++i) {
    dims.push_back(view->shape[i]);
    empty = empty || view->shape[i] == 0;
    if (view->strides[i] < 0 || view->strides[i] % view->itemsize != 0) {
      wrong_value(where, value, "its strides are negative or uneven; copy it: array.copy()");
    }
    strides.push_back(view->strides[i] / view->itemsize);
    last += (view->shape[i] - 1) * view->strides[i];
  }
  const Bytes bytes = empty ? 0 : static_cast<Bytes>(last + view->itemsize);
  const Device host = DefaultDevice::host();
  auto storage = Storage::adopt(
      host, view->buf, bytes, [held]() mutable { held.reset(); }, read_only, "foreign");
  return Tensor::from_storage(std::move(storage), *dtype,
                              Shape(std::span<const std::int64_t>(dims)), strides);
}

}  // namespace plimsoll::python
