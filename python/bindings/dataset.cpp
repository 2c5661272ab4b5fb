// Datasets: descriptions of streams. plimsoll/data.py has the class that people use.
#include <plimsoll/data/dataset.h>

#include <memory>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/digits.h>

#include "bind.h"
#include "convert.h"
#include "elements.h"
#include "process.h"
#include "train.h"

namespace plimsoll::python {
namespace {

using data::Dataset;

std::optional<std::uint64_t> as_seed(nb::handle seed, const char* who) {
  if (seed.is_none()) return std::nullopt;
  return static_cast<std::uint64_t>(as_int(seed, {who, "seed"}));
}

nb::list spec_list(const Dataset& set) {
  nb::list list;
  const data::ElementSpec& spec = set.element_spec();
  for (const data::TensorSpec& each : spec.components) {
    nb::object shape = nb::none();
    if (each.dims) {
      nb::list dims;
      for (const std::int64_t extent : *each.dims) {
        dims.append(extent == data::kAnyExtent ? nb::none() : nb::object(nb::int_(extent)));
      }
      shape = nb::tuple(dims);
    }
    list.append(nb::make_tuple(each.dtype, shape));
  }
  return list;
}

Dataset shuffle(const Dataset& self, nb::handle window, nb::handle bytes, nb::handle seed,
                bool reshuffle, nb::handle spill_limit, nb::handle spill_folder) {
  data::ShuffleOptions options;
  if (!window.is_none()) options.elements = as_int(window, {"shuffle", "window"});
  if (!window.is_none() && options.elements < 1) {
    wrong_value({"shuffle", "window"}, window,
                "it must be at least 1; without one the whole set is shuffled");
  }
  if (!bytes.is_none()) options.bytes = as_bytes(bytes, {"shuffle", "bytes"});
  options.seed = as_seed(seed, "shuffle");
  options.reshuffle_each_iteration = reshuffle;
  if (!spill_limit.is_none())
    options.spill_limit = as_bytes(spill_limit, {"shuffle", "spill_limit"});
  if (!spill_folder.is_none())
    options.spill_folder = as_path(spill_folder, {"shuffle", "spill_folder"});
  return self.shuffle(options);
}

void bind_sources(nb::class_<Dataset>& cls) {
  cls.def_static(
         "range",
         [](std::int64_t begin, std::int64_t end, std::int64_t step) {
           return Dataset::range(begin, end, step);
         },
         nb::arg("start"), nb::arg("end"), nb::arg("step"))
      .def_static(
          "from_tensor_slices",
          [](nb::handle tensors, const std::vector<std::string>& names) {
            return Dataset::from_tensor_slices(
                as_tensors(tensors, {"from_tensor_slices", "tensors"}), names);
          },
          nb::arg("tensors").none(), nb::arg("names"))
      .def_static(
          "list_files",
          [](nb::handle pattern, bool shuffled, nb::handle seed) {
            const std::string text = as_path(pattern, {"list_files", "pattern"});
            const auto with = as_seed(seed, "list_files");
            const Unlocked unlocked;
            return Dataset::list_files(text, {shuffled, with});
          },
          nb::arg("pattern").none(), nb::arg("shuffle"), nb::arg("seed").none())
      .def_static(
          "image_folder",
          [](nb::handle folder) {
            const std::string path = as_path(folder, {"image_folder", "folder"});
            const Unlocked unlocked;
            return Dataset::image_folder(path);
          },
          nb::arg("folder").none())
      .def_static(
          "image_paths",
          [](nb::handle folder) {
            const std::string path = as_path(folder, {"image_paths", "folder"});
            const Unlocked unlocked;
            return Dataset::image_paths(path);
          },
          nb::arg("folder").none())
      .def_static(
          "text_lines",
          [](nb::handle paths) {
            return Dataset::text_lines(as_paths(paths, {"text_lines", "paths"}));
          },
          nb::arg("paths").none())
      .def_static(
          "from_npy",
          [](nb::handle paths) {
            return Dataset::from_npy(as_paths(paths, {"from_npy", "paths"}));
          },
          nb::arg("paths").none())
      .def_static("zip", [](const std::vector<Dataset>& sets) { return Dataset::zip(sets); });
}

void bind_stages(nb::class_<Dataset>& cls) {
  cls.def(
         "batch",
         [](const Dataset& self, nb::handle size, bool drop_remainder) {
           return self.batch(as_int(size, {"batch", "size"}), {drop_remainder});
         },
         nb::arg("size").none(), nb::arg("drop_remainder"))
      .def(
          "padded_batch",
          [](const Dataset& self, nb::handle size, nb::handle shapes, nb::handle values,
             bool drop_remainder) {
            data::PaddedBatchOptions options;
            options.drop_remainder = drop_remainder;
            if (!shapes.is_none()) {
              for (nb::handle each : shapes) {
                std::vector<std::int64_t> dims;
                for (nb::handle extent : each) {
                  dims.push_back(extent.is_none() ? data::kAnyExtent
                                                  : as_int(extent, {"padded_batch", "shapes"}));
                }
                options.shapes.push_back(std::move(dims));
              }
            }
            if (!values.is_none()) {
              for (nb::handle each : values) {
                data::Value value = to_value(each, nullptr, {"padded_batch", "values"});
                if (!value.is_scalar() && value.dtype() != DType::bytes &&
                    value.shape().rank() == 0) {
                  value = data::Value::from_bits(value.dtype(), value.tensor().raw_data());
                }
                options.values.push_back(std::move(value));
              }
            }
            return self.padded_batch(as_int(size, {"padded_batch", "size"}), options);
          },
          nb::arg("size").none(), nb::arg("shapes").none(), nb::arg("values").none(),
          nb::arg("drop_remainder"))
      .def(
          "window",
          [](const Dataset& self, nb::handle size, nb::handle shift, nb::handle stride,
             bool drop_remainder) {
            data::WindowOptions options;
            if (!shift.is_none()) options.shift = as_int(shift, {"window", "shift"});
            options.stride = as_int(stride, {"window", "stride"});
            options.drop_remainder = drop_remainder;
            return self.window(as_int(size, {"window", "size"}), options);
          },
          nb::arg("size").none(), nb::arg("shift").none(), nb::arg("stride").none(),
          nb::arg("drop_remainder"))
      .def("unbatch", &Dataset::unbatch)
      .def("shuffle", &shuffle, nb::arg("window").none(), nb::arg("bytes").none(),
           nb::arg("seed").none(), nb::arg("reshuffle"), nb::arg("spill_limit").none(),
           nb::arg("spill_folder").none())
      .def(
          "split",
          [](const Dataset& self, nb::handle share, nb::handle seed) {
            return self.split(as_double(share, {"split", "share"}),
                              as_seed(seed, "split").value_or(0));
          },
          nb::arg("share").none(), nb::arg("seed").none())
      .def(
          "repeat",
          [](const Dataset& self, nb::handle count) {
            return count.is_none() ? self.repeat()
                                   : self.repeat(as_int(count, {"repeat", "count"}));
          },
          nb::arg("count").none())
      .def(
          "take",
          [](const Dataset& self, nb::handle count) {
            return self.take(as_int(count, {"take", "count"}));
          },
          nb::arg("count").none())
      .def(
          "skip",
          [](const Dataset& self, nb::handle count) {
            return self.skip(as_int(count, {"skip", "count"}));
          },
          nb::arg("count").none())
      .def(
          "shard",
          [](const Dataset& self, nb::handle shards, nb::handle index) {
            return self.shard(as_int(shards, {"shard", "shards"}),
                              as_int(index, {"shard", "index"}));
          },
          nb::arg("shards").none(), nb::arg("index").none())
      .def(
          "enumerate",
          [](const Dataset& self, nb::handle start) {
            return self.enumerate(as_int(start, {"enumerate", "start"}));
          },
          nb::arg("start").none())
      .def("concatenate", &Dataset::concatenate)
      .def(
          "cache",
          [](const Dataset& self, nb::handle folder, nb::handle quota) {
            if (folder.is_none()) return self.cache();
            data::CacheOptions options;
            if (!quota.is_none()) options.quota = as_bytes(quota, {"cache", "quota"});
            return self.cache(as_path(folder, {"cache", "folder"}), options);
          },
          nb::arg("folder").none(), nb::arg("quota").none())
      .def(
          "prefetch",
          [](const Dataset& self, nb::handle count) {
            return self.prefetch(count.is_none()
                                     ? data::kAutotune
                                     : static_cast<int>(as_int(count, {"prefetch", "count"})));
          },
          nb::arg("count").none())
      .def(
          "prefetch_to",
          [](const Dataset& self, nb::handle device, nb::handle count) {
            if (device.is_none()) {
              wrong_type({"prefetch_to", "device"}, device,
                         "it must be a device: pm.device(\"cuda:0\"), a session, or a name");
            }
            return self.prefetch_to(as_device(device, {"prefetch_to", "device"}),
                                    static_cast<int>(as_int(count, {"prefetch_to", "count"})));
          },
          nb::arg("device").none(), nb::arg("count").none())
      .def(
          "ignore_errors",
          [](const Dataset& self, nb::handle most, nb::handle rate) {
            return self.ignore_errors(as_int(most, {"ignore_errors", "most"}),
                                      as_double(rate, {"ignore_errors", "rate"}));
          },
          nb::arg("most").none(), nb::arg("rate").none());
}

}  // namespace

Dataset as_dataset(nb::handle value, Where where) {
  if (nb::hasattr(value, "_dataset")) return nb::cast<Dataset>(value.attr("_dataset"));
  wrong_type(where, value, "it must be a dataset: pm.data.from_tensor_slices((x, y)).batch(32)");
}

Dataset as_lasting_dataset(nb::handle value, Where where) {
  Dataset set = as_dataset(value, where);
  const nb::object kept = nb::getattr(value, "_kept", nb::tuple());
  if (length(kept) == 0) return set;
  using Both = std::pair<data::NodePtr, std::shared_ptr<PyObject>>;
  const auto both = std::make_shared<Both>(set.node(), hold(kept));
  return Dataset(data::NodePtr(both, set.node().get()));
}

std::optional<Dataset> as_optional_dataset(nb::handle value, Where where) {
  if (value.is_none()) return std::nullopt;
  return as_dataset(value, where);
}

void bind_dataset(nb::module_& m) {
  nb::class_<Dataset> cls(m, "_Dataset");
  bind_sources(cls);
  bind_stages(cls);
  cls.def_prop_ro("classes", &Dataset::classes)
      .def_prop_ro("class_counts", &Dataset::class_counts)
      .def_prop_ro("cardinality", &Dataset::cardinality)
      .def_prop_ro("signature", &Dataset::signature)
      .def_prop_ro("names", [](const Dataset& self) { return self.element_spec().names; })
      .def_prop_ro("spec_known", [](const Dataset& self) { return self.element_spec().known; })
      .def_prop_ro("spec_text", [](const Dataset& self) { return self.element_spec().to_string(); })
      .def_prop_ro("spec", &spec_list,
                   nb::sig("def spec(self) -> list[tuple[DType, tuple[int | None, ...] | None]]"));
  m.def(
      "load_digits",
      [](nb::handle device) {
        const data::Digits digits = data::load_digits(as_device(device, {"load_digits", "device"}));
        return std::pair(digits.images, digits.labels);
      },
      nb::arg("device").none() = nb::none(),
      nb::sig(
          "def load_digits(device: Device | Session | str | None = None) -> tuple[Tensor, Tensor]"),
      "1,797 handwritten digits that come with the library: images u8 [1797,8,8] from 0 to 16, and "
      "labels i64 [1797].");
}

}  // namespace plimsoll::python
