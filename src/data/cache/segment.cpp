#include "data/cache/segment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

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
/// What is read at a time, so that its checksum finds it in the processor's cache.
constexpr Bytes kReadAtOnce = KiB(128);
/// What is read for the head and the description of an element after a large one.
constexpr Bytes kGlance = KiB(1);

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
    // The element after a large one is probably large as well, and should not be read twice.
    const Bytes much = last_ > buffer_.size() ? std::max(bytes, kGlance) : buffer_.size();
    const Bytes wanted = std::min<Bytes>({much, buffer_.size(), segment_.info.contents - at_});
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

std::uint32_t SegmentReader::read_to(void* to, Bytes bytes, Bytes from, std::uint32_t crc) {
  auto* target = static_cast<std::byte*>(to);
  while (bytes > 0) {
    Bytes some = std::min(bytes, kReadAtOnce);
    if (from >= base_ && from < base_ + have_) {
      some = std::min(some, base_ + have_ - from);
      std::memcpy(target, static_cast<const std::byte*>(buffer_.data()) + (from - base_), some);
    } else if (segment_.file->read(target, some, from) < some) {
      broken_segment("cut off");
    }
    crc = crc32c(target, some, crc);
    target += some;
    from += some;
    bytes -= some;
  }
  return crc;
}

Element SegmentReader::read_parts(const ElementOutline& outline, const Device& device,
                                  const TensorOptions& options, const RowPlace* row) {
  bool in_row = row != nullptr && outline.parts.size() == row->spec.components.size();
  for (std::size_t c = 0; in_row && c < outline.parts.size(); ++c) {
    const ElementOutline::Part& part = outline.parts[c];
    in_row =
        row->spec.components[c] == TensorSpec::of(part.dtype, part.scalar ? Shape{} : part.shape);
  }
  in_row = in_row && row->sink.begin_row(row->position);
  Element element;
  element.id = outline.id;
  Bytes from = at_ + outline.contents;
  std::uint32_t crc = outline.crc;
  for (std::size_t c = 0; c < outline.parts.size(); ++c) {
    const ElementOutline::Part& part = outline.parts[c];
    if (part.scalar) {
      if (in_row) {
        std::memcpy(row->sink.fixed(c), &part.bits, dtype_size(part.dtype));
      } else {
        element.push_back(Value::from_bits(part.dtype, &part.bits));
      }
      continue;
    }
    if (in_row) {
      crc = read_to(row->sink.fixed(c), part.bytes, from, crc);
    } else {
      Tensor tensor = Tensor::empty(part.shape, part.dtype, device, options);
      if (part.bytes > 0) crc = read_to(tensor.raw_mutable_data(), part.bytes, from, crc);
      element.push_back(std::move(tensor));
    }
    from += part.bytes;
  }
  if (crc != outline.checksum) broken_segment("an element does not match its checksum");
  return element;
}

Element SegmentReader::next(const Device& device, const TensorOptions& options,
                            const RowPlace* row) {
  const Bytes bytes = size_at();
  const Bytes description = outline_bytes(buffered(kElementHead).first<kElementHead>());
  std::optional<ElementOutline> outline;
  if (description <= buffer_.size() && (row != nullptr || bytes > buffer_.size())) {
    outline = outline_of(buffered(description), bytes);
  }
  Element element;
  if (outline) {
    element = read_parts(*outline, device, options, row);
  } else if (bytes <= buffer_.size()) {
    element = decode_element(buffered(bytes), device, options);
  } else {
    const Block large = device.arena().allocate(bytes, options.account);
    if (segment_.file->read(large.data(), bytes, at_) < bytes) broken_segment("cut off");
    element = decode_element({static_cast<const std::byte*>(large.data()), bytes}, device, options);
  }
  at_ += bytes;
  last_ = bytes;
  return element;
}

}  // namespace plimsoll::data
