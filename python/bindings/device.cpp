// Devices, sessions and the default device.
#include <memory>
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/base/text.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/device/device.h>
#include <plimsoll/ops/seed.h>

#include "bind.h"
#include "convert.h"
#include "exports.h"
#include "process.h"

namespace plimsoll::python {
namespace {

nb::dict info_dict(const DeviceInfo& info) {
  nb::dict dict;
  dict["name"] = info.name;
  dict["description"] = info.description;
  dict["total"] = info.total;
  dict["free"] = info.free;
  dict["libraries"] = info.libraries;
  return dict;
}

Device open(nb::handle name, nb::handle limit, bool preallocate, nb::handle trace) {
  use_process();
  const std::string text = as_text(name, {"device", "name"});
  DeviceOptions options;
  options.limit = as_limit(limit, {"device", "limit"});
  options.preallocate = preallocate;
  if (!trace.is_none()) options.trace = as_path(trace, {"device", "trace"});
  const Unlocked unlocked;
  return Device::open(text, options);
}

nb::object limit_of(const Device& device) {
  const Bytes limit = device.budget().limit();
  if (limit == kUnlimited) return nb::none();
  return nb::int_(limit);
}

void set_limit(const Device& device, nb::handle limit, const char* who) {
  // A share is one of the whole device: what is within it states bytes.
  const bool is_whole = device.name().find('/') == std::string::npos;
  const auto bytes = is_whole ? as_limit(limit, {who, "limit"}).resolve(device.info().total)
                              : std::optional(as_bytes(limit, {who, "limit"}));
  if (!bytes) wrong_type({who, "limit"}, limit, "it must be a size: \"8GiB\", or a share: \"50%\"");
  const Unlocked unlocked;
  device.budget().set_limit(*bytes);
}

/// A device and, between enter and exit, its place as the thread's default one.
struct Here {
  Device device;
  std::unique_ptr<DefaultDevice> here;
};

/// A session and, between enter and exit, its place as the thread's default device.
struct Scope {
  Session session;
  std::unique_ptr<DefaultDevice> here;

  void close() {
    here.reset();
    const Device& device = session.device();
    if (device.closed()) return;
    if (const std::size_t count = exported_from(device.name()); count > 0) {
      throw Error(
          "[close] " + counted(static_cast<std::int64_t>(count), "array") +
          " outside of plimsoll still use" + (count == 1 ? "s" : "") + " memory of the session '" +
          device.name() +
          "'; copy what you need of them (numpy.array(x)), delete them, and close it again");
    }
    session.close();
  }
};

}  // namespace

void bind_device(nb::module_& m) {
  nb::class_<Device>(m, "Device", nb::is_weak_referenceable(),
                     "A device, a logical one or a session: memory with a limit. A handle: equal "
                     "handles are the same device, which closes with the last of them.")
      .def_prop_ro("name", &Device::name, "\"cpu:0\", \"cuda:0\", \"cpu:0/training\"")
      .def_prop_ro(
          "kind", [](const Device& self) { return std::string(self.backend().name); },
          "\"cpu\" or \"cuda\"")
      .def_prop_ro("ordinal", &Device::ordinal, "N of \"cuda:N\"; 0 on the CPU.")
      .def_prop_ro("closed", &Device::closed, "True once its session was closed.")
      .def_prop_ro("budget", &Device::budget, "Its limit, and who holds what.")
      .def_prop_rw(
          "limit", limit_of,
          [](const Device& self, nb::handle limit) { set_limit(self, limit, "Device"); },
          nb::for_getter(nb::sig("def limit(self) -> int | None")),
          nb::for_setter(nb::arg("limit").none()),
          nb::for_setter(nb::sig("def limit(self, limit: int | float | str, /) -> None")),
          "The limit in bytes; None of a session without one. Setting it, in bytes or as a share "
          "of the device, moves the limit while the program runs.\n\n"
          ">>> device.limit = \"512MiB\"")
      .def_prop_ro(
          "used", [](const Device& self) { return self.budget().used(); }, "Bytes charged now.")
      .def_prop_ro(
          "peak", [](const Device& self) { return self.budget().peak(); },
          "The most there has ever been.")
      .def_prop_ro("runtime", &Device::runtime,
                   "Bytes of the driver's context and libraries. They are charged as well.")
      .def(
          "info", [](const Device& self) { return info_dict(self.info()); },
          nb::sig("def info(self) -> dict[str, typing.Any]"),
          "What the system says about it: name, description, total, free, libraries.")
      .def(
          "synchronize",
          [](const Device& self) {
            const Unlocked unlocked;
            self.synchronize();
          },
          "Waits for all work that was submitted to it.")
      .def(
          "trim",
          [](const Device& self) {
            const Unlocked unlocked;
            return self.arena().trim();
          },
          "Returns unused pages to the system, and how many bytes they had.")
      .def(
          "split",
          [](const Device& self, nb::handle limits) {
            std::vector<Bytes> bytes;
            if (PyList_Check(limits.ptr()) == 0 && PyTuple_Check(limits.ptr()) == 0) {
              wrong_type({"split", "limits"}, limits,
                         "give a list with a size for each: [\"96MiB\", \"32MiB\"]");
            }
            for (nb::handle each : nb::borrow<nb::object>(limits)) {
              bytes.push_back(as_bytes(each, {"split", "limits"}));
            }
            return self.split(bytes);
          },
          nb::arg("limits"),
          nb::sig("def split(self, limits: typing.Sequence[int | str]) -> list[Device]"),
          "Logical devices with limits of their own, which are guaranteed.\n\n"
          ">>> training, other = device.split([\"96MiB\", \"32MiB\"])")
      .def(
          "session",
          [](const Device& self, nb::handle name, nb::handle limit) {
            return Scope{self.session(as_text(name, {"session", "name"}),
                                      as_limit(limit, {"session", "limit"})),
                         nullptr};
          },
          nb::arg("name"), nb::arg("limit") = nb::none(),
          nb::sig(
              "def session(self, name: str, limit: int | float | str | None = None) -> Session"),
          "A scope whose memory goes back to the system at its end. Within it, tensors go there "
          "unless another device is named.\n\n"
          ">>> with device.session(\"evaluation\", limit=\"64MiB\") as scope:\n"
          "...     x = pm.zeros((2, 3))")
      .def(
          "__eq__",
          [](const Device& self, nb::handle other) {
            Device* device = nullptr;
            return nb::try_cast(other, device) && device != nullptr && self == *device;
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Device& self) { return std::hash<std::string>()(self.name()); })
      .def("__repr__", [](const Device& self) {
        if (self.closed()) return "Device('" + self.name() + "', closed)";
        return "Device('" + self.name() + "', " + use_of(self.budget()) + ")";
      });

  nb::class_<Scope>(
      m, "Session",
      "Memory with its own limit, which goes back to the system when the session ends.")
      .def_prop_ro(
          "device", [](const Scope& self) { return self.session.device(); },
          "The session as a device, for whatever takes one.")
      .def_prop_ro("_session_device", [](const Scope& self) { return self.session.device(); })
      .def_prop_ro("name", [](const Scope& self) { return self.session.device().name(); })
      .def_prop_ro("budget", [](const Scope& self) { return self.session.device().budget(); })
      .def_prop_ro("closed", [](const Scope& self) { return self.session.device().closed(); })
      .def_prop_ro(
          "used", [](const Scope& self) { return self.session.device().budget().used(); },
          "Bytes it holds now.")
      .def_prop_ro(
          "peak", [](const Scope& self) { return self.session.device().budget().peak(); },
          "The most bytes it has held.")
      .def_prop_rw(
          "limit", [](const Scope& self) { return limit_of(self.session.device()); },
          [](const Scope& self, nb::handle limit) {
            set_limit(self.session.device(), limit, "Session");
          },
          nb::for_getter(nb::sig("def limit(self) -> int | None")),
          nb::for_setter(nb::arg("limit").none()),
          nb::for_setter(nb::sig("def limit(self, limit: int | float | str, /) -> None")),
          "The limit in bytes; None if it has none of its own. Setting it moves the limit while "
          "the session is open.")
      .def("close", &Scope::close,
           "Returns every page. Tensors that are still around can no longer be read. Raises Error "
           "while NumPy arrays or others still share its memory.")
      .def(
          "__enter__",
          [](nb::object self) {
            auto& scope = nb::cast<Scope&>(self);
            if (scope.session.device().closed()) {
              throw Error("[session] '" + scope.session.device().name() +
                          "' was closed; open another with device.session(...)");
            }
            scope.here = std::make_unique<DefaultDevice>(scope.session.device());
            return self;
          },
          nb::sig("def __enter__(self) -> Session"))
      .def(
          "__exit__", [](Scope& self, nb::args /*raised*/) { self.close(); },
          nb::sig("def __exit__(self, *raised: object) -> None"))
      .def("__repr__", [](const Scope& self) {
        const Device& device = self.session.device();
        if (device.closed()) return "Session('" + device.name() + "', closed)";
        return "Session('" + device.name() + "', " + use_of(device.budget()) + ")";
      });

  nb::class_<Here>(m, "_Here", "A device as this thread's default one, between enter and exit.")
      .def(
          "__init__",
          [](Here* self, nb::handle device) {
            new (self) Here{as_device(device, {"_Here", "device"}), nullptr};
          },
          nb::arg("device"), nb::sig("def __init__(self, device: Device) -> None"))
      .def("__enter__",
           [](Here& self) { self.here = std::make_unique<DefaultDevice>(self.device); })
      .def(
          "__exit__", [](Here& self, nb::args /*raised*/) { self.here.reset(); },
          nb::sig("def __exit__(self, *raised: object) -> None"));

  m.def(
      "device", &open, nb::arg("name") = "cpu", nb::kw_only(), nb::arg("limit") = nb::none(),
      nb::arg("preallocate") = false, nb::arg("trace") = nb::none(),
      nb::sig("def device(name: str = 'cpu', *, limit: int | float | str | None = None, "
              "preallocate: bool = False, trace: str | os.PathLike[str] | None = None) -> Device"),
      "Opens \"cpu\" or \"cuda:0\" within a limit: \"8GiB\", \"50%\", bytes, or a share as a "
      "float. Later calls give the same device.\n\n"
      ">>> cpu = pm.device(\"cpu\", limit=\"256MiB\")");
  m.def(
      "list_devices",
      [] {
        nb::list list;
        std::vector<DeviceInfo> infos;
        {
          const Unlocked unlocked;
          infos = list_devices();
        }
        for (const DeviceInfo& each : infos) list.append(info_dict(each));
        return list;
      },
      nb::sig("def list_devices() -> list[dict[str, typing.Any]]"),
      "All devices of this machine; the CPU is first. Opens none of them.");
  m.def(
      "default_device",
      [] {
        return as_device(nb::none(), {"default_device", "device"});
      },
      "The device that is used where none is named.");
  m.def(
      "set_default_device",
      [](nb::handle device) {
        if (device.is_none()) {
          DefaultDevice::reset();
        } else {
          DefaultDevice::set(as_device(device, {"set_default_device", "device"}));
        }
      },
      nb::arg("device").none(),
      nb::sig("def set_default_device(device: Device | Session | str | None) -> None"),
      "Sets the process's default device; None goes back to choosing it by itself.");
  m.def(
      "set_seed",
      [](nb::handle seed) {
        ops::set_seed(static_cast<std::uint64_t>(as_int(seed, {"set_seed", "seed"})));
      },
      nb::arg("seed"), nb::sig("def set_seed(seed: int) -> None"),
      "The seed of first values, dropout and random ops where no other is given. The order of a "
      "dataset has its own: dataset.shuffle(seed=1), dataset.iterate(seed=1) or "
      "trainer.fit(data_seed=1).");
  m.def("set_compute_threads", &set_compute_threads, nb::arg("threads"),
        "Sets how many threads an op may use; 0 goes back to the default.");
  m.def("compute_threads", &compute_threads, "How many threads an op may use.");
}

}  // namespace plimsoll::python
