#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <plimsoll/nn/model.h>
#include <plimsoll/ops/convolution.h>

// The models by name. Parameters are named as in torchvision (resnet), timm (vit), Hugging Face
// (gpt2) and milesial/Pytorch-UNet (unet), and start as the papers say.

namespace plimsoll::nn {

struct MlpOptions {
  std::int64_t in = 784;  ///< features; inputs of more dimensions are flattened
  std::vector<std::int64_t> hidden = {256, 256};
  std::int64_t classes = 10;
};
/// Dense layers fc1, fc2, ... with relu between them.
Model mlp(const MlpOptions& options = {});

struct LenetOptions {
  std::int64_t classes = 10;
  std::int64_t channels = 1;
  /// Of the pictures, at least 4. The second convolution is padded below 12, where no window of
  /// it would fit otherwise.
  std::int64_t size = 28;
};
/// LeCun et al. 1998, with relu and the largest of each window: 61,706 parameters at 28x28.
Model lenet(const LenetOptions& options = {});

struct ResnetOptions {
  std::int64_t channels = 3;
  std::int64_t size = 224;
  /// In which order it computes; pictures are fed as [n, channels, h, w] in any case, and weights
  /// are the same. GPUs are faster with channels_last.
  Layout layout = Layout::channels_first;
};
/// He et al. 2015.
Model resnet18(std::int64_t classes = 1000, const ResnetOptions& options = {});
Model resnet50(std::int64_t classes = 1000, const ResnetOptions& options = {});

struct VitOptions {
  std::int64_t classes = 1000;
  std::int64_t channels = 3;
  std::int64_t size = 224;  ///< a multiple of the patch
  std::int64_t patch = 16;
  std::int64_t features = 768;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  double dropout = 0;
};
/// Dosovitskiy et al. 2020. vit_tiny has 192 features and 3 heads.
Model vit(const VitOptions& options);
Model vit_b16(std::int64_t classes = 1000);
Model vit_tiny(std::int64_t classes = 1000);

struct Gpt2Options {
  std::int64_t vocabulary = 50257;
  std::int64_t context = 1024;
  std::int64_t features = 768;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  double dropout = 0.1;
};
/// Radford et al. 2019. Fed with ids [n, tokens] and, as targets, the ids that follow each. The
/// head is the embedding's transpose, and loss() never has whole logits. gpt2_tiny reads bytes: 128
/// features, 4 layers, 4 heads, a context of 128, no dropout.
Model gpt2(const Gpt2Options& options = {});
Model gpt2_tiny();

struct UnetOptions {
  std::int64_t classes = 2;
  std::int64_t channels = 3;
  std::int64_t size = 256;  ///< a multiple of 16
  std::int64_t width = 64;  ///< features of the first level
};
/// Ronneberger et al. 2015, with padding and batch normalisation: logits [n, classes, h, w] for
/// labels [n, h, w].
Model unet(const UnetOptions& options = {});

}  // namespace plimsoll::nn
