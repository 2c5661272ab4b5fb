#pragma once

#include <optional>
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
  /// The same variable, with the values that it has. A buffer if it is not trainable.
  explicit Parameter(const Variable& variable);

  /// How it starts. InvalidArgument for a variable that had its values before it became a
  /// parameter: once they are released, they are gone.
  const Init& init() const;
  bool is_buffer() const { return buffer_; }

 private:
  std::optional<Init> init_;
  bool buffer_;
};

}  // namespace plimsoll::nn
