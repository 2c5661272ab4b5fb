#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/device/choices.h>

namespace plimsoll {

/// What the libraries of an opened device chose, and what they are to choose again: for backends
/// that implement DeviceBackend::choice_table(). A kernel that prepares something asks what is
/// preferred for it, takes that or gives it up, and says in any case what it took:
///
///     if (const auto text = table.preferred(key)) {
///       if (take(*text)) return table.took(key, *text);
///       table.give_up(key, "this is cuDNN 9.19.0");
///     }
///     table.took(key, choose());
///     if (table.exploring()) table.offer(key, alternatives());
///
/// Thread-safe.
class ChoiceTable {
 public:
  /// Bytes of all keys and texts. What comes when it is full is not kept, with one warning.
  static constexpr Bytes kMost = MiB(4);
  /// Alternatives that are kept for a key.
  static constexpr std::size_t kMostOffered = 32;

  /// `libraries`: those that choose, with their versions: "cuBLASLt 13.1.0, cuDNN 9.14.0".
  explicit ChoiceTable(std::string libraries = {}) : libraries_(std::move(libraries)) {}

  const std::string& libraries() const { return libraries_; }

  /// The choice that `key` is to have; nullopt if none is preferred.
  std::optional<std::string> preferred(const std::string& key) const;
  void took(const std::string& key, const std::string& text);
  /// What is preferred for `key` cannot be had. Warns, once for each `why`: that is to be one of
  /// few.
  void give_up(const std::string& key, const std::string& why);

  /// See prefer_choices(). What was prepared before stays as it is, with a warning where it
  /// differs.
  void prefer(const Choices& choices, ChoiceOrigin origin = ChoiceOrigin::checkpoint);
  /// See library_choices().
  Choices all() const;
  /// For how many of these keys something was prepared, with these choices or others.
  std::size_t count_asked(const Choices& choices) const;

  // What follows is for measuring alternatives, in a process that does nothing else.

  /// What a key's kernel could take instead of what it takes by itself, in the library's order.
  struct Offer {
    std::string rule;
    std::vector<std::string> others;
  };

  /// From now on kernels say what else they could take, everything is prepared anew, and takes
  /// these choices where it can, without a warning where it cannot. Nothing that was prepared
  /// before may run any more.
  void explore(const Choices& choices);
  bool exploring() const;
  /// Ends that: everything is prepared anew with these.
  void settle(const Choices& choices);
  /// Rises with explore() and settle(). What a backend keeps that was prepared under another number
  /// is of no use any more.
  std::uint64_t generation() const;

  /// By a kernel that has just taken its own choice. Those that are that choice, or came before in
  /// the list, are left out.
  void offer(const std::string& key, const std::vector<std::string>& others);
  std::map<std::string, Offer> offers() const;
  /// Something prepared before serves `key` again: preferred() would have been asked otherwise.
  void asked(const std::string& key) const;
  /// The keys that were asked for since the last call, while exploring().
  std::set<std::string> take_asked();

 private:
  struct Entry {
    std::string text;
    bool preferred = false;
    bool taken = false;  ///< something was prepared with it
    ChoiceOrigin origin = ChoiceOrigin::checkpoint;
  };
  void put(const std::string& key, Entry entry);
  void warn(const std::string& key, const Entry& entry, const std::string& why);
  void prepare_anew(const Choices& choices);

  const std::string libraries_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  Bytes bytes_ = 0;
  bool told_full_ = false;
  std::set<std::string> told_;

  bool exploring_ = false;
  std::uint64_t generation_ = 0;
  std::map<std::string, Offer> offers_;
  mutable std::set<std::string> asked_;
};

}  // namespace plimsoll
