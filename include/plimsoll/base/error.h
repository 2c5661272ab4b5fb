#pragma once

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
  using Error::Error;
  int exit_code() const noexcept override { return 3; }
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
