#include "data/program/texts.h"

namespace plimsoll::data {

std::vector<TensorSpec> same_texts(const SpecInputs& inputs) {
  inputs.require_bytes(0);
  return {inputs[0]};
}

std::vector<TensorSpec> shaped_like_texts(const SpecInputs& inputs, DType dtype) {
  inputs.require_bytes(0);
  return {{dtype, inputs[0].dims}};
}

}  // namespace plimsoll::data
