#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <plimsoll/base/bytes.h>

namespace plimsoll::data {

inline constexpr std::uint64_t kTarBlock = 512;

/// The feature that has the common part of the names of a sample's members.
inline constexpr const char* kTarKey = "__key__";

/// A member of a tar archive.
struct TarMember {
  std::string name;
  bool regular = false;      ///< a file with contents
  std::uint64_t begin = 0;   ///< of its first header: a long name or pax header counts
  std::uint64_t offset = 0;  ///< of its contents
  std::uint64_t size = 0;    ///< of its contents
  std::uint64_t end = 0;     ///< of it as a whole: a multiple of a block after `begin`
};

/// Reads the members of a tar archive one after the other: ustar, pax, and GNU's long names.
class TarReader {
 public:
  /// Bytes at an offset: as many as are wanted or all that are left, at least.
  using At = std::function<std::span<const std::byte>(std::uint64_t offset, Bytes wanted)>;
  explicit TarReader(At at, std::uint64_t from = 0) : at_(std::move(at)), next_(from) {}

  /// The next member; nullopt at the end, which is a block of zeros or that of the bytes. Throws
  /// DataError saying what is wrong with the header at `position()`, without a name. Whether the
  /// contents are there as a whole is the caller's to see.
  std::optional<TarMember> next();
  /// Where the next member begins.
  std::uint64_t position() const { return next_; }

 private:
  std::string text_at(std::uint64_t offset, std::uint64_t size) const;

  At at_;
  std::uint64_t next_;
};

/// What WebDataset makes of a member's name: what all members of a sample share, and the suffix, in
/// lower case. nullopt where it is no part of a sample.
struct SampleName {
  std::string_view key;
  std::string suffix;
};
std::optional<SampleName> sample_name(std::string_view name);

/// The header of a regular file, in ustar form, with a pax header before it where the name or the
/// size does not fit.
std::string tar_header(const std::string& name, std::uint64_t size);

}  // namespace plimsoll::data
