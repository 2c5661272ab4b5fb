// Stages that mix, sample and group. plimsoll/_dataset.py has the methods that people use.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/dataset.h>

#include "bind_parts.h"
#include "elements.h"
#include "given.h"
#include "train.h"

namespace plimsoll::python {
namespace {

using data::Dataset;
using data::Element;

Dataset set_of(const Given& given) { return nb::cast<Dataset>(given.value("set")); }

nb::object guarded(const Callable& call, const std::vector<nb::object>& arguments) {
  nb::list list;
  for (const nb::object& each : arguments) list.append(each);
  try {
    return call.get()(*nb::tuple(list));
  } catch (nb::python_error& error) {
    fail_as_data_error(error);
  }
}

nb::object scan(const Given& given) {
  const Element state = to_element(given.value("state"), nullptr, given.where("state"));
  const Callable call(given.value("cell"));
  data::ScanFunction function = [call](const Element& before, const Element& element) {
    const Locked locked;
    const nb::object made = guarded(call, {to_python(before), to_python(element)});
    if (PyTuple_Check(made.ptr()) == 0 || length(made) != 2) {
      wrong_type({"scan", "what the function returns"}, made,
                 "it must be two things: (the new state, an element)");
    }
    return std::pair(to_element(made[0], nullptr, {"scan", "the state"}),
                     to_element(made[1], nullptr, {"scan", "an element"}));
  };
  return nb::cast(set_of(given).scan(state, std::move(function), given.text("name")));
}

nb::object bucket(const Given& given) {
  auto measure = [call = Callable(given.value("cell"))](const Element& element) {
    const Locked locked;
    return as_int(call_python(call.get(), element),
                  {"bucket_by_sequence_length", "what length gives"});
  };
  return nb::cast(set_of(given).bucket_by_sequence_length(
      measure, given.integers("boundaries"), given.integers("sizes"),
      {given.flag("drop_remainder"), given.flag("pad_to_boundary")}, given.text("name")));
}

nb::object group(const Given& given) {
  auto key = [call = Callable(given.value("key"))](const Element& element) {
    const Locked locked;
    return as_int(call_python(call.get(), element), {"group_by_window", "what key gives"});
  };
  auto reduce = [call = Callable(given.value("reduce"))](std::int64_t of,
                                                         const std::vector<Element>& window) {
    const Locked locked;
    nb::list elements;
    for (const Element& each : window) elements.append(to_python(each));
    return as_lasting_dataset(guarded(call, {nb::int_(of), elements}),
                              {"group_by_window", "what reduce returns"});
  };
  return nb::cast(
      set_of(given).group_by_window(key, reduce, given.integer("window"), given.text("name")));
}

}  // namespace

void bind_mixing(nb::module_& m) {
  define(
      m, "sample_from_datasets",
      "sets: typing.Sequence[_Dataset], weights: typing.Sequence[float] | None = None, seed: int "
      "| None = None, stop_on_empty: bool = False",
      "_Dataset", "", [](const Given& given) {
        std::vector<double> weights;
        if (!given.is_none("weights")) weights = given.numbers("weights");
        return nb::cast(Dataset::sample_from_datasets(
            nb::cast<std::vector<Dataset>>(given.value("sets")), weights,
            {given.seed("seed"), given.flag("stop_on_empty")}));
      });
  define(m, "choose_from_datasets",
         "sets: typing.Sequence[_Dataset], choice: _Dataset, stop_on_empty: bool = True",
         "_Dataset", "", [](const Given& given) {
           return nb::cast(Dataset::choose_from_datasets(
               nb::cast<std::vector<Dataset>>(given.value("sets")),
               nb::cast<Dataset>(given.value("choice")), given.flag("stop_on_empty")));
         });
  define(m, "sample_weighted",
         "set: _Dataset, weights: typing.Sequence[float], count: int = -1, seed: int | None = None",
         "_Dataset", "", [](const Given& given) {
           return nb::cast(set_of(given).sample_weighted(
               given.numbers("weights"), given.integer("count"), given.seed("seed")));
         });
  define(
      m, "balance_classes", "set: _Dataset, count: int = -1, seed: int | None = None", "_Dataset",
      "", [](const Given& given) {
        return nb::cast(set_of(given).balance_classes(given.integer("count"), given.seed("seed")));
      });
  define(m, "rebatch", "set: _Dataset, size: int, drop_remainder: bool = False", "_Dataset", "",
         [](const Given& given) {
           return nb::cast(
               set_of(given).rebatch(given.integer("size"), {given.flag("drop_remainder")}));
         });
  define(m, "take_while", "set: _Dataset, cell: typing.Any, name: str", "_Dataset", "",
         [](const Given& given) {
           return nb::cast(set_of(given).take_while(
               [call = Callable(given.value("cell"))](const Element& element) {
                 const Locked locked;
                 return PyObject_IsTrue(call_python(call.get(), element).ptr()) == 1;
               },
               given.text("name")));
         });
  define(m, "scan", "set: _Dataset, state: typing.Any, cell: typing.Any, name: str", "_Dataset", "",
         &scan);
  define(m, "bucket_by_sequence_length",
         "set: _Dataset, cell: typing.Any, boundaries: typing.Sequence[int], sizes: "
         "typing.Sequence[int], drop_remainder: bool, pad_to_boundary: bool, name: str",
         "_Dataset", "", &bucket);
  define(m, "group_by_window",
         "set: _Dataset, key: typing.Any, reduce: typing.Any, window: int, name: str", "_Dataset",
         "", &group);
  define(m, "require_disjoint", "train: _Dataset, validation: _Dataset", "None", "",
         [](const Given& given) {
           data::require_disjoint(nb::cast<Dataset>(given.value("train")),
                                  nb::cast<Dataset>(given.value("validation")));
           return nb::object(nb::none());
         });
}

}  // namespace plimsoll::python
