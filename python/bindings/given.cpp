#include "given.h"

#include <deque>
#include <regex>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>

#include "errors.h"

namespace plimsoll::python {
namespace {

/// Signatures live as long as the program: functions refer to them. They hold Python's objects,
/// which are not released after its end.
const Signature& kept(const char* name, const char* parameters) {
  static auto* const all = new std::deque<Signature>;  // NOLINT
  return all->emplace_back(name, parameters);
}

/// Names of plimsoll._core as its submodules' stubs have to write them.
std::string qualified(const std::string& text) {
  static const std::regex names(
      "\\b(Tensor|Variable|Symbolic|DType|Device|Session|_Dataset|RunReport)\\b");
  return std::regex_replace(text, names, "plimsoll._core.$1");
}

}  // namespace

nb::object Given::value(const char* name) const { return values_[signature_.place(name)]; }

Where Given::where(const char* name) const { return {signature_.name().c_str(), name}; }

Tensor Given::optional_tensor(const char* name) const {
  return as_optional_tensor(value(name), where(name));
}

std::vector<std::int64_t> Given::integers(const char* name) const {
  return as_ints(value(name), where(name));
}

std::vector<double> Given::numbers(const char* name) const {
  const nb::object given = value(name);
  if (PyList_Check(given.ptr()) == 0 && PyTuple_Check(given.ptr()) == 0) {
    wrong_type(where(name), given, "it must be a list of numbers");
  }
  std::vector<double> all;
  for (nb::handle each : given) all.push_back(as_double(each, where(name)));
  return all;
}

bool Given::flag(const char* name) const {
  const nb::object given = value(name);
  if (PyBool_Check(given.ptr()) == 0) wrong_type(where(name), given, "it must be True or False");
  return given.ptr() == Py_True;
}

std::size_t Given::choice(const char* name, std::initializer_list<const char*> choices) const {
  const std::string given = text(name);
  std::string known;
  std::size_t place = 0;
  for (const char* each : choices) {
    if (given == each) return place;
    known += std::string(place == 0 ? "\"" : ", \"") + each + "\"";
    ++place;
  }
  wrong_value(where(name), value(name), ("it must be one of " + known).c_str());
}

std::optional<std::uint64_t> Given::seed(const char* name) const {
  if (is_none(name)) return std::nullopt;
  return static_cast<std::uint64_t>(integer(name));
}

std::size_t Signature::place(std::string_view parameter) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == parameter) return i;
  }
  throw InternalError("[" + name_ + "] the binding asks for '" + std::string(parameter) + "'");
}

Given Signature::bind(const nb::args& given, const nb::kwargs& named) const {
  if (!binder_.is_valid()) {
    const nb::object made =
        nb::module_::import_("plimsoll._mistakes").attr("binder")(name_, parameters_);
    names_ = nb::cast<std::vector<std::string>>(made[1]);
    binder_ = made[0];
  }
  nb::object values = binder_(*given, **named);
  if (PyTuple_Check(values.ptr()) == 0) raise_made(values);
  return {*this, std::move(values)};
}

std::string signature_text(const char* name, const char* parameters, const char* result) {
  return "def " + std::string(name) + "(" + parameters + ") -> " + result;
}

const Signature& constructor(const char* name, const char* parameters) {
  return kept(name, parameters);
}

std::string constructor_text(const char* parameters) {
  const std::string rest = *parameters == '\0' ? "" : ", " + std::string(parameters);
  return "def __init__(self" + rest + ") -> None";
}

void define(nb::handle scope, const char* name, const char* parameters, const char* result,
            const char* doc, Body body) {
  const Signature& signature = kept(name, parameters);
  std::string text = signature_text(name, parameters, result);
  if (nb::cast<std::string>(scope.attr("__name__")) != "plimsoll._core") text = qualified(text);
  nb::cpp_function_def(
      [&signature, body](const nb::args& given, const nb::kwargs& named) {
        return body(signature.bind(given, named));
      },
      nb::scope(scope), nb::name(name), nb::sig(text.c_str()), doc);
}

}  // namespace plimsoll::python
