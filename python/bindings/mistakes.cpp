// Calls whose arguments fit no signature: answered in words, by one last overload of every
// function.
#include <set>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "convert.h"
#include "errors.h"

namespace plimsoll::python {
namespace {

/// Fits only after every overload has been tried with conversions.
struct LastResort {};

}  // namespace
}  // namespace plimsoll::python

namespace nanobind::detail {
template <>
struct type_caster<plimsoll::python::LastResort> {
  NB_TYPE_CASTER(plimsoll::python::LastResort, const_name("None"))
  bool from_python(handle /*source*/, std::uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    return (flags & static_cast<std::uint32_t>(cast_flags::convert)) != 0;
  }
  static handle from_cpp(plimsoll::python::LastResort /*value*/, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return none().release();
  }
};
}  // namespace nanobind::detail

namespace plimsoll::python {
namespace {

/// Adds the overload to `function`, which is `name` of `scope`: a new object in its place, as
/// overloads are.
void answer(nb::handle scope, nb::handle function, const std::string& name) {
  std::vector<std::string> signatures;
  std::set<std::string> docs;
  for (nb::handle each : nb::object(function.attr("__nb_signature__"))) {
    signatures.push_back(nb::cast<std::string>(each[0]));
    const nb::object doc = each[1];
    docs.insert(doc.is_none() ? "" : nb::cast<std::string>(doc));
  }
  const bool is_method =
      nb::cast<std::string>(function.type().attr("__name__")) == std::string("nb_method");
  const auto explain = [name, signatures](const nb::object& self, const nb::args& given,
                                          const nb::kwargs& named) {
    raise_made(nb::module_::import_("plimsoll._mistakes")
                   .attr("explain")(name, signatures, self, given, named));
  };
  // As help() shows it, in a line below the others.
  const std::string signature = "def " + name + "(...)";
  const std::string doc = docs.size() == 1 ? *docs.begin() : "";
  const auto define = [&](auto body, auto... extra) {
    nb::cpp_function_def(body, nb::scope(scope), nb::name(name.c_str()), nb::arg("args"),
                         nb::arg("_").none() = nb::none(), nb::arg("kwargs"),
                         nb::sig(signature.c_str()), doc.c_str(), extra...);
  };
  if (is_method) {
    define([explain](nb::handle self, const nb::args& given, LastResort /*last*/,
                     const nb::kwargs& named) { explain(nb::borrow(self), given, named); },
           nb::is_method());
  } else {
    define([explain](const nb::args& given, LastResort /*last*/, const nb::kwargs& named) {
      explain(nb::none(), given, named);
    });
  }
}

bool is_function(nb::handle value) {
  const auto type = nb::cast<std::string>(value.type().attr("__name__"));
  return type == "nb_func" || type == "nb_method";
}

/// A constructor for a class that has none.
void refuse_to_make(nb::handle type) {
  const auto name = nb::cast<std::string>(type.attr("__name__"));
  nb::cpp_function_def(
      [name](nb::handle /*self*/, const nb::args& /*given*/, const nb::kwargs& /*named*/) {
        const std::string text =
            name == "Device"
                ? std::string(
                      "[Device] plimsoll.device('cpu') or plimsoll.device('cuda:0') opens one")
                : "[" + name +
                      "] the library makes these; look for the function or method that gives one";
        throw nb::type_error(text.c_str());
      },
      nb::scope(type), nb::name("__init__"), nb::is_method(), nb::arg("args"), nb::arg("kwargs"));
}

void answer_all(nb::handle scope, const char* module) {
  nb::list names(nb::object(scope.attr("__dict__")));
  for (nb::handle each : names) {
    const auto name = nb::cast<std::string>(each);
    const nb::object value = scope.attr("__dict__")[each];
    if (PyType_Check(value.ptr()) != 0) {
      if (nb::cast<std::string>(nb::str(value.attr("__module__"))).rfind(module, 0) == 0) {
        answer_all(value, module);
        if (!is_function(value.attr("__init__"))) refuse_to_make(value);
      }
    } else if (PyModule_Check(value.ptr()) != 0) {
      answer_all(value, module);
    } else if (is_function(value) &&
               (name.rfind("__", 0) != 0 || name == "__init__" || name == "__call__")) {
      answer(scope, value, name);
    }
  }
}

}  // namespace

void bind_mistakes(nb::module_& m) {
  // Stubs have the signatures alone.
  const nb::object argv = nb::getattr(nb::module_::import_("sys"), "argv", nb::list());
  if (length(argv) > 0) {
    const auto program = nb::cast<std::string>(nb::str(nb::object(argv[0])));
    if (program.ends_with("stubgen.py")) return;
  }
  answer_all(m, "plimsoll._core");
}

}  // namespace plimsoll::python
