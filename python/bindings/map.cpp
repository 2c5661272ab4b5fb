// Functions of elements: those of C++, and Python's.
#include <plimsoll/data/map_function.h>

#include <memory>

#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/dataset.h>
#include <plimsoll/data/image/load.h>
#include <plimsoll/data/map_blocking.h>

#include "bind.h"
#include "elements.h"
#include "process.h"
#include "train.h"

namespace plimsoll::python {
namespace {

using data::Dataset;
using data::Element;

data::MapOptions map_options(nb::handle parallel, bool ordered) {
  data::MapOptions options;
  options.parallel = parallel.is_none() ? data::kAutotune
                                        : static_cast<int>(as_int(parallel, {"map", "parallel"}));
  options.ordered = ordered;
  return options;
}

std::array<float, 4> channels_of(nb::handle value, float otherwise, Where where) {
  std::array<float, 4> channels{otherwise, otherwise, otherwise, otherwise};
  if (value.is_none()) return channels;
  if (const auto number = as_number(value)) {
    channels.fill(static_cast<float>(*number));
    return channels;
  }
  std::size_t i = 0;
  for (nb::handle each : value) {
    if (i == 4) wrong_value(where, value, "there are at most 4 channels");
    channels[i++] = static_cast<float>(as_double(each, where));
  }
  return channels;
}

/// Elements of a Python iterable, which a thread of its own reads.
data::Generator generator(nb::handle cell, nb::handle spec, const std::string& name) {
  data::Generator made;
  made.spec = as_spec(spec, {"from_generator", "spec"});
  made.name = name;
  made.blocking = true;
  made.begin = [make = Callable(cell), spec = made.spec]() -> data::Generator::Next {
    const Locked locked;
    std::shared_ptr<PyObject> iterator;
    try {
      const nb::object iterable = make.get()();
      const nb::object fresh = nb::steal(PyObject_GetIter(iterable.ptr()));
      if (!fresh.is_valid()) throw nb::python_error();
      iterator = hold(fresh);
    } catch (nb::python_error& error) {
      fail_as_data_error(error);
    }
    return [iterator, spec]() -> std::optional<Element> {
      const Locked inner;
      try {
        const nb::object next = nb::steal(PyIter_Next(iterator.get()));
        if (!next.is_valid()) {
          if (PyErr_Occurred() != nullptr) throw nb::python_error();
          return std::nullopt;
        }
        return to_element(next, spec, nullptr, {"from_generator", "an element"});
      } catch (nb::python_error& error) {
        fail_as_data_error(error);
      }
    };
  };
  return made;
}

}  // namespace

void bind_map(nb::module_& m) {
  nb::class_<data::MapFunction>(m, "MapFunction",
                                "A function of elements that runs without Python.")
      .def_prop_ro("name", [](const data::MapFunction& self) { return self.name; })
      .def("__repr__",
           [](const data::MapFunction& self) { return "MapFunction(" + self.name + ")"; });
  m.def(
      "load_images",
      [](nb::handle size, nb::handle channels, nb::handle layout, nb::handle mean,
         nb::handle deviation, bool flip, bool orientation, bool scaled, bool with_label) {
        const std::vector<std::int64_t> pixels = as_ints(size, {"load_images", "size"});
        if (pixels.empty() || pixels.size() > 2) {
          wrong_value({"load_images", "size"}, size, "it must be pixels: 224, or (height, width)");
        }
        image::LoadOptions options;
        options.height = static_cast<int>(pixels.front());
        options.width = static_cast<int>(pixels.back());
        options.channels = static_cast<int>(as_int(channels, {"load_images", "channels"}));
        options.layout = as_layout(layout, {"load_images", "layout"});
        options.mean = channels_of(mean, 0, {"load_images", "mean"});
        options.deviation = channels_of(deviation, 1, {"load_images", "deviation"});
        options.flip = flip;
        options.apply_orientation = orientation;
        options.allow_scaled = scaled;
        return data::load_images(options, with_label);
      },
      nb::arg("size") = 224, nb::kw_only(), nb::arg("channels") = 3,
      nb::arg("layout") = "channels_last", nb::arg("mean").none() = nb::none(),
      nb::arg("deviation").none() = nb::none(), nb::arg("flip") = false,
      nb::arg("apply_orientation") = false, nb::arg("allow_scaled") = false,
      nb::arg("with_label") = true,
      nb::sig(
          "def load_images(size: int | typing.Sequence[int] = 224, *, channels: int = 3, layout: "
          "str = 'channels_last', mean: float | typing.Sequence[float] | None = None, deviation: "
          "float | "
          "typing.Sequence[float] | None = None, flip: bool = False, apply_orientation: bool = "
          "False, allow_scaled: bool = False, with_label: bool = True) -> MapFunction"),
      "Reads the picture at the path that is the first component, as floats: decode, resize, scale "
      "to "
      "0..1, (value - mean) / deviation, in one pass.\n\n"
      ">>> pm.data.image_folder(\"photos\").map(pm.data.load_images(64, "
      "layout=\"channels_first\"))");
  m.def(
      "_map_native",
      [](const Dataset& set, const data::MapFunction& function, nb::handle parallel, bool ordered) {
        return set.map(function, map_options(parallel, ordered));
      },
      nb::arg("set"), nb::arg("function"), nb::arg("parallel").none(), nb::arg("ordered"));
  m.def(
      "_map_python",
      [](const Dataset& set, nb::handle cell, nb::handle spec, nb::handle parallel, bool ordered,
         const std::string& name) {
        data::MapFunction function;
        function.name = name;
        const data::ElementSpec stated = as_spec(spec, {"map", "spec"});
        if (stated.known) function.output = stated;
        function.run = [call = Callable(cell), stated](const Element& element,
                                                       data::MapContext& context) {
          const Locked locked;
          return to_element(call_python(call.get(), element), stated, &context,
                            {"map", "what the function returns"});
        };
        // The GIL once for several short calls: taking it costs more than many of them.
        const auto locked = [](const std::function<void()>& calls) {
          const Locked lock;
          calls();
        };
        return data::map_blocking(set, std::move(function), map_options(parallel, ordered), locked);
      },
      nb::arg("set"), nb::arg("cell"), nb::arg("spec").none(), nb::arg("parallel").none(),
      nb::arg("ordered"), nb::arg("name"));
  m.def("_filter_python", [](const Dataset& set, nb::handle cell, const std::string& name) {
    return set.filter(
        [call = Callable(cell)](const Element& element) {
          const Locked locked;
          const nb::object keep = call_python(call.get(), element);
          if (keep.is_none()) {
            throw DataError(
                "[filter] what the function returns is None; it must be True or False; is there a "
                "`return`?");
          }
          const int truth = PyObject_IsTrue(keep.ptr());
          if (truth >= 0) return truth == 1;
          nb::python_error error;
          fail_as_data_error(error);
        },
        name);
  });
  m.def("_flat_map_python", [](const Dataset& set, nb::handle cell, const std::string& name) {
    return set.flat_map(
        [call = Callable(cell)](const Element& element) {
          const Locked locked;
          return as_lasting_dataset(call_python(call.get(), element),
                                    {"flat_map", "what the function returns"});
        },
        name);
  });
  m.def("_interleave_python", [](const Dataset& set, nb::handle cell, int cycle, int block,
                                 int parallel, const std::string& name) {
    return set.interleave(
        [call = Callable(cell)](const Element& element) {
          const Locked locked;
          return as_lasting_dataset(call_python(call.get(), element),
                                    {"interleave", "what the function returns"});
        },
        {cycle, block, parallel}, name);
  });
  m.def(
      "_from_generator",
      [](nb::handle cell, nb::handle spec, const std::string& name) {
        return Dataset::from_generator(generator(cell, spec, name));
      },
      nb::arg("cell"), nb::arg("spec").none(), nb::arg("name"));
  m.def(
      "_from_indexable",
      [](nb::handle cell, std::int64_t size, nb::handle spec, const std::string& name) {
        data::Indexable set;
        set.size = size;
        set.name = name;
        set.spec = as_spec(spec, {"from_indexable", "spec"});
        set.get = [call = Callable(cell), spec = set.spec](std::int64_t index) {
          const Locked locked;
          try {
            return to_element(call.get()(index), spec, nullptr, {"from_indexable", "an element"});
          } catch (nb::python_error& error) {
            fail_as_data_error(error);
          }
        };
        return Dataset::from_indexable(set);
      },
      nb::arg("cell"), nb::arg("size"), nb::arg("spec").none(), nb::arg("name"));
}

}  // namespace plimsoll::python
