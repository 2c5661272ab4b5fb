// Stages that only plimsoll.compat.tf uses from Python so far: mixing, grouping, records, files of
// elements.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/dataset.h>
#include <plimsoll/data/declare.h>
#include <plimsoll/data/tfrecord_frame.h>

#include "bind.h"
#include "elements.h"
#include "process.h"
#include "train.h"

namespace plimsoll::python {
namespace {

using data::Dataset;
using data::Element;

std::optional<std::uint64_t> seed_of(nb::handle seed) {
  if (seed.is_none()) return std::nullopt;
  return static_cast<std::uint64_t>(as_int(seed, {"sample_from_datasets", "seed"}));
}

/// The elements of a window as a dataset.
Dataset dataset_of(const std::vector<Element>& elements, const data::ElementSpec& spec) {
  data::Indexable set;
  set.size = static_cast<std::int64_t>(elements.size());
  set.spec = spec;
  set.name = "window";
  set.get = [elements](std::int64_t index) { return elements[static_cast<std::size_t>(index)]; };
  return Dataset::from_indexable(set);
}

std::int64_t key_of(const Callable& call, const Element& element, const char* who) {
  const Locked locked;
  return as_int(call_python(call.get(), element), {who, "what the function returns"});
}

Dataset group_by_window(const Dataset& set, nb::handle key, nb::handle reduce, std::int64_t window,
                        const std::string& name) {
  return set.group_by_window(
      [call = Callable(key)](const Element& element) {
        return key_of(call, element, "group_by_window");
      },
      [call = Callable(reduce), spec = set.element_spec()](std::int64_t of,
                                                           const std::vector<Element>& elements) {
        const Locked locked;
        try {
          return as_dataset(call.get()(of, dataset_of(elements, spec)),
                            {"group_by_window", "what the function returns"});
        } catch (nb::python_error& error) {
          fail_as_data_error(error);
        }
      },
      window, name);
}

Dataset tfrecords(const std::vector<std::string>& files) {
  const Unlocked unlocked;
  return Dataset::tfrecords(data::Shards(files));
}

}  // namespace

void bind_stages(nb::module_& m) {
  m.def(
      "_sample_from_datasets",
      [](const std::vector<Dataset>& sets, const std::vector<double>& weights, nb::handle seed,
         bool stop_on_empty) {
        return Dataset::sample_from_datasets(sets, weights, {seed_of(seed), stop_on_empty});
      },
      nb::arg("sets"), nb::arg("weights"), nb::arg("seed").none(), nb::arg("stop_on_empty"));
  m.def("_choose_from_datasets",
        [](const std::vector<Dataset>& sets, const Dataset& choice, bool stop_on_empty) {
          return Dataset::choose_from_datasets(sets, choice, stop_on_empty);
        });
  m.def("_group_by_window", &group_by_window);
  m.def("_bucket_by_sequence_length",
        [](const Dataset& set, nb::handle length, const std::vector<std::int64_t>& boundaries,
           const std::vector<std::int64_t>& sizes, bool drop_remainder, bool pad_to_boundary,
           const std::string& name) {
          return set.bucket_by_sequence_length(
              [call = Callable(length)](const Element& element) {
                return key_of(call, element, "bucket_by_sequence_length");
              },
              boundaries, sizes, {drop_remainder, pad_to_boundary}, name);
        });
  m.def("_take_while", [](const Dataset& set, nb::handle cell, const std::string& name) {
    return set.take_while(
        [call = Callable(cell)](const Element& element) {
          const Locked locked;
          return PyObject_IsTrue(call_python(call.get(), element).ptr()) == 1;
        },
        name);
  });
  m.def(
      "_filter_last",
      [](const Dataset& set) {
        return set.filter(
            [](const Element& element) { return element[element.size() - 1].as<bool>(); }, "last");
      },
      "Elements whose last component, a bool, is true.");
  m.def(
      "_declare",
      [](const Dataset& set, nb::handle spec) {
        return data::declare(set, as_spec(spec, {"declare", "spec"}));
      },
      "The same elements with a spec that is known: [(dtype, shape), ...].");
  m.def("_rebatch", [](const Dataset& set, std::int64_t size, bool drop_remainder) {
    return set.rebatch(size, {drop_remainder});
  });
  m.def(
      "_tfrecord_frame",
      [](const nb::bytes& record) {
        const data::TFRecordFrame frame = data::tfrecord_frame({record.c_str(), record.size()});
        return nb::make_tuple(nb::bytes(frame.before.data(), frame.before.size()),
                              nb::bytes(frame.after.data(), frame.after.size()));
      },
      nb::sig("def _tfrecord_frame(record: bytes) -> tuple[bytes, bytes]"),
      "What stands before and after a record in a TFRecord file.");
  m.def("_tfrecords", &tfrecords, "The records of TFRecord files as byte strings.");
  m.def(
      "_save",
      [](const Dataset& set, nb::handle folder, nb::handle device) {
        const std::string path = as_path(folder, {"save", "path"});
        const Device where = as_device(device, {"save", "device"});
        const Unlocked unlocked;
        return data::save(set, path, where);
      },
      nb::arg("set"), nb::arg("folder"), nb::arg("device").none() = nb::none());
  m.def("_load", [](nb::handle folder) {
    const std::string path = as_path(folder, {"load", "path"});
    const Unlocked unlocked;
    return Dataset::load(path);
  });
}

}  // namespace plimsoll::python
