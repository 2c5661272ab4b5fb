// Placing buffers, and replaying recorded allocations.
#include <plimsoll/plan/placement.h>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/device/device.h>
#include <plimsoll/memory/trace.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {
namespace {

/// [(size, lower, upper), ...], or the path of a list.
plan::BufferList buffers_of(const Given& given) {
  const nb::object value = given.value("buffers");
  plan::BufferList list;
  if (PyList_Check(value.ptr()) == 0 && PyTuple_Check(value.ptr()) == 0) {
    return plan::read_buffer_list(given.path("buffers"));
  }
  for (nb::handle each : value) {
    const std::vector<std::int64_t> ints = as_ints(each, given.where("buffers"));
    if (ints.size() != 3) {
      wrong_value(given.where("buffers"), each, "each buffer is (size, lower, upper)");
    }
    list.ids.push_back(std::to_string(list.ids.size()));
    list.buffers.push_back(
        {.size = static_cast<Bytes>(ints[0]), .lower = ints[1], .upper = ints[2]});
  }
  return list;
}

nb::object place(const Given& given) {
  const plan::BufferList list = buffers_of(given);
  plan::PlacementOptions options;
  if (!given.is_none("capacity")) {
    options.capacity = as_bytes(given.value("capacity"), given.where("capacity"));
  }
  options.time_limit =
      std::chrono::milliseconds(static_cast<std::int64_t>(given.number("seconds") * 1000));
  options.alignment = as_bytes(given.value("alignment"), given.where("alignment"));
  options.seed = static_cast<std::uint64_t>(given.integer("seed"));
  return computed([&] { return plan::place(list.buffers, options); });
}

nb::object replay(const Given& given) {
  const std::string path = given.path("path");
  const Device device = as_device(given.value("device"), given.where("device"));
  const auto passes = static_cast<int>(given.integer("passes"));
  ReplayResult result;
  {
    const Unlocked unlocked;
    const Trace trace = read_trace(path);
    result = plimsoll::replay(trace, device.arena(), device.budget().account(Tag::user, "trace"),
                              passes);
  }
  nb::dict dict;
  dict["live_peak"] = result.live_peak;
  dict["mapped_peak"] = result.stats.mapped_peak;
  dict["operations"] = result.operations;
  dict["nanoseconds"] = result.total_ns;
  return dict;
}

}  // namespace

void bind_placement(nb::module_& plans) {
  nb::class_<plan::Placement>(plans, "Placement", "Where each buffer lies.")
      .def_ro("offsets", &plan::Placement::offsets, "Of each buffer, in the order given.")
      .def_ro("height", &plan::Placement::height, "The largest offset + size, in bytes.")
      .def_ro("lower_bound", &plan::Placement::lower_bound, "No placement is lower.")
      .def_ro("proven_optimal", &plan::Placement::proven_optimal)
      .def_ro("out_of_time", &plan::Placement::out_of_time)
      .def("__repr__", [](const plan::Placement& self) {
        return "Placement(" + format_bytes(self.height) + " of at least " +
               format_bytes(self.lower_bound) + ")";
      });
  define(
      plans, "place",
      "buffers: str | os.PathLike[str] | typing.Sequence[tuple[int, int, int]], *, capacity: int "
      "| str | None = None, seconds: float = 10.0, alignment: int | str = 256, seed: int = 1",
      "Placement",
      "Gives each buffer (size, lower, upper), live in [lower, upper), an offset, so that no "
      "two that are live together overlap and the height is small. A path is a list "
      "`id,lower,upper,size`.\n\n>>> pm.plan.place([(4096, 0, 3), (1024, 2, 5)]).height",
      &place);
  define(
      plans, "replay",
      "path: str | os.PathLike[str], *, passes: int = 1, device: Device | Session | str | None = "
      "None",
      "dict[str, int]",
      "Runs recorded allocations, in RMM's format or as a list of buffers, through the memory of "
      "a device: live_peak, mapped_peak, operations and nanoseconds.",
      &replay);
}

}  // namespace plimsoll::python
