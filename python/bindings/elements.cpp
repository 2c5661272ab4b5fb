#include "elements.h"

#include <optional>

#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>

#include "errors.h"
#include "exchange.h"
#include "process.h"
#include "values.h"

namespace plimsoll::python {
namespace {

nb::object scalar(const data::Value& value) {
  switch (value.dtype()) {
    case DType::f64:
      return nb::float_(value.as<double>());
    case DType::f32:
      return nb::float_(static_cast<double>(value.as<float>()));
    case DType::i64:
      return nb::int_(value.as<std::int64_t>());
    case DType::i32:
      return nb::int_(value.as<std::int32_t>());
    case DType::i16:
      return nb::int_(value.as<std::int16_t>());
    case DType::i8:
      return nb::int_(value.as<std::int8_t>());
    case DType::u16:
      return nb::int_(value.as<std::uint16_t>());
    case DType::u8:
      return nb::int_(value.as<std::uint8_t>());
    case DType::boolean:
      return nb::bool_(value.as<bool>());
    default:
      break;
  }
  return nb::float_(static_cast<double>(value.dtype() == DType::f16
                                            ? static_cast<float>(value.as<Float16>())
                                            : static_cast<float>(value.as<BFloat16>())));
}

/// Elements are the host's: what is on a GPU is copied.
data::Value copied(const Tensor& given, data::MapContext* context) {
  const bool here = given.device().capabilities().host_memory;
  const Tensor x = here ? given : given.to(DefaultDevice::host());
  if (context == nullptr || x.dtype() == DType::bytes) return x;
  Tensor made = context->empty(x.shape(), x.dtype());
  if (x.elements() > 0) copy_out(x, made.raw_mutable_data(), x.elements());
  return made;
}

/// (dtype, shape), or the dtype of a number.
data::TensorSpec component_spec(nb::handle given, Where where) {
  const bool scalar = nb::isinstance<DType>(given) || PyUnicode_Check(given.ptr()) != 0;
  if (!scalar && (PyTuple_Check(given.ptr()) == 0 || length(given) != 2)) {
    wrong_type(where, given,
               "a component's spec is (dtype, shape): (pm.f32, (224, 224, 3)), or the dtype of a "
               "number");
  }
  data::TensorSpec component;
  component.dtype = as_dtype(scalar ? nb::borrow(given) : nb::object(given[0]), where);
  if (scalar) {
    component.dims.emplace();
    return component;
  }
  const nb::object shape = given[1];
  if (shape.is_none()) {
    component.dims = std::nullopt;
    return component;
  }
  std::vector<std::int64_t> dims;
  for (nb::handle extent : shape) {
    dims.push_back(extent.is_none() ? data::kAnyExtent : as_int(extent, where));
  }
  component.dims = dims;
  return component;
}

/// A number in another dtype; nullopt if that has no such number.
std::optional<data::Value> number_as(const data::Value& number, DType dtype) {
  if (is_integer(number.dtype()) || number.dtype() == DType::boolean) {
    const auto whole = nb::cast<std::int64_t>(scalar(number));
    return data::Value::of_number(dtype, whole);
  }
  return data::Value::of_number(dtype, nb::cast<double>(scalar(number)));
}

/// The same for an array; integers may become floats, not the other way round.
std::optional<data::Value> array_as(const Tensor& x, DType dtype) {
  if (is_floating(dtype)) return ops::cast(x, dtype);
  if (is_floating(x.dtype())) return std::nullopt;
  const Tensor made = ops::cast(x, dtype);
  const Tensor same = ops::equal(ops::cast(made, DType::i64), ops::cast(x, DType::i64));
  if (x.elements() > 0 && !ops::all(same).item<bool>()) return std::nullopt;
  return made;
}

/// Floats have the precision of `dtype`, where one is stated.
data::Value value_as(nb::handle given, std::optional<DType> dtype, data::MapContext* context,
                     Where where) {
  if (PyBool_Check(given.ptr()) != 0) return given.ptr() == Py_True;
  if (PyLong_Check(given.ptr()) != 0) return as_int(given, where);
  if (PyFloat_Check(given.ptr()) != 0) {
    const double number = PyFloat_AsDouble(given.ptr());
    // Of integers it is seen to be whole.
    const bool wide =
        dtype && (*dtype == DType::f64 || *dtype == DType::boolean || is_integer(*dtype));
    if (wide) return number;
    return static_cast<float>(number);
  }
  if (PyUnicode_Check(given.ptr()) != 0 || PyBytes_Check(given.ptr()) != 0) {
    std::string text;
    if (PyBytes_Check(given.ptr()) != 0) {
      const auto bytes = nb::borrow<nb::bytes>(given);
      text.assign(bytes.c_str(), bytes.size());
    } else {
      text = as_text(given, where);
    }
    if (context != nullptr) return context->text(text);
    return Tensor::from_strings({text}, {}, DefaultDevice::host());
  }
  if (is_tensor(given)) return copied(as_tensor(given, where), nullptr);
  if (has_buffer(given)) return copied(from_buffer(given, where), context);
  if (nb::hasattr(given, "__dlpack__")) return copied(from_dlpack_object(given), context);
  const auto wide = dtype == DType::f64 ? dtype : std::nullopt;
  if (PyList_Check(given.ptr()) != 0 || PyTuple_Check(given.ptr()) != 0) {
    return copied(make_tensor(given, wide, DefaultDevice::host()), context);
  }
  wrong_type(where, given, "components are numbers, byte strings, NumPy arrays or tensors");
}

data::Element element_as(nb::handle given, const data::ElementSpec& spec, data::MapContext* context,
                         Where where) {
  const auto dtype = [&](std::size_t component) -> std::optional<DType> {
    if (!spec.known || component >= spec.components.size()) return std::nullopt;
    return spec.components[component].dtype;
  };
  data::Element element;
  if (PyTuple_Check(given.ptr()) != 0 || PyList_Check(given.ptr()) != 0) {
    for (nb::handle each : given) {
      element.push_back(value_as(each, dtype(element.size()), context, where));
    }
  } else if (PyDict_Check(given.ptr()) != 0) {
    wrong_type(
        where, given,
        "say what it has in it: spec={\"image\": (pm.u8, (None, None, 3)), \"label\": pm.i64}");
  } else if (given.is_none()) {
    wrong_type(where, given, "it must be the components of an element; is there a `return`?");
  } else {
    element.push_back(value_as(given, dtype(0), context, where));
  }
  return element;
}

/// Makes the components what `spec` says they are.
void conform(data::Element& element, const data::ElementSpec& spec, Where where) {
  const std::string who = "[" + std::string(where.function) + "] ";
  if (element.size() != spec.components.size()) {
    throw DataError(who + where.argument + " has " +
                    counted(static_cast<std::int64_t>(element.size()), "component") +
                    ", and spec states " +
                    counted(static_cast<std::int64_t>(spec.components.size()), "component"));
  }
  for (std::size_t i = 0; i < element.size(); ++i) {
    const data::TensorSpec& stated = spec.components[i];
    const data::TensorSpec given = data::TensorSpec::of(element[i]);
    const auto refuse = [&](const std::string& is, const std::string& remedy) {
      throw DataError(who + "component " + std::to_string(i) + " of " + where.argument + " is " +
                      is + ", and spec states " + stated.to_string() + "; " + remedy);
    };
    data::TensorSpec found = given;
    found.dtype = stated.dtype;
    if (!stated.admits(found)) refuse(given.to_string(), "None stands for extents that differ");
    if (given.dtype == stated.dtype) continue;
    if ((given.dtype == DType::bytes) != (stated.dtype == DType::bytes)) {
      refuse(given.to_string(), "state the dtype that it has");
    }
    auto converted = element[i].is_scalar() ? number_as(element[i], stated.dtype)
                                            : array_as(element[i].tensor(), stated.dtype);
    if (!converted) {
      refuse(element[i].is_scalar() ? nb::cast<std::string>(nb::str(scalar(element[i])))
                                    : given.to_string(),
             "state a dtype that has such values, or convert them first");
    }
    element[i] = std::move(*converted);
  }
}

}  // namespace

nb::object to_python(const data::Value& value, bool numpy) {
  if (value.is_scalar()) return scalar(value);
  const Tensor& x = value.tensor();
  if (x.dtype() == DType::bytes && x.rank() == 0) return item(x);
  if (numpy) return to_numpy(nb::cast(x));
  return nb::cast(x);
}

nb::object to_python(const data::Element& element) {
  if (element.size() == 1) return to_python(element[0]);
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(element.size()));
  if (tuple == nullptr) throw nb::python_error();
  nb::tuple made = nb::steal<nb::tuple>(tuple);
  for (std::size_t i = 0; i < element.size(); ++i) {
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), to_python(element[i]).release().ptr());
  }
  return made;
}

data::Value to_value(nb::handle given, data::MapContext* context, Where where) {
  return value_as(given, std::nullopt, context, where);
}

data::Element to_element(nb::handle given, data::MapContext* context, Where where) {
  static const data::ElementSpec unknown = data::ElementSpec::unknown();
  return element_as(given, unknown, context, where);
}

data::Element to_element(nb::handle given, const data::ElementSpec& spec, data::MapContext* context,
                         Where where) {
  data::Element element = element_as(given, spec, context, where);
  if (spec.known) conform(element, spec, where);
  return element;
}

data::ElementSpec as_spec(nb::handle value, Where where) {
  if (value.is_none()) return data::ElementSpec::unknown();
  data::ElementSpec spec;
  if (PyDict_Check(value.ptr()) != 0) {
    for (const auto& [name, each] : nb::borrow<nb::dict>(value)) {
      spec.names.push_back(as_text(name, where));
      spec.components.push_back(component_spec(each, where));
    }
    return spec;
  }
  if (PyList_Check(value.ptr()) == 0 && PyTuple_Check(value.ptr()) == 0) {
    wrong_type(where, value,
               "it must be a list with (dtype, shape) of each component, "
               "[(pm.f32, (224, 224, 3)), pm.i64], or a dict of them by name");
  }
  for (nb::handle each : value) spec.components.push_back(component_spec(each, where));
  return spec;
}

void fail_as_data_error(nb::python_error& error) {
  const nb::object explain = nb::module_::import_("plimsoll.data").attr("_explain");
  const auto text = nb::cast<std::string>(explain(error.value()));
  remember_cause(error.value(), text);
  throw DataError(text);
}

nb::object call_python(const nb::object& function, const data::Element& element) {
  nb::list components;
  for (const data::Value& each : element) components.append(to_python(each, true));
  try {
    return function(*nb::tuple(components));
  } catch (nb::python_error& error) {
    fail_as_data_error(error);
  }
}

}  // namespace plimsoll::python
