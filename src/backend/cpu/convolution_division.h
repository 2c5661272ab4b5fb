#pragma once

#include "backend/cpu/convolution.h"
#include "backend/cpu/division.h"

namespace plimsoll::cpu {

/// How a convolution is divided among threads: into parts of its pictures times parts of its
/// channels, and each part of the pictures into chunks that follow each other, to bound their
/// copies. Channels are those of the result where pictures are computed (or groups, if there are
/// several), and the output's for a weight's gradient: no sum over channels is divided.
struct ConvDivision {
  std::int64_t pictures = 1;
  std::int64_t channels = 1;
  std::int64_t chunks = 1;

  /// Copies of pictures are made, in bytes of at most `copied` together; 0: none are made.
  static ConvDivision of(const ConvSpec& spec, int threads, Bytes copied);

  std::int64_t parts() const { return pictures * channels; }
  std::int64_t spans() const { return pictures * chunks; }
  /// Pictures [begin, begin + size) of span `i`, of which each part has `chunks`.
  Part span(const ConvSpec& spec, std::int64_t i) const {
    return Part::of(spec.shape.n, i, spans());
  }
  /// Channels (or groups) of part `i`.
  Part channel_part(const ConvSpec& spec, std::int64_t i) const;
};

/// The convolution of some pictures and channels (or groups) alone.
ops::ConvShape part_shape(const ConvSpec& spec, std::int64_t pictures, std::int64_t channels);

/// Where a part begins in each tensor, in elements.
struct ConvOffsets {
  std::int64_t x = 0;
  std::int64_t w = 0;
  std::int64_t y = 0;
  std::int64_t bias = 0;
};
ConvOffsets part_offsets(const ConvSpec& spec, std::int64_t picture, std::int64_t channel);

}  // namespace plimsoll::cpu
