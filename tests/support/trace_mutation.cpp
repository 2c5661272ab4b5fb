#include "support/trace_mutation.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

namespace plimsoll::testing {
namespace {

constexpr std::array<std::string_view, 18> kPieces = {",",
                                                      "\n",
                                                      "\r\n",
                                                      "0x",
                                                      "-1",
                                                      "18446744073709551616",
                                                      "4611686018427387905",
                                                      "allocate",
                                                      "free",
                                                      "0",
                                                      "+5",
                                                      "1e9",
                                                      "allocate failure",
                                                      "(nil)",
                                                      "\"1,2\"\n",
                                                      " ",
                                                      "id",
                                                      "Thread,Time,Action,Pointer,Size,Stream\n"};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

void mutate_lines(std::string& text, Random& random) {
  const std::string before = text;
  std::vector<std::string_view> lines = lines_of(before);
  const std::size_t a = random.below(lines.size());
  const std::size_t b = random.below(lines.size());
  switch (random.below(3)) {
    case 0:
      std::swap(lines[a], lines[b]);
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(b), lines[a]);
      break;
    default:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(a));
      break;
  }
  text.clear();
  for (const std::string_view line : lines) text += line;
}

}  // namespace

std::string mutate(std::string_view original, Random& random) {
  std::string text(original);
  for (std::uint64_t changes = random.between(1, 4); changes > 0; --changes) {
    if (text.empty()) text = original;
    const std::size_t at = random.below(text.size());
    const std::size_t length = random.below(std::min<std::size_t>(8, text.size() - at) + 1);
    switch (random.below(8)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, kPieces[random.below(kPieces.size())]);
        break;
      case 4:
        text.insert(at, text.substr(random.below(text.size()), length));
        break;
      case 5:
        text.replace(at, length, kPieces[random.below(kPieces.size())]);
        break;
      case 6:
        mutate_lines(text, random);
        break;
      default:
        if (random.chance(0.3)) text.resize(at);
        break;
    }
  }
  return text;
}

std::string check_trace(const Trace& trace) {
  constexpr Bytes kFree = ~Bytes{0};
  std::vector<Bytes> slots(trace.slots, kFree);
  Bytes live = 0;
  Bytes peak = 0;
  Bytes total = 0;
  for (std::size_t i = 0; i < trace.operations.size(); ++i) {
    const TraceOperation& operation = trace.operations[i];
    if (operation.slot >= trace.slots) return fmt::format("operation {}: no such slot", i);
    if (operation.bytes > Bytes{1} << 62) return fmt::format("operation {}: size", i);
    Bytes& held = slots[operation.slot];
    if (operation.allocate) {
      if (held != kFree) return fmt::format("operation {}: slot allocated twice", i);
      held = operation.bytes;
      live += held;
      total += held;
      peak = std::max(peak, live);
    } else {
      if (held != operation.bytes) return fmt::format("operation {}: freed another size", i);
      live -= held;
      held = kFree;
    }
  }
  if (peak != trace.live_peak) return fmt::format("live_peak {} is {}", trace.live_peak, peak);
  if (total != trace.bytes_allocated) return "bytes_allocated";
  return {};
}

std::string_view rmm_example() {
  return "Thread,Time,Action,Pointer,Size,Stream\n"
         "140202,10:21:44.100001,allocate,0x7f5c80000000,1048576,0x0\n"
         "140202,10:21:44.100417,allocate,0x7f5c80100000,512,0x0\n"
         "140203,10:21:44.101200,allocate,0x7f5c80200000,73400320,0x1\n"
         "140202,10:21:44.101950,free,0x7f5c80100000,512,0x0\n"
         "140202,10:21:44.102004,allocate failure,(nil),99999999999,0x0\n"
         "140202,10:21:44.102008,allocate,(nil),0,0x0\n"
         "140203,10:21:44.103311,free,0x7f5c80200000,73400320,0x1\n"
         "140202,10:21:44.104000,allocate,0x7f5c80100000,2048,0x0\n"
         "140202,10:21:44.105000,free,0x7f5c80000000,1048576,0x0\n";
}

std::string_view buffer_list_example() {
  return "id,lower,upper,size\n"
         "weights,0,100,4096\n"
         "a,3,9,128\n"
         "b,9,12,1024\n"
         "c,9,40,0\n"
         "7,5,30,65536\n";
}

}  // namespace plimsoll::testing
