// What plimsoll.compat.tf needs of pipelines and plimsoll itself writes otherwise: windows that are
// datasets, elements kept by their last component, declared specs, frames of records.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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
          return as_lasting_dataset(call.get()(of, dataset_of(elements, spec)),
                                    {"group_by_window", "what the function returns"});
        } catch (nb::python_error& error) {
          fail_as_data_error(error);
        }
      },
      window, name);
}

}  // namespace

void bind_stages(nb::module_& m) {
  m.def("_group_by_window", &group_by_window);
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
  m.def(
      "_tfrecord_frame",
      [](const nb::bytes& record) {
        const data::TFRecordFrame frame = data::tfrecord_frame({record.c_str(), record.size()});
        return nb::make_tuple(nb::bytes(frame.before.data(), frame.before.size()),
                              nb::bytes(frame.after.data(), frame.after.size()));
      },
      nb::sig("def _tfrecord_frame(record: bytes) -> tuple[bytes, bytes]"),
      "What stands before and after a record in a TFRecord file.");
}

}  // namespace plimsoll::python
