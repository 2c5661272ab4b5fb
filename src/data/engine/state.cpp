#include "data/engine/state.h"

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/fnv.h"

namespace plimsoll::data {
namespace {

constexpr std::string_view kMagic = "PLMDATA4";
constexpr int kDeepest = 256;

void put(std::string& out, std::uint64_t word) {
  for (; word >= 0x80; word >>= 7) out.push_back(static_cast<char>(word | 0x80));
  out.push_back(static_cast<char>(word));
}

void put(std::string& out, const State& state) {
  put(out, state.words.size());
  for (const std::uint64_t word : state.words) put(out, word);
  put(out, state.inputs.size());
  for (const StatePtr& input : state.inputs) put(out, *input);
}

[[noreturn]] void broken(const char* what) {
  throw DataError(fmt::format("[Pipeline::restore] not a saved position: {}", what));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t word() {
    std::uint64_t result = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) broken("cut off");
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      result |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80) == 0) return result;
    }
    broken("a number is too long");
  }
  /// A count of things that take at least a byte each.
  std::uint64_t count() {
    const std::uint64_t result = word();
    if (result > rest_.size()) broken("a count exceeds the bytes there are");
    return result;
  }
  std::string_view text() {
    const auto size = static_cast<std::size_t>(count());
    const std::string_view result = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return result;
  }
  StatePtr state(int depth = 0) {
    if (depth > kDeepest) broken("nested too deeply");
    State result;
    result.words.resize(count());
    for (std::uint64_t& each : result.words) each = word();
    result.inputs.resize(count());
    for (StatePtr& each : result.inputs) each = state(depth + 1);
    return std::make_shared<const State>(std::move(result));
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view trimmed(std::string_view line) {
  const auto begin = line.find_first_not_of(' ');
  return begin == std::string_view::npos ? "nothing" : line.substr(begin);
}

void require_same(std::string_view now, std::string_view saved) {
  while (!now.empty() || !saved.empty()) {
    const std::string_view here = take_line(now);
    const std::string_view there = take_line(saved);
    if (here == there) continue;
    throw InvalidArgument(fmt::format(
        "[Pipeline::restore] the position was saved by another pipeline: it has {} where this has "
        "{}; restore it with the pipeline that saved it, or start again from the beginning",
        trimmed(there), trimmed(here)));
  }
}

}  // namespace

std::string encode_state(std::string_view signature, const std::vector<std::uint64_t>& identity,
                         const State& state) {
  std::string body;
  put(body, signature.size());
  body += signature;
  put(body, State{identity, {}});
  put(body, state);
  std::string out(kMagic);
  put(out, hash_of(body));
  return out + body;
}

SavedState decode_state(std::string_view signature, std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) broken("it does not begin like one");
  bytes.remove_prefix(kMagic.size());
  Reader header(bytes);
  const std::uint64_t hash = header.word();
  std::string start;
  put(start, hash);
  if (bytes.size() < start.size()) broken("cut off");
  const std::string_view body = bytes.substr(start.size());
  if (hash_of(body) != hash) broken("its checksum does not match");
  Reader reader(body);
  require_same(signature, reader.text());
  SavedState saved;
  saved.identity = reader.state()->words;
  saved.state = reader.state();
  if (!reader.done()) broken("bytes are left over");
  return saved;
}

}  // namespace plimsoll::data
