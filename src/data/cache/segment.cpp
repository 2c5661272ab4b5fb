#include "data/cache/segment.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/records/crc32c.h"
#include "data/records/varint.h"

namespace plimsoll::data {
namespace {

// A segment has its elements, then a footer: what SegmentInfo has, the length of that and its
// checksum (u32 each), and the magic word.
constexpr std::string_view kMagic = "PLMSEG01";
constexpr Bytes kTail = 8 + kMagic.size();
constexpr Bytes kLongestFooter = MiB(256);
constexpr int kDeepest = 256;

void put(std::string& out, const State& state) {
  put_varint(out, state.words.size());
  for (const std::uint64_t word : state.words) put_varint(out, word);
  put_varint(out, state.inputs.size());
  for (const StatePtr& input : state.inputs) put(out, *input);
}

[[noreturn]] void broken_segment(const char* what) { throw DataError(what); }

std::uint64_t number(std::string_view& bytes) {
  const auto value = take_varint(bytes);
  if (!value) broken_segment("its end is malformed");
  return *value;
}

std::size_t count(std::string_view& bytes) {
  const std::uint64_t value = number(bytes);
  if (value > bytes.size()) broken_segment("its end is malformed");
  return static_cast<std::size_t>(value);
}

StatePtr take_state(std::string_view& bytes, int depth = 0) {
  if (depth > kDeepest) broken_segment("its end is malformed");
  State state;
  state.words.resize(count(bytes));
  for (std::uint64_t& word : state.words) word = number(bytes);
  state.inputs.resize(count(bytes));
  for (StatePtr& input : state.inputs) input = take_state(bytes, depth + 1);
  return std::make_shared<const State>(std::move(state));
}

SegmentInfo read_info(const InputFile& file, std::uint64_t wanted) {
  const Bytes size = file.size();
  std::array<char, kTail> tail;
  if (size < kTail || file.read(tail.data(), kTail, size - kTail) < kTail)
    broken_segment("cut off");
  std::uint32_t length = 0;
  std::uint32_t crc = 0;
  std::memcpy(&length, tail.data(), 4);
  std::memcpy(&crc, tail.data() + 4, 4);
  if (std::string_view(tail.data() + 8, kMagic.size()) != kMagic) {
    broken_segment("not a segment of a cache, or one that is cut off");
  }
  if (length > size - kTail || length > kLongestFooter) broken_segment("its end is malformed");
  std::string text(length, '\0');
  if (file.read(text.data(), length, size - kTail - length) < length) broken_segment("cut off");
  if (crc32c(text.data(), text.size()) != crc)
    broken_segment("its end does not match its checksum");
  std::string_view bytes = text;
  SegmentInfo info;
  info.number = number(bytes);
  info.elements = number(bytes);
  info.units = number(bytes);
  info.last = number(bytes) != 0;
  info.contents = number(bytes);
  if (number(bytes) != 0) info.after = take_state(bytes);
  if (!bytes.empty() || info.contents != size - kTail - length || info.number != wanted ||
      (!info.last && !info.after)) {
    broken_segment("its end does not belong to it");
  }
  return info;
}

}  // namespace

std::string segment_name(std::uint64_t number) { return fmt::format("{:06}.segment", number); }

SegmentWriter::SegmentWriter(const std::string& folder, std::uint64_t number)
    : file_(folder + "/" + segment_name(number)) {
  info_.number = number;
}

SegmentInfo SegmentWriter::finish(bool last, std::uint64_t units, StatePtr after) {
  info_.last = last;
  info_.units = units;
  info_.after = last ? nullptr : std::move(after);
  std::string text;
  for (const std::uint64_t each :
       {info_.number, info_.elements, info_.units, std::uint64_t{last}, info_.contents}) {
    put_varint(text, each);
  }
  put_varint(text, info_.after ? 1 : 0);
  if (info_.after) put(text, *info_.after);
  const auto length = static_cast<std::uint32_t>(text.size());
  const std::uint32_t crc = crc32c(text.data(), text.size());
  file_.write(text);
  file_.write(&length, sizeof(length));
  file_.write(&crc, sizeof(crc));
  file_.write(kMagic);
  file_.commit();
  return info_;
}

OpenSegment open_segment(const std::string& path, std::uint64_t number) {
  OpenSegment segment;
  segment.file = std::make_shared<const InputFile>(path);
  try {
    segment.info = read_info(*segment.file, number);
  } catch (const DataError& error) {
    const std::string name = printable(path) + ": ";
    const std::string_view what = error.what();
    throw DataError(what.starts_with(name) ? std::string(what) : name + std::string(what));
  }
  return segment;
}

std::span<const std::byte> SegmentReader::buffered(Bytes bytes) {
  if (at_ < base_ || at_ + bytes > base_ + have_) {
    have_ = 0;
    base_ = at_;
    const Bytes wanted = std::min<Bytes>(buffer_.size(), segment_.info.contents - at_);
    have_ = segment_.file->read(buffer_.data(), wanted, at_);
    if (have_ < bytes) broken_segment("cut off");
  }
  return {static_cast<const std::byte*>(buffer_.data()) + (at_ - base_), bytes};
}

Bytes SegmentReader::size_at() {
  const Bytes left = segment_.info.contents - std::min(at_, segment_.info.contents);
  if (left < kElementHead) broken_segment("an element is cut off");
  return element_bytes(buffered(kElementHead).first<kElementHead>(), left);
}

Element SegmentReader::next(const Device& device, const TensorOptions& options) {
  const Bytes bytes = size_at();
  Element element;
  if (bytes <= buffer_.size()) {
    element = decode_element(buffered(bytes), device, options);
  } else {
    const Block large = device.arena().allocate(bytes, options.account);
    if (segment_.file->read(large.data(), bytes, at_) < bytes) broken_segment("cut off");
    element = decode_element({static_cast<const std::byte*>(large.data()), bytes}, device, options);
  }
  at_ += bytes;
  return element;
}

}  // namespace plimsoll::data
