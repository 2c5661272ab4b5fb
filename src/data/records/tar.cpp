#include "data/records/tar.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::data {
namespace {

// The fields of a header: where they are and how long.
struct Part {
  std::size_t at;
  std::size_t size;
};
constexpr Part kName{0, 100};
constexpr Part kMode{100, 8};
constexpr Part kOwner{108, 8};
constexpr Part kGroup{116, 8};
constexpr Part kSize{124, 12};
constexpr Part kTime{136, 12};
constexpr Part kSum{148, 8};
constexpr std::size_t kType = 156;
constexpr Part kMagicPart{257, 8};
constexpr Part kPrefix{345, 155};

/// Names and pax headers up to this length are read.
constexpr std::uint64_t kLongest = KiB(64);

std::string_view part(const char* block, const Part& where) {
  return {block + where.at, where.size};
}

/// Up to the first zero.
std::string_view text(const char* block, const Part& where) {
  const std::string_view all = part(block, where);
  return all.substr(0, all.find('\0'));
}

/// Octal with spaces and zeros around it, or GNU's base 256. nullopt for anything else.
std::optional<std::uint64_t> number(std::string_view field) {
  if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    std::uint64_t value = static_cast<unsigned char>(field[0]) & 0x7F;
    for (const char c : field.substr(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
  }
  const auto first = field.find_first_not_of(' ');
  if (first == std::string_view::npos) return 0;
  field.remove_prefix(first);
  field = field.substr(0, field.find_first_of(std::string_view(" \0", 2)));
  if (field.empty()) return 0;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, 8);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return value;
}

std::uint32_t sum_of(const char* block) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool own = i >= kSum.at && i < kSum.at + kSum.size;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

/// The records "27 path=some/name\n" that matter here.
void read_pax(std::string_view records, std::optional<std::string>& path,
              std::optional<std::uint64_t>& size) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [digits, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto used = static_cast<std::size_t>(digits - records.data());
    if (error != std::errc() || length > records.size() || length < used + 2 ||
        records[used] != ' ' || records[length - 1] != '\n') {
      throw DataError("its pax header is malformed");
    }
    const std::string_view record = records.substr(used + 1, length - used - 2);
    records.remove_prefix(length);
    const auto equals = record.find('=');
    if (equals == std::string_view::npos) throw DataError("its pax header is malformed");
    const std::string_view value = record.substr(equals + 1);
    if (record.substr(0, equals) == "path") path = value;
    if (record.substr(0, equals) != "size") continue;
    std::uint64_t bytes = 0;
    const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), bytes);
    if (wrong != std::errc() || end != value.data() + value.size()) {
      throw DataError("the size in its pax header is not a number");
    }
    size = bytes;
  }
}

void put_octal(std::string& block, const Part& where, std::uint64_t value) {
  const std::string digits = fmt::format("{:0{}o}", value, where.size - 1);
  block.replace(where.at, digits.size(), digits);
}

std::string plain_header(std::string_view name, std::uint64_t size, char type) {
  std::string block(kTarBlock, '\0');
  block.replace(kName.at, std::min(name.size(), kName.size), name.substr(0, kName.size));
  put_octal(block, kMode, 0644);
  put_octal(block, kOwner, 0);
  put_octal(block, kGroup, 0);
  put_octal(block, kSize, size);
  put_octal(block, kTime, 0);
  block[kType] = type;
  block.replace(kMagicPart.at, kMagicPart.size, std::string_view("ustar\00000", kMagicPart.size));
  put_octal(block, {kSum.at, kSum.size - 1}, sum_of(block.data()));
  block[kSum.at + kSum.size - 1] = ' ';
  return block;
}

std::string pax_record(const std::string& key, const std::string& value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

std::uint64_t padded(std::uint64_t size) { return (size + kTarBlock - 1) / kTarBlock * kTarBlock; }

}  // namespace

std::string TarReader::text_at(std::uint64_t offset, std::uint64_t size) const {
  if (size > kLongest) throw DataError(fmt::format("a name or pax header of {} bytes", size));
  const auto bytes = at_(offset, size);
  if (bytes.size() < size) throw DataError("cut off in a name or pax header");
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size)};
}

std::optional<TarMember> TarReader::next() {
  TarMember member;
  member.begin = next_;
  std::optional<std::string> path;
  std::optional<std::uint64_t> pax_size;
  for (std::uint64_t at = next_;;) {
    const auto bytes = at_(at, kTarBlock);
    if (bytes.empty()) {
      if (at != next_) throw DataError("cut off after a long name or pax header");
      return std::nullopt;
    }
    if (bytes.size() < kTarBlock) throw DataError("its header is cut off");
    const auto* const block = reinterpret_cast<const char*>(bytes.data());
    if (std::all_of(block, block + kTarBlock, [](char c) { return c == '\0'; })) {
      return std::nullopt;
    }
    if (number(part(block, kSum)) != sum_of(block)) {
      throw DataError("its header does not match its checksum");
    }
    const char type = block[kType];
    auto size = number(part(block, kSize));
    if (!size) throw DataError("its size is not a number");
    const bool last = std::string_view("LKxg").find(type) == std::string_view::npos;
    if (last && pax_size) size = pax_size;
    if (*size > std::uint64_t{1} << 62) throw DataError("its size exceeds what a file can have");
    const std::uint64_t contents = at + kTarBlock;
    if (last) {
      const bool ustar = part(block, kMagicPart).starts_with(std::string_view("ustar\0", 6));
      const std::string_view prefix = ustar ? text(block, kPrefix) : std::string_view();
      member.name =
          path ? *path
               : fmt::format("{}{}{}", prefix, prefix.empty() ? "" : "/", text(block, kName));
      member.regular = type == '0' || type == '\0' || type == '7';
      member.offset = contents;
      member.size = *size;
      member.end = contents + padded(*size);
      next_ = member.end;
      return member;
    }
    if (type == 'L') {
      const std::string name = text_at(contents, *size);
      path = name.substr(0, name.find('\0'));
    }
    if (type == 'x') read_pax(text_at(contents, *size), path, pax_size);
    at = contents + padded(*size);
  }
}

std::optional<SampleName> sample_name(std::string_view name) {
  const auto slash = name.rfind('/') + 1;  // 0 if there is none
  const auto dot = name.find('.', slash);
  if (dot == std::string_view::npos || dot == slash) return std::nullopt;
  // What webdataset keeps for itself: "__meta__/...".
  const std::string_view head = name.substr(0, name.find('/'));
  if (head.size() >= 4 && head.starts_with("__") && head.ends_with("__")) return std::nullopt;
  SampleName result{name.substr(0, dot), std::string(name.substr(dot + 1))};
  std::transform(result.suffix.begin(), result.suffix.end(), result.suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string tar_header(const std::string& name, std::uint64_t size) {
  constexpr std::uint64_t kMostOctal = (std::uint64_t{1} << 33) - 1;
  if (name.size() <= kName.size && size <= kMostOctal) return plain_header(name, size, '0');
  std::string records;
  if (name.size() > kName.size) records += pax_record("path", name);
  if (size > kMostOctal) records += pax_record("size", std::to_string(size));
  std::string headers = plain_header("././@PaxHeader", records.size(), 'x') + records;
  headers.resize(static_cast<std::size_t>(padded(headers.size())));
  return headers + plain_header(name, std::min(size, kMostOctal), '0');
}

}  // namespace plimsoll::data
