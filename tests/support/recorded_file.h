#pragma once

#include <map>
#include <string>

#include <plimsoll/train/safetensors.h>

namespace plimsoll::test {

/// A file of tests/nn/recorded, whether its cases are packed or not: tests/nn/record/torch_cases.py
/// says how they lie in it.
class RecordedFile {
 public:
  explicit RecordedFile(const std::string& path);

  bool has(const std::string& name) const;
  /// The tensor CASE.x.0, CASE.p.weight, ... DataError if there is none.
  Tensor read(const std::string& name, const Device& device) const;
  void read_into(const std::string& name, Tensor& tensor) const;

 private:
  void unpack(const std::string& name);

  train::SafetensorsFile file_;
  std::map<std::string, Tensor> unpacked_;  ///< on op_cases_device()
};

}  // namespace plimsoll::test
