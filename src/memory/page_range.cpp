#include <plimsoll/memory/page_range.h>

#include <array>
#include <cinttypes>
#include <cstdio>

namespace plimsoll {

std::string describe(AddressRange range) {
  std::array<char, 24> hex{};
  std::snprintf(hex.data(), hex.size(), "0x%" PRIxPTR, range.begin);
  return std::string(hex.data()) + " + " + format_bytes(range.size);
}

void require_whole_pages(AddressRange range, Bytes page, std::string_view source,
                         std::string_view call) {
  if (((range.begin | range.size) & (page - 1)) == 0) return;
  throw InternalError("[" + std::string(call) + "] " + std::string(source) + ": " +
                      describe(range) + " is not made of whole pages of " + format_bytes(page));
}

std::vector<AddressRange> cut_into_chunks(AddressRange range, Bytes page, Bytes hint) {
  std::vector<AddressRange> chunks;
  AddressRange rest = range;
  for (const Bytes size : {32 * page, 8 * page, page}) {
    if (size > hint && size != page) continue;
    for (; rest.size >= size; rest = {rest.begin + size, rest.size - size}) {
      chunks.push_back({rest.begin, size});
    }
  }
  return chunks;
}

}  // namespace plimsoll
