#pragma once

#include <span>
#include <string>

#include <plimsoll/report/run.h>

namespace plimsoll::report {

// Runs in the formats of other tools. All of them throw DataError naming what cannot be written, or
// StorageError where the disk is full or fails; files that are there are replaced.

/// Event files for TensorBoard, one run in a folder of its own below `folder`: loss, metrics,
/// learning rate, times, and memory in MiB, as TensorBoard's scalars are f32.
void write_tensorboard(std::span<const Run> runs, const std::string& folder);

/// A trace for ui.perfetto.dev (track events as protobuf): slices for steps, epochs, validation,
/// checkpoints and the ops of the first plan, counters for memory by tag and for the loss.
void write_perfetto(std::span<const Run> runs, const std::string& path);

/// A snapshot for PyTorch's memory viewer (pytorch.org/memory_viz): what one step of the run's last
/// plan places where, as a device's trace of allocations. InvalidArgument if the run has no plan
/// with its timeline.
void write_memory_viz(const Run& run, const std::string& path);

/// steps.csv, memory.csv, metrics.csv and events.csv in `folder`, with the run's name as the first
/// column. Nothing is thinned.
void write_csv(std::span<const Run> runs, const std::string& folder);

/// Everything as one JSON object: what a page is drawn from, with nothing thinned.
void write_json(std::span<const Run> runs, const std::string& path);

}  // namespace plimsoll::report
