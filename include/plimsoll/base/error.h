#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace plimsoll {

/// Base of everything Plimsoll throws. A message names the thing, the value and the remedy, and
/// starts with the function that speaks: "[batch] elements have shapes ...; use padded_batch".
///
/// Exceptions are for what ends the work that was asked for; expected outcomes are return values.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}

  /// The exit code of a command that ends with this error: 2 for the user's mistake, 3 for out of
  /// memory, 1 for ours.
  virtual int exit_code() const noexcept { return 1; }
};

/// The caller asked for something that cannot be: a malformed size, an unknown device, a limit
/// below what is in use. Nothing was changed.
class InvalidArgument : public Error {
 public:
  using Error::Error;
  int exit_code() const noexcept override { return 2; }
};

/// The work cannot be done within the stated budget; the message names one that would do.
class BudgetTooSmall : public Error {
 public:
  explicit BudgetTooSmall(const std::string& message, std::uint64_t smallest_budget = 0,
                          std::optional<std::int64_t> largest_batch = std::nullopt)
      : Error(message), smallest_budget_(smallest_budget), largest_batch_(largest_batch) {}
  int exit_code() const noexcept override { return 3; }

  /// In bytes, a limit that works; 0 where the message names other remedies.
  std::uint64_t smallest_budget() const { return smallest_budget_; }
  /// A batch that fits in the budget, 0 if none does; nullopt where there is no batch.
  std::optional<std::int64_t> largest_batch() const { return largest_batch_; }

 private:
  std::uint64_t smallest_budget_;
  std::optional<std::int64_t> largest_batch_;
};

/// Input data is broken: a file, a record, an element. The message names it.
class DataError : public Error {
 public:
  using Error::Error;
  int exit_code() const noexcept override { return 2; }
};

/// A device, its driver or one of its libraries failed. Never used for being out of memory.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A promise of Plimsoll itself does not hold: a bug, worth a report.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace plimsoll
