#pragma once

#include <string>

#include <plimsoll/nn/init.h>
#include <plimsoll/ops/variable.h>

namespace plimsoll::nn {

/// A variable of a module: declared first, with a type and no data. Its name is its path from the
/// root of the modules it lies in, "layer1.0.conv1.weight". It gets its first values when the
/// module is first called with data, from Module::materialize, or from a trainer; they depend on
/// the seed and the name alone.
class Parameter : public Variable {
 public:
  /// `buffer`: not trained, but saved, as running statistics are.
  Parameter(std::string name, const TensorType& type, const Init& init, bool buffer);

  const Init& init() const { return init_; }
  bool is_buffer() const { return buffer_; }

 private:
  Init init_;
  bool buffer_;
};

}  // namespace plimsoll::nn
