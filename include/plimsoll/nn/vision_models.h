#pragma once

#include <vector>

#include <plimsoll/nn/model.h>

// More models of pictures by name. Parameters are named as in torchvision (convnext,
// efficientnet_b0) and timm (mixer), so that published weights load.

namespace plimsoll::nn {

struct ConvNextOptions {
  std::int64_t classes = 1000;
  std::int64_t channels = 3;
  std::int64_t size = 224;  ///< a multiple of 32
  /// Blocks and features of each stage: those of ConvNeXt-T.
  std::vector<std::int64_t> blocks = {3, 3, 9, 3};
  std::vector<std::int64_t> widths = {96, 192, 384, 768};
  double drop_path = 0.1;  ///< of the last block; those before it have less
};
/// Liu et al. 2022.
Model convnext(const ConvNextOptions& options = {});

struct EfficientNetOptions {
  std::int64_t classes = 1000;
  std::int64_t channels = 3;
  std::int64_t size = 224;  ///< at least 32
  double dropout = 0.2;     ///< before the last layer
  double drop_path = 0.2;   ///< of the block after the last; those there are have less
};
/// Tan and Le 2019.
Model efficientnet_b0(const EfficientNetOptions& options = {});

struct MixerOptions {
  std::int64_t classes = 1000;
  std::int64_t channels = 3;
  std::int64_t size = 224;  ///< a multiple of the patch
  std::int64_t patch = 16;
  std::int64_t features = 768;
  std::int64_t layers = 12;
  /// Between the two dense layers across tokens, and across features; 0: half the features and
  /// four times as many.
  std::int64_t token_hidden = 0;
  std::int64_t feature_hidden = 0;
};
/// MLP-Mixer-B/16 of Tolstikhin et al. 2021.
Model mixer(const MixerOptions& options = {});

}  // namespace plimsoll::nn
