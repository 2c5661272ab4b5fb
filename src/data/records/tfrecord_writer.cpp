#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <zlib.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/tfrecord_frame.h>

#include "data/records/example.h"
#include "data/records/output_file.h"
#include "data/records/shard_writer.h"
#include "data/records/tfrecord.h"
#include "data/records/varint.h"

namespace plimsoll::data {
namespace {

void put_message(std::string& out, int field, std::string_view bytes) {
  out.push_back(static_cast<char>(field << 3 | 2));
  put_varint(out, bytes.size());
  out += bytes;
}

/// The message Feature of a component.
std::string encode_feature(const Value& value) {
  std::string list;
  int kind = 0;
  if (value.dtype() == DType::bytes) {
    kind = 1;
    for (std::int64_t i = 0; i < value.tensor().elements(); ++i) {
      put_message(list, 1, value.tensor().string_at(i));
    }
  } else {
    const Tensor tensor = value.is_scalar() ? Tensor() : value.tensor().contiguous();
    const std::int64_t count = value.is_scalar() ? 1 : tensor.elements();
    const auto at = [&](std::int64_t i) {
      if (value.is_scalar()) return value;
      const auto* const data = static_cast<const std::byte*>(tensor.raw_data());
      return Value::from_bits(value.dtype(),
                              data + static_cast<Bytes>(i) * dtype_size(value.dtype()));
    };
    std::string packed;
    kind = is_floating(value.dtype()) ? 2 : 3;
    for (std::int64_t i = 0; i < count; ++i) {
      if (kind == 3) {
        put_varint(packed, static_cast<std::uint64_t>(as_integer(at(i))));
      } else {
        const auto number = static_cast<float>(as_real(at(i)));
        packed.append(reinterpret_cast<const char*>(&number), sizeof(number));
      }
    }
    if (count > 0) put_message(list, 1, packed);
  }
  std::string feature;
  put_message(feature, kind, list);
  return feature;
}

class TfRecordWriter final : public ShardWriter {
 public:
  TfRecordWriter(const std::string& path, std::vector<std::string> names, Compression compression)
      : file_(path), names_(std::move(names)), compresses_(compression != Compression::none) {
    constexpr int kGzip = 16;
    const int bits = MAX_WBITS + (compression == Compression::gzip ? kGzip : 0);
    if (compresses_ && ::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 8,
                                      Z_DEFAULT_STRATEGY) != Z_OK) {
      throw Error("[write_records] zlib cannot begin");
    }
  }
  TfRecordWriter(const TfRecordWriter&) = delete;
  TfRecordWriter& operator=(const TfRecordWriter&) = delete;
  ~TfRecordWriter() override {
    if (compresses_) ::deflateEnd(&stream_);
  }

  void add(const Element& element, std::int64_t /*number*/) override {
    // A component called "record" alone is the record as it is.
    const bool raw = names_.size() == 1 && names_[0] == "record";
    const std::string example = raw ? "" : encode_example(element, names_);
    const std::string_view record = raw ? element.at(0).text() : std::string_view(example);
    put(tfrecord_head(record.size()));
    put(record);
    put(tfrecord_tail(record.data(), record.size()));
  }
  Bytes bytes() const override { return file_.written(); }
  void close() override {
    if (compresses_) deflate({}, Z_FINISH);
    file_.commit();
  }

 private:
  void put(std::string_view bytes) {
    compresses_ ? deflate(bytes, Z_NO_FLUSH) : file_.write(bytes);
  }
  void deflate(std::string_view bytes, int flush) {
    std::array<char, 16 * 1024> out;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    int status = Z_OK;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = static_cast<uInt>(out.size());
      status = ::deflate(&stream_, flush);
      file_.write(out.data(), out.size() - stream_.avail_out);
    } while (stream_.avail_out == 0 || (flush == Z_FINISH && status == Z_OK));
  }

  OutputFile file_;
  std::vector<std::string> names_;
  bool compresses_;
  ::z_stream stream_{};
};

class TfRecordShards final : public ShardFormat {
 public:
  TfRecordShards(std::vector<std::string> names, Compression compression)
      : names_(std::move(names)), compression_(compression) {}
  std::string file_name(std::int64_t shard) const override {
    return fmt::format("shard-{:05}.tfrecord", shard);
  }
  std::unique_ptr<ShardWriter> open(const std::string& path) override {
    return std::make_unique<TfRecordWriter>(path, names_, compression_);
  }

 private:
  std::vector<std::string> names_;
  Compression compression_;
};

}  // namespace

std::string encode_example(const Element& element, std::span<const std::string> names) {
  if (element.size() != names.size()) {
    throw InvalidArgument(fmt::format("[write_records] an element has {} components, not {}",
                                      element.size(), names.size()));
  }
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return names[a] < names[b]; });
  std::string features;
  for (const std::size_t i : order) {
    std::string entry;
    put_message(entry, 1, names[i]);
    put_message(entry, 2, encode_feature(element[i]));
    put_message(features, 1, entry);
  }
  std::string example;
  put_message(example, 1, features);
  return example;
}

std::int64_t as_integer(const Value& scalar) {
  switch (scalar.dtype()) {
    case DType::i64:
      return scalar.as<std::int64_t>();
    case DType::i32:
      return scalar.as<std::int32_t>();
    case DType::i16:
      return scalar.as<std::int16_t>();
    case DType::i8:
      return scalar.as<std::int8_t>();
    case DType::u16:
      return scalar.as<std::uint16_t>();
    case DType::u8:
      return scalar.as<std::uint8_t>();
    case DType::boolean:
      return scalar.as<bool>() ? 1 : 0;
    default:
      throw InvalidArgument(
          fmt::format("[write_records] {} is not an integer type", dtype_name(scalar.dtype())));
  }
}

double as_real(const Value& scalar) {
  switch (scalar.dtype()) {
    case DType::f64:
      return scalar.as<double>();
    case DType::f32:
      return static_cast<double>(scalar.as<float>());
    case DType::f16:
      return static_cast<double>(static_cast<float>(scalar.as<Float16>()));
    case DType::bf16:
      return static_cast<double>(static_cast<float>(scalar.as<BFloat16>()));
    default:
      return static_cast<double>(as_integer(scalar));
  }
}

std::unique_ptr<ShardFormat> tfrecord_shards(const ElementSpec& spec, Compression compression) {
  return std::make_unique<TfRecordShards>(spec.names, compression);
}

TFRecordFrame tfrecord_frame(std::string_view record) {
  return {tfrecord_head(record.size()), tfrecord_tail(record.data(), record.size())};
}

}  // namespace plimsoll::data
