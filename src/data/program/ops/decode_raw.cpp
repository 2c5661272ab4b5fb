// Bytes as numbers.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/program/op.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> decode_raw_specs(const SpecInputs& inputs) {
  inputs.require_one_text(0);
  const DType dtype = inputs.attributes().dtype("dtype");
  if (dtype == DType::bytes) inputs.fail("dtype must be one of numbers");
  return {{dtype, std::vector<std::int64_t>{kAnyExtent}}};
}

void run_decode_raw(ProgramCall& call) {
  const std::string_view bytes = call.input(0).text();
  const DType dtype = call.attributes().dtype("dtype");
  const std::size_t size = dtype_size(dtype);
  if (bytes.size() % size != 0) {
    throw DataError(
        fmt::format("[decode_raw] {} bytes are not a whole number of {}, of {} bytes each",
                    bytes.size(), dtype_name(dtype), size));
  }
  Tensor to = call.output({static_cast<std::int64_t>(bytes.size() / size)}, dtype);
  if (bytes.empty()) return;
  auto* const out = static_cast<char*>(to.raw_mutable_data());
  std::memcpy(out, bytes.data(), bytes.size());
  // Nothing but 0 and 1 is a bool.
  if (dtype == DType::boolean)
    std::transform(out, out + bytes.size(), out, [](char c) -> char { return c != 0; });
}

}  // namespace

std::span<const ProgramOp> decode_raw() {
  static constexpr ProgramOp kOps[] = {
      {.name = "decode_raw",
       .summary = "bytes as little-endian numbers in one dimension",
       .specs = decode_raw_specs,
       .run = run_decode_raw},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
