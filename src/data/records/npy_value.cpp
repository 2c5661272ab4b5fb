#include "data/records/npy_value.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/sources/npy_header.h"

namespace plimsoll::data {

Value npy_value(const Feature& feature, std::span<const std::byte> file,
                const RecordMemory& memory) {
  NpyHeader header;
  try {
    header = read_npy_header(file);
  } catch (const DataError& error) {
    throw DataError(fmt::format("\"{}\": {}", printable(feature.name), error.what()));
  }
  const TensorSpec spec = TensorSpec::of(header.dtype, header.shape);
  if (header.dtype == DType::bytes || !feature.spec.admits(spec)) {
    throw DataError(fmt::format("\"{}\" is {}, and {} was asked for", printable(feature.name),
                                spec.to_string(), feature.spec.to_string()));
  }
  const std::byte* const data = file.data() + header.data_offset;
  if (header.shape.rank() == 0) {
    std::array<std::byte, sizeof(std::uint64_t)> number{};
    std::memcpy(number.data(), data, header.item_bytes);
    settle_npy(header, number.data(), header.item_bytes);
    return Value::from_bits(header.dtype, number.data());
  }
  Tensor tensor = Tensor::empty(header.shape, header.dtype, memory.device, memory.options);
  if (tensor.nbytes() == 0) return tensor;
  auto* const to = static_cast<std::byte*>(tensor.raw_mutable_data());
  std::memcpy(to, data, tensor.nbytes());
  settle_npy(header, to, tensor.nbytes());
  return tensor;
}

std::string npy_file(const Value& value) {
  const auto descr = [&]() -> const char* {
    switch (value.dtype()) {
      case DType::f64:
        return "<f8";
      case DType::f32:
        return "<f4";
      case DType::f16:
        return "<f2";
      case DType::i64:
        return "<i8";
      case DType::i32:
        return "<i4";
      case DType::i16:
        return "<i2";
      case DType::i8:
        return "|i1";
      case DType::u16:
        return "<u2";
      case DType::u8:
        return "|u1";
      case DType::boolean:
        return "|b1";
      default:
        throw InvalidArgument(
            fmt::format("[write_records] an .npy file has no {}", dtype_name(value.dtype())));
    }
  }();
  std::string shape;
  for (const std::int64_t extent : value.shape()) shape += fmt::format("{}, ", extent);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr std::size_t kAlign = 64;
  constexpr std::size_t kStart = 10;
  while ((kStart + header.size() + 1) % kAlign != 0) header += ' ';
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  if (value.is_scalar()) {
    file.append(reinterpret_cast<const char*>(&value.bits()), dtype_size(value.dtype()));
  } else if (value.nbytes() > 0) {
    const Tensor tensor = value.tensor().contiguous();
    file.append(static_cast<const char*>(tensor.raw_data()), tensor.nbytes());
  }
  return file;
}

}  // namespace plimsoll::data
