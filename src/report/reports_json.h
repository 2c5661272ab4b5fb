#pragma once

#include <plimsoll/report/run.h>

#include "report/json_fields.h"

namespace plimsoll::report {

// Reports that a log or a file has. Their text is somebody else's: what these give has every field
// that pages read, of its type, and texts of a bounded length; null if there is none.

Json checked_refusal(const Json& report);
Json checked_leak(const Json& report);
Json checked_curve(const Json& points);

/// An out-of-memory report without a run around it.
Run as_reported(const Json& report);

}  // namespace plimsoll::report
