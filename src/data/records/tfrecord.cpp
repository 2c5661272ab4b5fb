#include "data/records/tfrecord.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/dataset.h>

#include "data/records/crc32c.h"
#include "data/records/inflated.h"
#include "data/records/records_node.h"

namespace plimsoll::data {
namespace {

template <typename T>
T little(const std::byte* data) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

bool head_is_whole(const std::byte* head) {
  return masked_crc(crc32c(head, sizeof(std::uint64_t))) == little<std::uint32_t>(head + 8);
}

class TfRecordFormat final : public RecordFormat {
 public:
  TfRecordFormat(std::unique_ptr<ExampleParser> parser, bool verify)
      : parser_(std::move(parser)), verify_(verify) {}
  const char* kind() const override { return "tfrecords"; }
  ElementSpec spec() const override {
    if (parser_) return parser_->spec();
    return {true, {TensorSpec::scalar(DType::bytes)}, {"record"}};
  }
  std::string parameters() const override {
    return parser_ ? features_text(parser_->features()) : "";
  }

  RecordIndex index(ByteWindow& window, std::size_t /*file*/) const override {
    RecordIndex index;
    std::uint64_t at = 0;
    try {
      for (;;) {
        const auto head = window.at(at, kTfRecordHead);
        if (head.empty()) break;
        if (head.size() < kTfRecordHead) {
          cut_off(window, index, at + head.size(), "its head is cut off");
          break;
        }
        if (!head_is_whole(head.data())) {
          index.end_broken(std::max<std::uint64_t>(at + 1, end_of(window, at)),
                           "its length does not match the checksum of the length; what follows "
                           "cannot be found");
          break;
        }
        std::uint64_t next = 0;
        const auto length = little<std::uint64_t>(head.data());
        if (__builtin_add_overflow(at + kTfRecordHead + kTfRecordTail, length, &next) ||
            (window.size() != kUnlimited && next > window.size()) ||
            window.at(next - 1, 1).empty()) {
          cut_off(window, index, end_of(window, at),
                  fmt::format("it has {} bytes, and the file ends before", length));
          break;
        }
        index.bounds.push_back(next);
        at = next;
      }
    } catch (const DataError& error) {
      index.end_broken(at + 1, error.what());
    }
    index.bounds.shrink_to_fit();
    return index;
  }

  Element parse(std::span<const std::byte> bytes, std::size_t /*file*/, std::uint64_t /*offset*/,
                const RecordMemory& memory) const override {
    const std::string_view text = contents(bytes);
    return parser_ ? parser_->parse(text, memory) : Element{memory.text(text)};
  }
  bool has_rows() const override { return parser_ && parser_->has_rows(); }
  void parse_row(std::span<const std::byte> bytes, const RecordMemory& memory,
                 RowSink& row) const override {
    parser_->parse_row(contents(bytes), memory, row);
  }

 private:
  /// What the record has between its head and its tail, checked.
  std::string_view contents(std::span<const std::byte> record) const {
    const auto body = record.subspan(kTfRecordHead, record.size() - kTfRecordHead - kTfRecordTail);
    if (verify_ && masked_crc(crc32c(body.data(), body.size())) !=
                       little<std::uint32_t>(body.data() + body.size())) {
      throw DataError("its contents do not match their checksum");
    }
    return {reinterpret_cast<const char*>(body.data()), body.size()};
  }
  static std::uint64_t end_of(const ByteWindow& window, std::uint64_t at) {
    return window.size() == kUnlimited ? at + 1 : window.size();
  }
  /// What compressed data says of its end is nearer to the cause.
  static void cut_off(const ByteWindow& window, RecordIndex& index, std::uint64_t end,
                      std::string why) {
    std::byte next{};
    if (window.size() == kUnlimited) window.source().read(&next, 1, end);
    index.end_broken(end, std::move(why));
  }

  std::unique_ptr<ExampleParser> parser_;
  bool verify_;
};

}  // namespace

std::unique_ptr<RecordFormat> tfrecord_format(std::unique_ptr<ExampleParser> parser, bool verify) {
  return std::make_unique<TfRecordFormat>(std::move(parser), verify);
}

Compression tfrecord_compression(const ByteSource& source) {
  std::array<std::byte, kTfRecordHead> head;
  const bool plain =
      source.read(head.data(), head.size(), 0) == head.size() && head_is_whole(head.data());
  return plain ? Compression::none : compression_of(source);
}

std::string tfrecord_head(std::uint64_t length) {
  std::string head(kTfRecordHead, '\0');
  std::memcpy(head.data(), &length, sizeof(length));
  const std::uint32_t crc = masked_crc(crc32c(head.data(), sizeof(length)));
  std::memcpy(head.data() + sizeof(length), &crc, sizeof(crc));
  return head;
}

std::string tfrecord_tail(const void* data, Bytes bytes) {
  const std::uint32_t crc = masked_crc(crc32c(data, bytes));
  std::string tail(kTfRecordTail, '\0');
  std::memcpy(tail.data(), &crc, sizeof(crc));
  return tail;
}

Dataset Dataset::tfrecords(const Shards& files, Features features, const RecordOptions& options) {
  auto parser = features.empty() ? nullptr : std::make_unique<ExampleParser>(std::move(features));
  return records(files.files(), tfrecord_format(std::move(parser), options.verify), options,
                 tfrecord_compression);
}

Features tfrecord_features(const Shards& files, const RecordOptions& options) {
  constexpr std::int64_t kLookedAt = 100;
  struct Seen {
    StoredFeature::Kind kind = StoredFeature::Kind::none;
    std::int64_t count = 0;
    bool varies = false;
  };
  std::map<std::string, Seen> seen;
  const auto format = tfrecord_format(nullptr, options.verify);
  look_at_records(
      files.files(), *format, options, kLookedAt,
      [&](std::span<const std::byte> record, std::size_t /*file*/) {
        const std::string_view text(reinterpret_cast<const char*>(record.data()) + kTfRecordHead,
                                    record.size() - kTfRecordHead - kTfRecordTail);
        read_example(text, [&](std::string_view name, const StoredFeature& feature) {
          if (feature.kind == StoredFeature::Kind::none) return;
          Seen& one = seen[std::string(name)];
          const std::int64_t count = feature.count();
          one.varies = one.varies || (one.kind != StoredFeature::Kind::none && one.count != count);
          one.kind = feature.kind;
          one.count = count;
        });
        return true;
      },
      tfrecord_compression);
  Features features;
  for (const auto& [name, one] : seen) {
    const DType dtype = one.kind == StoredFeature::Kind::bytes    ? DType::bytes
                        : one.kind == StoredFeature::Kind::floats ? DType::f32
                                                                  : DType::i64;
    std::vector<std::int64_t> dims;
    if (one.varies || one.count != 1) dims = {one.varies ? kAnyExtent : one.count};
    features.emplace_back(name, dtype, dims);
  }
  return features;
}

}  // namespace plimsoll::data
