#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

/// An amount of memory, in bytes.
using Bytes = std::uint64_t;

/// The limit of a budget that has none of its own and draws on its parent.
inline constexpr Bytes kUnlimited = ~Bytes{0};

constexpr Bytes KiB(Bytes n) { return n << 10; }
constexpr Bytes MiB(Bytes n) { return n << 20; }
constexpr Bytes GiB(Bytes n) { return n << 30; }

/// Reads "8GiB", "512 MiB", "1.5g", "4096", "200MB". Binary units are KiB MiB GiB TiB and the bare
/// letters k m g t; KB MB GB TB are powers of 1000. A bare number, or one with B, is bytes. The
/// case of a unit does not matter. "6.7GiB" is rounded down to whole bytes.
/// Throws InvalidArgument for anything else: signs, unknown units, fractions of a byte ("1.5",
/// "0.0001k"), values that do not fit in 63 bits. `what` names the thing in the message
/// ("--limit").
Bytes parse_bytes(std::string_view text, std::string_view what = "size");

/// "6.7 GiB", "512 B": at most four significant characters and a binary unit. "8 GiB" without a
/// point is exact. kUnlimited is "unlimited".
std::string format_bytes(Bytes bytes);

/// `value` rounded up to a multiple of `alignment`, which must be a power of two.
constexpr Bytes align_up(Bytes value, Bytes alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

/// `value` rounded down to a multiple of `alignment`, which must be a power of two.
constexpr Bytes align_down(Bytes value, Bytes alignment) { return value & ~(alignment - 1); }

}  // namespace plimsoll
