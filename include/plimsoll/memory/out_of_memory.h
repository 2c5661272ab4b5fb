#pragma once

#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/memory/ledger.h>
#include <plimsoll/memory/tag.h>

namespace plimsoll {

/// Something the user can do, and the bytes it would free (0 for a limit that can be raised). Those
/// that free memory come from its holders, see Budget::remedy.
struct Remedy {
  std::string text;
  Bytes bytes = 0;
};

/// Everything known at the moment memory was refused.
struct OutOfMemoryReport {
  Bytes requested = 0;
  Tag tag = Tag::user;
  std::string label;            ///< who asked
  std::string budget;           ///< path of the budget that refused; empty: the system did
  Bytes limit = 0;              ///< its limit
  Bytes used = 0;               ///< charged to it at that moment
  Bytes promised = 0;           ///< guaranteed to logical devices in it, and not used by them
  std::string system_error;     ///< what the system said, if it was the one to refuse
  Bytes free_mapped = 0;        ///< mapped but free in the arena asked
  Bytes largest_free = 0;       ///< largest free block there
  double fragmentation = 0;     ///< share of free_mapped outside the largest block, 0 to 1
  std::vector<Holder> holders;  ///< in the refusing budget, largest first
  std::vector<Remedy> remedies;

  /// The table people see; no line is longer than 80 columns.
  std::string to_string() const;
  /// The same as one JSON object.
  std::string to_json() const;
};

/// Memory was asked for that a budget or the system does not have. Nothing was taken and nothing
/// was lost: after memory is freed the same call succeeds.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(OutOfMemoryReport report);
  int exit_code() const noexcept override { return 3; }
  const OutOfMemoryReport& report() const { return report_; }

 private:
  OutOfMemoryReport report_;
};

}  // namespace plimsoll
