#pragma once

#include <string>
#include <vector>

#include <plimsoll/data/image/load.h>
#include <plimsoll/data/program_ops.h>

namespace plimsoll::tools {

/// The augmentation that `--augment flip,crop,colour` names.
class Augmentation {
 public:
  Augmentation() = default;
  /// Names between commas. Throws InvalidArgument naming one that there is not.
  explicit Augmentation(const std::string& names);

  bool empty() const { return steps_.empty(); }
  /// A decoded picture as a model reads it: resized as `load` says, augmented, 0 to 1, channels
  /// first.
  data::Symbolic apply(const data::Symbolic& picture, const image::LoadOptions& load) const;

  /// "flip, crop, ...": what there is, for a reader.
  static std::string names();

 private:
  bool has(const std::string& step) const;

  std::vector<std::string> steps_;
};

}  // namespace plimsoll::tools
