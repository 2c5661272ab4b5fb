#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include <nanobind/nanobind.h>

#include <plimsoll/data/dataset.h>
#include <plimsoll/train/trainer.h>

#include "convert.h"

namespace nb = nanobind;

namespace plimsoll::python {

/// The C++ side of a plimsoll.data.Dataset; TypeError with what to write otherwise.
data::Dataset as_dataset(nb::handle value, Where where);
/// The same with the Python functions in it, which C++ otherwise reaches weakly, kept as long as
/// the dataset is: for those that a function gives while a pipeline runs.
data::Dataset as_lasting_dataset(nb::handle value, Where where);
std::optional<data::Dataset> as_optional_dataset(nb::handle value, Where where);

/// A name, or a plimsoll._cell.Cell of a function of (prediction, target); None: the model's own.
train::Loss as_loss(nb::handle value);
/// Names, or plimsoll.train.Metric objects.
std::vector<train::Metric> as_metrics(nb::handle value);
/// Ctrl-C during a run: `stop` ends it after its step, and `raised` says that a callback got the
/// KeyboardInterrupt, which fit() then raises.
struct Interrupts {
  std::atomic<bool> stop{false};
  std::atomic<bool> raised{false};
};
/// plimsoll._cell.Cells of objects with on_begin, on_step, on_epoch, on_end. `interrupts` outlives
/// the run.
std::vector<train::Callback> as_callbacks(nb::handle value, Interrupts& interrupts);

}  // namespace plimsoll::python
