#pragma once

#include <memory>
#include <string>

#include <plimsoll/tensor/storage.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::test {

/// Memory of a device whose every byte is 0xFF, with as much around it: NaN in every floating
/// dtype, so that whoever reads what nobody wrote, or leaves out what it should write, is found.
class Poisoned {
 public:
  Poisoned(const Device& device, Bytes bytes);

  /// Aligned to 256.
  void* data() const;
  /// A tensor in it, from its beginning.
  Tensor tensor(const TensorType& type) const;
  /// Fails the test if a byte around it was written.
  void expect_intact(const std::string& what) const;

 private:
  std::shared_ptr<Storage> storage_;
  Bytes bytes_;
};

}  // namespace plimsoll::test
