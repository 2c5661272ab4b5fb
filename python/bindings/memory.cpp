// Budgets and the ledger.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <plimsoll/base/text.h>
#include <plimsoll/base/version.h>
#include <plimsoll/memory/budget.h>
#include <plimsoll/memory/ledger.h>

#include "bind.h"
#include "convert.h"
#include "process.h"

namespace plimsoll::python {
namespace {

nb::list listed(const std::vector<Holder>& holders) {
  const nb::object made = nb::module_::import_("plimsoll.errors").attr("Holder");
  nb::list list;
  for (const Holder& each : holders) {
    list.append(made(each.budget, tag_name(each.tag), each.label, each.bytes, each.blocks));
  }
  return list;
}

nb::object limit_of(const Budget& budget) {
  if (budget.limit() == kUnlimited) return nb::none();
  return nb::int_(budget.limit());
}

}  // namespace

void bind_memory(nb::module_& m) {
  m.def("version", [] { return std::string(version()); });
  m.def(
      "parse_bytes",
      [](nb::handle size) {
        return as_bytes(size, {"parse_bytes", "size"});
      },
      nb::arg("size"), nb::sig("def parse_bytes(size: int | str) -> int"),
      "Bytes of \"8GiB\", \"512 MiB\", \"1.5g\" or an integer.\n\n"
      ">>> pm.parse_bytes(\"8GiB\")\n8589934592");
  m.def("format_bytes", &format_bytes, nb::arg("bytes"),
        "\"6.7 GiB\", \"512 B\": for people.\n\n>>> pm.format_bytes(8 << 30)\n'8 GiB'");

  nb::class_<Budget>(m, "Budget",
                     "A limit in a tree of limits: the root is a device's, sessions and training "
                     "runs are below it.\n\n>>> device.budget.limit = \"512MiB\"")
      .def_prop_ro("path", &Budget::path, "Names from the root on: \"cpu:0/training\".")
      .def_prop_rw(
          "limit", limit_of,
          [](const Budget& self, nb::handle limit) {
            const Bytes bytes = as_bytes(limit, {"Budget", "limit"});
            const Unlocked unlocked;
            self.set_limit(bytes);
          },
          nb::for_getter(nb::sig("def limit(self) -> int | None")),
          nb::for_setter(nb::arg("limit").none()),
          nb::for_setter(nb::sig("def limit(self, limit: int | str, /) -> None")),
          "In bytes; None if it has none of its own. Setting it lower asks holders to give memory "
          "back, and raises InvalidArgument if that is not enough.")
      .def_prop_ro("used", &Budget::used, "Bytes charged now.")
      .def_prop_ro("peak", &Budget::peak, "The most there has ever been.")
      .def_prop_ro("available", &Budget::available,
                   "What could still be charged, given every limit up to the root.")
      .def(
          "holders", [](const Budget& self) { return listed(self.ledger().holders(self.path())); },
          nb::sig("def holders(self) -> list[plimsoll.errors.Holder]"),
          "Who holds memory here now, largest first.")
      .def(
          "peak_holders",
          [](const Budget& self) { return listed(self.ledger().peak_holders(self.path())); },
          nb::sig("def peak_holders(self) -> list[plimsoll.errors.Holder]"),
          "Who held memory here when the whole device was at its peak.")
      .def(
          "reset_peak", [](const Budget& self) { self.ledger().reset_peak(); },
          "Starts the record of the peak anew.")
      .def("__repr__", [](const Budget& self) {
        return "Budget('" + self.path() + "', " + use_of(self) + ")";
      });
}

}  // namespace plimsoll::python
