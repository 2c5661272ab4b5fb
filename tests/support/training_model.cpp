#include "support/training_model.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::testing {
namespace {

Bytes elements(double count, Bytes width) { return static_cast<Bytes>(count) * width; }

Layer convolution(Random& random, double in, double out, double kernel, double pixels) {
  Layer layer;
  layer.parameters = {elements(in * out * kernel * kernel, 4), elements(out, 4), elements(out, 4),
                      elements(out, 4), elements(out, 4)};
  layer.output = out * pixels * 2;
  layer.saved = {out * pixels * 2};  // before the normalisation
  if (random.chance(0.3)) layer.temporaries = {out * pixels * 2};
  if (random.chance(0.7)) layer.workspace = random.log_uniform(KiB(64), MiB(192));
  return layer;
}

Layer linear(double in, double out, Bytes width = 2) {
  Layer layer;
  layer.parameters = {elements(in * out, width), elements(out, width)};
  layer.output = out * static_cast<double>(width);
  return layer;
}

}  // namespace

Bytes Random::log_uniform(Bytes low, Bytes high) {
  const double bits = std::log2(static_cast<double>(high) / static_cast<double>(low));
  return static_cast<Bytes>(static_cast<double>(low) * std::exp2(unit() * bits));
}

Model resnet(Random& random, int depth_factor, int width) {
  Model model{.input = 3 * 224 * 224 * 4, .per_sample = 8};
  double pixels = 112.0 * 112;
  double channels = width;
  model.layers.push_back(convolution(random, 3, channels, 7, pixels));
  pixels /= 4;
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < blocks[stage] * depth_factor; ++block) {
      const double in = stage == 0 && block == 0 ? channels : channels * 4;
      const int entry = static_cast<int>(model.layers.size()) - 1;
      model.layers.push_back(convolution(random, in, channels, 1, pixels));
      model.layers.push_back(convolution(random, channels, channels, 3, pixels));
      model.layers.push_back(convolution(random, channels, channels * 4, 1, pixels));
      if (block > 0) model.layers.back().skip_from = entry;
    }
    channels *= 2;
    pixels /= 4;
  }
  model.layers.push_back(linear(channels * 2, 1000, 4));
  model.layers.back().temporaries = {4000, 4000};
  return model;
}

Model transformer(Random& random, int layers, int d_model, int heads, int vocabulary,
                  bool keep_scores) {
  const double d = d_model;
  Model model{.input = 8, .per_sample = 64};
  model.layers.push_back(
      {.parameters = {elements(d * vocabulary, 2), elements(d * 1024, 2)}, .output = d * 2});
  for (int i = 0; i < layers; ++i) {
    const int entry = static_cast<int>(model.layers.size()) - 1;
    Layer attention = linear(d, 3 * d);
    attention.parameters.insert(attention.parameters.end(), {elements(d * d, 2), elements(d, 2),
                                                             elements(d, 4), elements(d, 4)});
    attention.output = d * 2;
    attention.saved = {d * 2, 3 * d * 2, d * 2, 8};
    attention.temporaries = {d * 2};
    attention.scores = 2.0 * heads;
    attention.keep_scores = keep_scores;
    if (random.chance(0.5)) attention.workspace = random.log_uniform(MiB(1), MiB(32));
    model.layers.push_back(attention);
    Layer mlp = linear(d, 4 * d);
    mlp.parameters.insert(mlp.parameters.end(), {elements(d * d * 4, 2), elements(d, 2)});
    mlp.output = d * 2;
    mlp.saved = {d * 2, 4 * d * 2, 4 * d * 2, 8};
    mlp.temporaries = {4 * d * 2};
    mlp.skip_from = entry;
    model.layers.push_back(mlp);
  }
  Layer head;
  head.output = 2.0 * vocabulary;
  head.saved = {4.0 * vocabulary};
  head.temporaries = {4.0 * vocabulary};
  head.workspace = MiB(32);
  model.layers.push_back(head);
  return model;
}

Model unet(Random& random, int levels, int width) {
  Model model{.input = 4 * 64 * 64 * 4, .per_sample = 77 * 1024 * 2};
  std::vector<int> skips;
  const auto block = [&](double in, double out, double pixels, int skip) {
    model.layers.push_back(convolution(random, in, out, 3, pixels));
    model.layers.back().skip_from = skip;
    model.layers.push_back(convolution(random, out, out, 3, pixels));
    if (pixels <= 32.0 * 32 && random.chance(0.7)) {
      Layer attention = linear(out, 3 * out);
      attention.output = out * pixels * 2;
      attention.saved = {3 * out * pixels * 2};
      attention.temporaries = {8 * pixels * pixels * 2};
      model.layers.push_back(attention);
    }
  };
  double channels = width;
  double pixels = 64.0 * 64;
  double in = 4;
  for (int level = 0; level < levels; ++level) {
    block(in, channels, pixels, -1);
    skips.push_back(static_cast<int>(model.layers.size()) - 1);
    in = channels;
    channels *= 2;
    pixels /= 4;
  }
  block(in, in, pixels, -1);
  while (!skips.empty()) {
    channels /= 2;
    pixels *= 4;
    block(in + channels, channels, pixels, skips.back());
    skips.pop_back();
    in = channels;
  }
  return model;
}

Model tiny_tensors(Random& random, int layers) {
  Model model{.input = 256, .per_sample = 16};
  for (int i = 0; i < layers; ++i) {
    Layer layer;
    for (std::uint64_t n = random.between(2, 8); n > 0; --n) {
      layer.parameters.push_back(random.log_uniform(16, KiB(16)));
    }
    layer.output = static_cast<double>(random.between(1, 256));
    layer.saved = {4, 1, static_cast<double>(random.between(1, 64))};
    layer.temporaries = {1, 2};
    if (random.chance(0.05)) layer.workspace = random.log_uniform(KiB(1), MiB(1));
    model.layers.push_back(layer);
  }
  return model;
}

Model detector(Random& random) {
  Model model = resnet(random, 1, 64);
  model.layers.pop_back();
  model.input *= 12;
  for (Layer& layer : model.layers) {  // detection runs on large pictures
    layer.output *= 12;
    for (double& bytes : layer.saved) bytes *= 12;
    for (double& bytes : layer.temporaries) bytes *= 12;
  }
  for (int level = 0; level < 5; ++level) {
    Layer pyramid = convolution(random, 256, 256, 3, 200.0 * 336 / std::pow(4, level));
    pyramid.spread = 0.1;
    model.layers.push_back(pyramid);
  }
  for (int head = 0; head < 12; ++head) {
    Layer layer = linear(256.0 * 49, head % 3 == 0 ? 1024 : 91, 4);
    layer.output = static_cast<double>(random.log_uniform(KiB(4), MiB(24)));
    layer.saved = {layer.output / 7, layer.output / 3, 64, 8};
    layer.temporaries = {layer.output * 2, layer.output, 16, layer.output / 9};
    layer.spread = 3;
    model.layers.push_back(layer);
  }
  return model;
}

Model mixture_of_experts(Random& random, int layers, int d_model, int experts) {
  const double d = d_model;
  Model model = transformer(random, layers, d_model, 16, 32000, false);
  std::vector<Layer> all;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer layer = model.layers[i];
    layer.skip_from = -1;
    const bool mixed = i % 4 == 2 && i + 1 < model.layers.size();
    if (!mixed) {
      all.push_back(layer);
      continue;
    }
    for (int expert = 0; expert < experts; ++expert) {
      Layer part = linear(d, 2 * d);
      part.parameters.push_back(elements(2 * d * d, 2));
      part.output = d * 2 / experts;
      part.saved = {2 * d * 2 / experts, 2 * d * 2 / experts, 4.0};
      part.temporaries = {d * 2 / experts};
      part.spread = 4;
      all.push_back(part);
    }
    layer.parameters.resize(2);
    all.push_back(layer);
  }
  model.layers = std::move(all);
  return model;
}

Model graph_network(Random& random, int layers, int width) {
  const double w = width;
  Model model{.input = 512, .per_sample = 4};
  for (int i = 0; i < layers; ++i) {
    Layer layer = linear(w, w, 4);
    layer.output = w * 4;
    layer.saved = {w * 4 * 3, 8, w * 4};         // messages on the edges
    layer.temporaries = {w * 4 * 6, w * 4 * 3};  // gathered ends
    layer.spread = 2 + random.unit() * 4;
    model.layers.push_back(layer);
  }
  return model;
}

}  // namespace plimsoll::testing
