#pragma once

// How functions with many options are bound: by their signature as text, once, from which stubs,
// defaults and messages come. A function gets what it was given by name.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "convert.h"
#include "process.h"

namespace nb = nanobind;

namespace plimsoll::python {

class Signature;

/// The arguments of one call. Each function converts one, and names it if it does not fit.
class Given {
 public:
  Given(const Signature& signature, nb::object values)
      : signature_(signature), values_(std::move(values)) {}

  nb::object value(const char* name) const;
  Where where(const char* name) const;

  Tensor tensor(const char* name) const { return as_tensor(value(name), where(name)); }
  Tensor optional_tensor(const char* name) const;
  std::int64_t integer(const char* name) const { return as_int(value(name), where(name)); }
  std::vector<std::int64_t> integers(const char* name) const;
  double number(const char* name) const { return as_double(value(name), where(name)); }
  std::vector<double> numbers(const char* name) const;
  bool flag(const char* name) const;
  std::string text(const char* name) const { return as_text(value(name), where(name)); }
  std::string path(const char* name) const { return as_path(value(name), where(name)); }
  bool is_none(const char* name) const { return value(name).is_none(); }
  /// The place of a text among `choices`; InvalidArgument, naming them, if it is none.
  std::size_t choice(const char* name, std::initializer_list<const char*> choices) const;
  /// nullopt for None.
  std::optional<std::uint64_t> seed(const char* name) const;

 private:
  const Signature& signature_;
  nb::object values_;  // a tuple, in the order of the signature
};

/// "name(parameters)" as Python has it, and what becomes of a call.
class Signature {
 public:
  Signature(std::string name, std::string parameters)
      : name_(std::move(name)), parameters_(std::move(parameters)) {}
  const std::string& name() const { return name_; }
  const std::string& parameters() const { return parameters_; }
  /// What the arguments are; TypeError, in words, if they do not fit the signature.
  Given bind(const nb::args& given, const nb::kwargs& named) const;
  std::size_t place(std::string_view parameter) const;

 private:
  std::string name_;
  std::string parameters_;
  mutable nb::object binder_;  // made at the first call, so that importing costs nothing
  mutable std::vector<std::string> names_;
};

/// Defines `name(parameters) -> result` in a module or a class.
using Body = nb::object (*)(const Given& given);
void define(nb::handle scope, const char* name, const char* parameters, const char* result,
            const char* doc, Body body);
/// A function of tensors, computed without the GIL: `prepare` converts, what it returns computes.
template <typename Compute>
nb::object computed(Compute&& compute) {
  auto result = [&] {
    const Unlocked unlocked;
    return compute();
  }();
  return nb::cast(std::move(result));
}

/// "def name(parameters) -> result"
std::string signature_text(const char* name, const char* parameters, const char* result);
/// The signature of a constructor, which lives as long as the program.
const Signature& constructor(const char* name, const char* parameters);
std::string constructor_text(const char* parameters);

/// Binds a class with a constructor: make(place, given) puts one there.
template <typename T, typename Base>
nb::class_<T, Base> define_class(nb::module_& m, const char* name, const char* parameters,
                                 const char* doc, void (*make)(T* self, const Given& given)) {
  const Signature& signature = constructor(name, parameters);
  nb::class_<T, Base> made(m, name, doc);
  made.def(
      "__init__",
      [&signature, make](T* self, const nb::args& given, const nb::kwargs& named) {
        make(self, signature.bind(given, named));
      },
      nb::sig(constructor_text(parameters).c_str()));
  return made;
}

}  // namespace plimsoll::python
