#include "data/sources/npy_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/sources/read_file.h"

namespace plimsoll::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
/// NumPy writes about a hundred bytes; only records, which are refused, have more than a few.
constexpr Bytes kLongest = KiB(64);

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw DataError(fmt::format(text, std::forward<Args>(args)...));
}

/// A Python literal of a dictionary with the keys descr, fortran_order and shape.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  void parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !descr_) {
        descr_ = descr();
      } else if (key == "fortran_order" && !fortran_) {
        fortran_ = boolean();
      } else if (key == "shape" && !shape_) {
        shape_ = tuple();
      } else {
        refuse("the header has the key '{}', which is unknown or there twice", printable(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty()) refuse("the header goes on after its end");
    if (!descr_ || !fortran_ || !shape_) refuse("the header lacks descr, fortran_order or shape");
  }
  std::string_view descr_text() const { return *descr_; }
  bool fortran() const { return *fortran_; }
  const std::vector<std::int64_t>& shape() const { return *shape_; }

  static std::string printable(std::string_view text) {
    std::string result(text.substr(0, 64));
    for (char& c : result) {
      if (c < 0x20 || c > 0x7e) c = '?';
    }
    return result;
  }

 private:
  void skip_space() {
    const auto at = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at);
  }
  bool accept(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse("the header has \"{}\" where '{}' belongs", printable(rest_), c);
  }
  std::string_view string() {
    skip_space();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) {
      refuse("the header has \"{}\" where a string belongs", printable(rest_));
    }
    const auto end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) refuse("a string in the header has no end");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    if (text.find('\\') != std::string_view::npos) refuse("a string in the header has escapes");
    return text;
  }
  std::string_view descr() {
    skip_space();
    if (rest_.starts_with('[') || rest_.starts_with('(')) {
      refuse("its elements are records; save each field as an array of its own");
    }
    return string();
  }
  bool boolean() {
    skip_space();
    for (const auto& [name, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (rest_.starts_with(name)) {
        rest_.remove_prefix(std::string_view(name).size());
        return value;
      }
    }
    refuse("fortran_order is \"{}\", not True or False", printable(rest_));
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(number());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }
  std::int64_t number() {
    skip_space();
    std::int64_t result = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      if (__builtin_mul_overflow(result, 10, &result) ||
          __builtin_add_overflow(result, rest_[digits] - '0', &result)) {
        refuse("an extent in its shape does not fit in 63 bits");
      }
    }
    if (digits == 0) refuse("its shape has \"{}\" where a number belongs", printable(rest_));
    rest_.remove_prefix(digits);
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // as Python 2 wrote long integers
    return result;
  }

  std::string_view rest_;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_;
  std::optional<std::vector<std::int64_t>> shape_;
};

/// "<f4": byte order, kind, bytes.
void set_dtype(NpyHeader& header, std::string_view descr) {
  struct Known {
    std::string_view name;
    DType dtype;
  };
  static constexpr std::array<Known, 10> kKnown = {{{"f8", DType::f64},
                                                    {"f4", DType::f32},
                                                    {"f2", DType::f16},
                                                    {"i8", DType::i64},
                                                    {"i4", DType::i32},
                                                    {"i2", DType::i16},
                                                    {"i1", DType::i8},
                                                    {"u2", DType::u16},
                                                    {"u1", DType::u8},
                                                    {"b1", DType::boolean}}};
  std::string_view name = descr;
  const bool ordered = !name.empty() && std::string_view("<>|=").find(name[0]) != name.npos;
  if (ordered) name.remove_prefix(1);
  const auto* const found = std::find_if(kKnown.begin(), kKnown.end(),
                                         [&](const Known& each) { return each.name == name; });
  if (found != kKnown.end()) {
    header.dtype = found->dtype;
    header.item_bytes = dtype_size(header.dtype);
    header.swapped = descr[0] == '>' && header.item_bytes > 1;
    return;
  }
  if (name.starts_with('O')) {
    refuse("its elements are Python objects, which are not read; save numbers or byte strings");
  }
  const std::string_view length = name.substr(std::min<std::size_t>(1, name.size()));
  const bool plain = !length.empty() && length.size() <= 9 &&
                     length.find_first_not_of("0123456789") == std::string_view::npos;
  if (name.starts_with('S') && plain && std::stoul(std::string(length)) > 0) {
    header.dtype = DType::bytes;
    header.item_bytes = std::stoul(std::string(length));
    return;
  }
  refuse("its dtype is '{}'; save it as one of f8, f4, f2, i8, i4, i2, i1, u2, u1, b1 or S",
         Parser::printable(descr));
}

Bytes little_endian(std::string_view bytes) {
  Bytes result = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    result = result << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return result;
}

/// The text of the header; sets where the data begins.
template <typename File>
std::string header_text(const File& file, NpyHeader& header) {
  std::array<char, 12> start{};
  const Bytes got = file.read(start.data(), start.size(), 0);
  const std::string_view bytes(start.data(), got);
  if (!bytes.starts_with(kMagic)) refuse("not an .npy file: it does not begin like one");
  if (got < 10) refuse("cut off in its header");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) refuse("version {} of the format; 1, 2 and 3 are read", major);
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (got < 8 + length_bytes) refuse("cut off in its header");
  const Bytes length = little_endian(bytes.substr(8, length_bytes));
  if (length > kLongest) {
    refuse("a header of {}; at most {} is read", format_bytes(length), format_bytes(kLongest));
  }
  header.data_offset = 8 + length_bytes + length;
  if (header.data_offset > file.size()) refuse("cut off in its header");
  std::string text(length, '\0');
  text.resize(file.read(text.data(), length, 8 + length_bytes));
  return text;
}

class Memory {
 public:
  explicit Memory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Bytes size() const { return bytes_.size(); }
  Bytes read(void* to, Bytes bytes, Bytes offset) const {
    if (offset >= bytes_.size()) return 0;
    const Bytes got = std::min<Bytes>(bytes, bytes_.size() - offset);
    std::memcpy(to, bytes_.data() + offset, got);
    return got;
  }

 private:
  std::span<const std::byte> bytes_;
};

template <typename File>
NpyHeader read_header(const File& file, bool scalars) {
  NpyHeader header;
  const std::string text = header_text(file, header);
  Parser parser(text);
  parser.parse();
  set_dtype(header, parser.descr_text());
  const auto& extents = parser.shape();
  if (extents.empty() && !scalars) refuse("the array is a scalar, which has no slices");
  if (extents.size() > static_cast<std::size_t>(kMaxRank)) {
    refuse("an array of {} dimensions; {} at most", extents.size(), kMaxRank);
  }
  if (parser.fortran() && extents.size() > 1) {
    refuse("the array is in Fortran order; save numpy.ascontiguousarray of it");
  }
  header.shape = Shape(std::span<const std::int64_t>(extents));
  // Extents of 0 make any product 0; the others must not overflow in any order of multiplying.
  Bytes bytes = header.item_bytes;
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(bytes, static_cast<Bytes>(std::max<std::int64_t>(extent, 1)),
                               &bytes) ||
        bytes > static_cast<Bytes>(std::numeric_limits<std::int64_t>::max())) {
      refuse("an array of shape {} takes more bytes than fit in 63 bits", header.shape.to_string());
    }
  }
  const bool none = std::find(extents.begin(), extents.end(), 0) != extents.end();
  const Bytes there = file.size() - header.data_offset;
  if (!none && bytes > there) {
    refuse("cut off: an array of shape {} has {} bytes, and {} are there", header.shape.to_string(),
           bytes, there);
  }
  return header;
}

}  // namespace

Bytes NpyHeader::slice_bytes() const {
  Bytes bytes = item_bytes;
  for (int d = 1; d < shape.rank(); ++d) bytes *= static_cast<Bytes>(shape[d]);
  return bytes;
}

NpyHeader read_npy_header(const InputFile& file) { return read_header(file, false); }

NpyHeader read_npy_header(std::span<const std::byte> bytes) {
  return read_header(Memory(bytes), true);
}

void settle_npy(const NpyHeader& header, std::byte* data, Bytes bytes) {
  if (header.swapped) {
    for (Bytes at = 0; at < bytes; at += header.item_bytes) {
      std::reverse(data + at, data + at + header.item_bytes);
    }
  }
  if (header.dtype != DType::boolean) return;
  for (Bytes i = 0; i < bytes; ++i) data[i] = data[i] == std::byte{0} ? data[i] : std::byte{1};
}

}  // namespace plimsoll::data
