#include <plimsoll/device/choice_table.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/log.h>

namespace plimsoll {

std::optional<std::string> ChoiceTable::preferred(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  if (exploring_) asked_.insert(key);
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.preferred) return std::nullopt;
  return found->second.text;
}

void ChoiceTable::took(const std::string& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  Entry entry{.text = text, .taken = true};
  if (found != entries_.end()) {
    entry.preferred = found->second.preferred && found->second.text == text;
    entry.origin = found->second.origin;
  }
  put(key, std::move(entry));
}

void ChoiceTable::give_up(const std::string& key, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  found->second.preferred = false;
  if (!exploring_) warn(key, found->second, why);
}

void ChoiceTable::prefer(const Choices& choices, ChoiceOrigin origin) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, text] : choices) {
    Entry entry{.text = text, .preferred = true, .taken = false, .origin = origin};
    const auto found = entries_.find(key);
    if (found == entries_.end() || !found->second.taken) {
      put(key, std::move(entry));
    } else if (found->second.text != text) {
      warn(key, entry, "this process has prepared it in another way already");
    }
  }
}

Choices ChoiceTable::all() const {
  const std::lock_guard lock(mutex_);
  Choices all;
  for (const auto& [key, entry] : entries_) all.emplace(key, entry.text);
  return all;
}

std::size_t ChoiceTable::count_asked(const Choices& choices) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(choices, [&](const auto& choice) {
    const auto found = entries_.find(choice.first);
    return found != entries_.end() && found->second.taken;
  }));
}

void ChoiceTable::explore(const Choices& choices) {
  const std::lock_guard lock(mutex_);
  exploring_ = true;
  prepare_anew(choices);
}

void ChoiceTable::settle(const Choices& choices) {
  const std::lock_guard lock(mutex_);
  exploring_ = false;
  prepare_anew(choices);
}

void ChoiceTable::prepare_anew(const Choices& choices) {
  ++generation_;
  asked_.clear();
  entries_.clear();
  bytes_ = 0;
  for (const auto& [key, text] : choices) {
    put(key, {.text = text, .preferred = true, .origin = ChoiceOrigin::file});
  }
}

bool ChoiceTable::exploring() const {
  const std::lock_guard lock(mutex_);
  return exploring_;
}

std::uint64_t ChoiceTable::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

void ChoiceTable::offer(const std::string& key, const std::vector<std::string>& others) {
  const std::lock_guard lock(mutex_);
  const auto own = entries_.find(key);
  if (!exploring_ || own == entries_.end()) return;
  const auto [known, fresh] = offers_.try_emplace(key);
  if (!fresh) return;
  Offer& offer = known->second;
  offer.rule = own->second.text;
  for (const std::string& text : others) {
    if (offer.others.size() == kMostOffered) break;
    if (text != offer.rule && std::ranges::find(offer.others, text) == offer.others.end()) {
      offer.others.push_back(text);
    }
  }
}

std::map<std::string, ChoiceTable::Offer> ChoiceTable::offers() const {
  const std::lock_guard lock(mutex_);
  return offers_;
}

void ChoiceTable::asked(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  if (exploring_) asked_.insert(key);
}

std::set<std::string> ChoiceTable::take_asked() {
  const std::lock_guard lock(mutex_);
  return std::exchange(asked_, {});
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

void ChoiceTable::warn(const std::string& key, const Entry& entry, const std::string& why) {
  const bool resumed = entry.origin == ChoiceOrigin::checkpoint;
  const std::string line =
      fmt::format("[{}] {} cannot have the {}'s '{}': {}", resumed ? "resume" : "choices", key,
                  resumed ? "checkpoint" : "choices file", entry.text, why);
  if (!told_.insert(why).second) return log_debug(line);
  log_warning(line + (resumed
                          ? "; it is chosen anew, as is all else for which that holds, so that "
                            "bits may differ from here on"
                          : "; it is chosen by rule, as is all else for which that holds: measure "
                            "again with `plimsoll tune`, in a process of its own"));
}

}  // namespace plimsoll
