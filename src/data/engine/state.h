#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::data {

/// The position of a stage and of its inputs. Immutable and shared: a stage that runs ahead keeps
/// positions of its input for each element it has not delivered, which costs a pointer each.
struct State {
  std::vector<std::uint64_t> words;
  std::vector<std::shared_ptr<const State>> inputs;
};
using StatePtr = std::shared_ptr<const State>;

inline StatePtr make_state(std::vector<std::uint64_t> words, std::vector<StatePtr> inputs = {}) {
  return std::make_shared<const State>(State{std::move(words), std::move(inputs)});
}

/// Bytes for a file, in front the signature and the data's identity, which restore() checks. Words
/// are variable-length, so that the ordinals of a window take few bytes each.
std::string encode_state(std::string_view signature, const std::vector<std::uint64_t>& identity,
                         const State& state);

struct SavedState {
  std::vector<std::uint64_t> identity;
  StatePtr state;
};

/// The reverse. Throws DataError for bytes that are none, InvalidArgument naming the first stage
/// that differs from `signature`.
SavedState decode_state(std::string_view signature, std::string_view bytes);

}  // namespace plimsoll::data
