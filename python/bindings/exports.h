#pragma once

#include <cstddef>
#include <string>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::python {

/// Says that somebody else has the address of a tensor's memory, so that the session it is of is
/// not closed under them. Thread-safe.
class Export {
 public:
  explicit Export(const Tensor& tensor);
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;
  ~Export();

 private:
  std::string device_;
};

/// How many there are of tensors on the device of this name, or of one within it.
std::size_t exported_from(const std::string& device);

}  // namespace plimsoll::python
