#include "errors.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <string_view>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/storage_error.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/train/trainer.h>

namespace plimsoll::python {
namespace {

// Both are objects of the interpreter's and live as long as it does.
PyObject* classes = nullptr;     // NOLINT: the module plimsoll.errors
PyObject* last_cause = nullptr;  // NOLINT: see remember_cause
std::string& last_text() {
  static std::string text;
  return text;
}

struct Name {
  std::string_view cxx;
  std::string_view python;
};
/// Those that are not the function's own name.
constexpr std::array kNames = {
    Name{"Device::open", "device"},        Name{"Module::add", "Module"},
    Name{"Limit::share", "limit"},         Name{"Pipeline::save", "state_dict"},
    Name{"Tensor::from_values", "tensor"}, Name{"Pipeline::restore", "load_state_dict"}};

/// A message as Python's users know things: C++ says "[Device::split]" where they write `split`.
/// Only that is translated; all else is worded for both.
std::string in_python_words(std::string text) {
  const auto is_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == ':'; };
  for (std::size_t at = text.find("::"); at != std::string::npos; at = text.find("::", at + 1)) {
    const std::size_t begin = text.rfind('[', at);
    const std::size_t end = text.find(']', at);
    if (begin == std::string::npos || end == std::string::npos) continue;
    const std::string_view who(text.data() + begin + 1, end - begin - 1);
    if (!std::ranges::all_of(who, is_name)) continue;
    const auto* const known = std::ranges::find(kNames, who, &Name::cxx);
    const std::string name(known != kNames.end() ? known->python : who.substr(who.rfind(':') + 1));
    text.replace(begin + 1, who.size(), name);
    at = begin;
  }
  return text;
}

nb::object class_of(const char* name) { return nb::handle(classes).attr(name); }

void raise(const nb::object& exception) {
  const auto message = nb::cast<std::string>(nb::str(exception));
  if (last_cause != nullptr && message.find(last_text()) != std::string::npos) {
    const nb::object cause = nb::steal(std::exchange(last_cause, nullptr));
    if (PyObject_IsInstance(cause.ptr(), PyExc_Exception) == 0) {
      PyErr_SetObject(cause.type().ptr(), cause.ptr());
      return;
    }
    PyException_SetCause(exception.ptr(), nb::object(cause).release().ptr());
  }
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
}

void raise(const char* name, const std::exception& error) {
  raise(class_of(name)(in_python_words(error.what())));
}

void raise(const OutOfMemory& refused) {
  const OutOfMemoryReport& report = refused.report();
  nb::object made = class_of("OutOfMemory")(in_python_words(refused.what()));
  nb::list holders;
  for (const Holder& each : report.holders) {
    holders.append(
        class_of("Holder")(each.budget, tag_name(each.tag), each.label, each.bytes, each.blocks));
  }
  nb::list remedies;
  for (const Remedy& each : report.remedies) {
    remedies.append(class_of("Remedy")(each.text, each.bytes));
  }
  made.attr("holders") = holders;
  made.attr("remedies") = remedies;
  made.attr("requested") = report.requested;
  made.attr("tag") = tag_name(report.tag);
  made.attr("label") = report.label;
  made.attr("budget") = report.budget;
  made.attr("limit") = report.limit;
  made.attr("used") = report.used;
  raise(made);
}

void raise(const BudgetTooSmall& refused) {
  nb::object made = class_of("BudgetTooSmall")(in_python_words(refused.what()));
  if (refused.smallest_budget() != 0) made.attr("smallest_budget") = refused.smallest_budget();
  if (refused.largest_batch()) made.attr("largest_batch") = *refused.largest_batch();
  raise(made);
}

void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const OutOfMemory& error) {
    raise(error);
  } catch (const BudgetTooSmall& error) {
    raise(error);
  } catch (const InvalidArgument& error) {
    raise("InvalidArgument", error);
  } catch (const train::Diverged& error) {
    raise("Diverged", error);
  } catch (const StorageError& error) {
    raise("StorageError", error);
  } catch (const DataError& error) {
    raise("DataError", error);
  } catch (const DeviceError& error) {
    raise("DeviceError", error);
  } catch (const InternalError& error) {
    raise("InternalError", error);
  } catch (const Error& error) {
    raise("Error", error);
  } catch (const std::bad_cast&) {  // what nanobind throws, in words
    PyErr_SetString(PyExc_TypeError,
                    "[plimsoll] a value has the wrong type, or it is a module of your own whose "
                    "__init__ does not begin with super().__init__()");
  }
}

}  // namespace

void remember_cause(nb::handle exception, const std::string& text) {
  Py_XDECREF(last_cause);
  last_text() = text;
  last_cause = nb::borrow(exception).release().ptr();
}

void raise_made(const nb::object& exception) {
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

void bind_errors(nb::module_& /*m*/) {
  classes = nb::module_::import_("plimsoll.errors").release().ptr();
  nb::register_exception_translator(translate);
}

}  // namespace plimsoll::python
