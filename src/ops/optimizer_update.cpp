#include "ops/families.h"

namespace plimsoll::ops {

Family optimizer_update_ops() { return {}; }

}  // namespace plimsoll::ops
