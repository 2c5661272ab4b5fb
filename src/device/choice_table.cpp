#include <plimsoll/device/choice_table.h>

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/log.h>

namespace plimsoll {

std::optional<std::string> ChoiceTable::preferred(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.preferred) return std::nullopt;
  return found->second.text;
}

void ChoiceTable::took(const std::string& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  const bool as_preferred =
      found != entries_.end() && found->second.preferred && found->second.text == text;
  put(key, {.text = text, .preferred = as_preferred, .taken = true});
}

void ChoiceTable::give_up(const std::string& key, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  found->second.preferred = false;
  warn(key, found->second.text, why);
}

void ChoiceTable::prefer(const Choices& choices) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, text] : choices) {
    const auto found = entries_.find(key);
    if (found == entries_.end() || !found->second.taken) {
      put(key, {.text = text, .preferred = true, .taken = false});
    } else if (found->second.text != text) {
      warn(key, text, "this process has prepared it in another way already");
    }
  }
}

Choices ChoiceTable::all() const {
  const std::lock_guard lock(mutex_);
  Choices all;
  for (const auto& [key, entry] : entries_) all.emplace(key, entry.text);
  return all;
}

void ChoiceTable::put(const std::string& key, Entry entry) {
  const auto found = entries_.find(key);
  const Bytes before = found == entries_.end() ? 0 : key.size() + found->second.text.size();
  const Bytes after = bytes_ - before + key.size() + entry.text.size();
  if (after > kMost) {
    if (std::exchange(told_full_, true)) return;
    return log_warning(fmt::format(
        "[checkpoint] the choices of the device's libraries take more than {}: not all of them are "
        "kept, and a run that goes on from a checkpoint may compute other bits",
        format_bytes(kMost)));
  }
  bytes_ = after;
  entries_.insert_or_assign(key, std::move(entry));
}

void ChoiceTable::warn(const std::string& key, const std::string& text, const std::string& why) {
  const std::string line =
      fmt::format("[resume] {} cannot have the checkpoint's '{}': {}", key, text, why);
  if (!told_.insert(why).second) return log_debug(line);
  log_warning(line +
              "; it is chosen anew, as is all else for which that holds, so that bits may differ "
              "from here on");
}

}  // namespace plimsoll
