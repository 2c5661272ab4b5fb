#pragma once

#include <atomic>
#include <cstdint>

namespace plimsoll {

/// Sleeps until futex_wake for `word`, unless it no longer is `value`. May return early. False if
/// `timeout_ns` passed; a negative one never does.
bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::int64_t timeout_ns = -1);
/// Wakes at most `count` of those who sleep on `word`, which need not be there any more.
void futex_wake(const std::atomic<std::uint32_t>* word, int count);

}  // namespace plimsoll
