#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/memory/page_source.h>

namespace plimsoll {

/// "0x7f0000000000 + 6.0 MiB", for messages.
std::string describe(AddressRange range);

/// Throws InternalError, naming the source and the call, unless `range` starts at and is sized in
/// multiples of `page`.
void require_whole_pages(AddressRange range, Bytes page, std::string_view source,
                         std::string_view call);

/// Cuts `range` into chunks of `page`, 8 and 32 pages, the largest first, none larger than `hint`
/// (single pages if that is less than two). Three sizes because a driver's calls cost about the
/// same whatever the size of a chunk, while only whole chunks can be given back.
std::vector<AddressRange> cut_into_chunks(AddressRange range, Bytes page, Bytes hint);

}  // namespace plimsoll
