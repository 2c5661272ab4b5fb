#pragma once

#include <memory>

#include <plimsoll/memory/page_source.h>

#include "backend/cuda/driver/context.h"

namespace plimsoll::cuda {

/// Host memory that the copy engines of all CUDA devices reach directly. Each chunk is registered
/// with the driver by itself.
class PinnedPages : public PageSource {
 public:
  /// End of the registration that `address` lies in, or 0 where nothing is registered. The driver
  /// refuses a copy that runs across such an end.
  virtual std::uintptr_t end_of_registration(std::uintptr_t address) const = 0;
};

std::shared_ptr<PinnedPages> make_pinned_pages(std::shared_ptr<Context> context);

}  // namespace plimsoll::cuda
