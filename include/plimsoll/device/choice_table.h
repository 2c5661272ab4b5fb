#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/device/choices.h>

namespace plimsoll {

/// What the libraries of an opened device chose, and what they are to choose again: for backends
/// that implement DeviceBackend::choices(). A kernel that prepares something asks what is preferred
/// for it, takes that or gives it up, and says in any case what it took:
///
///     if (const auto text = table.preferred(key)) {
///       if (take(*text)) return table.took(key, *text);
///       table.give_up(key, "this is cuDNN 9.19.0");
///     }
///     table.took(key, choose());
///
/// Thread-safe.
class ChoiceTable {
 public:
  /// Bytes of all keys and texts. What comes when it is full is not kept, with one warning.
  static constexpr Bytes kMost = MiB(4);

  /// The choice that `key` is to have; nullopt if none is preferred.
  std::optional<std::string> preferred(const std::string& key) const;
  void took(const std::string& key, const std::string& text);
  /// What is preferred for `key` cannot be had. Warns, once for each `why`: that is to be one of
  /// few.
  void give_up(const std::string& key, const std::string& why);

  /// See prefer_choices(). What was prepared before stays as it is, with a warning where it
  /// differs.
  void prefer(const Choices& choices);
  /// See library_choices().
  Choices all() const;

 private:
  struct Entry {
    std::string text;
    bool preferred = false;
    bool taken = false;  ///< something was prepared with it
  };
  void put(const std::string& key, Entry entry);
  void warn(const std::string& key, const std::string& text, const std::string& why);

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  Bytes bytes_ = 0;
  bool told_full_ = false;
  std::set<std::string> told_;
};

}  // namespace plimsoll
