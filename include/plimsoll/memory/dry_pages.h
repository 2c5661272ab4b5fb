#pragma once

#include <memory>

#include <plimsoll/memory/page_source.h>

namespace plimsoll {

/// Addresses without memory behind them, for planning and replaying: an 80 GiB trace replays on a
/// laptop. Mapped addresses must not be touched. Checks its callers as strictly as a driver would
/// and throws InternalError for a range mapped twice or unmapped when it is not mapped.
std::shared_ptr<PageSource> make_dry_pages(Bytes page_size = MiB(2));

}  // namespace plimsoll
