#pragma once

#include <vector>

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

/// What stands around a tensor: zeros; what lies inside, mirrored without the edge itself
/// ("cba|abc" would be with it, and is not this); the edge repeated; what lies at the other end.
enum class PadMode : std::uint8_t { zeros, reflect, replicate, circular };

/// before[i] and after[i] elements more in dimension i, none of them negative. InvalidArgument for
/// more than a dimension can give: reflect takes less than its extent, circular at most that.
Tensor pad(const Tensor& x, const std::vector<std::int64_t>& before,
           const std::vector<std::int64_t>& after, PadMode mode);

/// Around pictures [n, channels, height, width].
class Pad2D final : public Module {
 public:
  struct Sides {
    std::int64_t top = 0;
    std::int64_t bottom = 0;
    std::int64_t left = 0;
    std::int64_t right = 0;
  };
  explicit Pad2D(std::int64_t all, PadMode mode = PadMode::zeros)
      : Pad2D(Sides{all, all, all, all}, mode) {}
  explicit Pad2D(const Sides& sides, PadMode mode = PadMode::zeros) : sides_(sides), mode_(mode) {}
  Tensor forward(const Tensor& x) const override;

 private:
  Sides sides_;
  PadMode mode_;
};

/// Around sequences [n, channels, length].
class Pad1D final : public Module {
 public:
  Pad1D(std::int64_t before, std::int64_t after, PadMode mode = PadMode::zeros)
      : before_(before), after_(after), mode_(mode) {}
  Tensor forward(const Tensor& x) const override;

 private:
  std::int64_t before_;
  std::int64_t after_;
  PadMode mode_;
};

}  // namespace plimsoll::nn
