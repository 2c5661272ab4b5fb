// The extents of a value, where they differ from element to element.
#include "data/program/op.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> extents_specs(const SpecInputs& inputs) {
  const DType dtype = inputs.attributes().dtype("dtype");
  if (dtype != DType::i32 && dtype != DType::i64) inputs.fail("gives i32 or i64");
  const auto& dims = inputs[0].dims;
  return {{dtype,
           std::vector<std::int64_t>{dims ? static_cast<std::int64_t>(dims->size()) : kAnyExtent}}};
}

template <typename T>
void write(ProgramCall& call, const Shape& shape) {
  Tensor to = call.output({shape.rank()}, dtype_of<T>);
  if (shape.rank() == 0) return;
  T* out = to.mutable_data<T>();
  for (const std::int64_t extent : shape) *out++ = static_cast<T>(extent);
}

void run_extents(ProgramCall& call) {
  const Shape& shape = call.input(0).shape();
  call.attributes().dtype("dtype") == DType::i32 ? write<std::int32_t>(call, shape)
                                                 : write<std::int64_t>(call, shape);
}

}  // namespace

std::span<const ProgramOp> extents() {
  static constexpr ProgramOp kOps[] = {
      {.name = "extents",
       .summary = "the extents of a value, in one dimension",
       .specs = extents_specs,
       .run = run_extents},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
