#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include <plimsoll/memory/trace.h>

namespace plimsoll::testing {

/// Allocation traces that look like training: long-lived parameters, optimizer state made in the
/// first step among the activations, a forward ramp with temporaries and workspaces, a backward
/// descent, changing lengths and batch sizes, remainder batches, validation and checkpoints in
/// between, input batches that arrive at any time. Blocks are 16 B to a few GiB, live peaks 100 MiB
/// to 60 GiB.
struct TrainingTraceKind {
  std::string_view name;
  std::string_view what;
  Trace (*make)(std::uint64_t seed);
};

/// How GoogleTest names one in a failure.
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
inline void PrintTo(const TrainingTraceKind& kind, std::ostream* out) { *out << kind.name; }

std::span<const TrainingTraceKind> training_trace_kinds();

/// The trace `kind` with `seed`; the same arguments give the same trace. Throws InvalidArgument
/// for a kind that is not in the list.
Trace make_training_trace(std::string_view kind, std::uint64_t seed);

/// The trace as RMM's CSV, with an address per slot.
std::string to_rmm_csv(const Trace& trace);

/// The same into a file. Throws Error.
void write_rmm_csv(const Trace& trace, const std::string& path);

}  // namespace plimsoll::testing
