#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <plimsoll/base/bytes.h>

namespace plimsoll::testing {

/// Seeded random numbers that are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// 0 to n - 1.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  /// `low` to `high`, both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  /// 0 to 1.
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }
  /// Between `low` and `high`, every factor of two equally likely.
  Bytes log_uniform(Bytes low, Bytes high);

 private:
  std::mt19937_64 engine_;
};

/// What a batch is: samples, each of `length` (tokens, or the share of the nominal picture).
struct Work {
  double samples = 1;
  double length = 1;
};

/// A layer as an allocator sees it. Bytes of tensors are given per sample and unit of length.
struct Layer {
  std::vector<Bytes> parameters{};
  double output = 0;
  std::vector<double> saved{};        ///< kept for the backward pass besides the output
  std::vector<double> temporaries{};  ///< gone when the layer is done, in both passes
  double scores = 0;                  ///< a temporary that grows with the square of the length
  bool keep_scores = false;           ///< the scores are kept for the backward pass
  Bytes workspace = 0;                ///< of the library, fixed
  int skip_from = -1;                 ///< also reads the output of this earlier layer
  double spread = 0;                  ///< sizes vary between 1/(1+spread) and 1+spread each time
};

struct Model {
  std::vector<Layer> layers{};
  double input = 0;       ///< bytes of the input, per sample and unit of length
  double per_sample = 0;  ///< bytes of labels and the like, per sample
};

Model resnet(Random& random, int depth_factor, int width);
Model transformer(Random& random, int layers, int d_model, int heads, int vocabulary,
                  bool keep_scores);
Model unet(Random& random, int levels, int width);
/// Hundreds of layers with parameters of 16 B to 16 KiB: allocations, not bytes, are the load.
Model tiny_tensors(Random& random, int layers);
/// A backbone with heads whose tensors have another size every time.
Model detector(Random& random);
/// A transformer whose every second block splits its tokens unevenly over experts.
Model mixture_of_experts(Random& random, int layers, int d_model, int experts);
/// Message passing over a sampled neighbourhood: sizes vary over a decade.
Model graph_network(Random& random, int layers, int width);

}  // namespace plimsoll::testing
