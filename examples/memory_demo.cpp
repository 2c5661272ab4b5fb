// The memory layer at work, in about a second: a budget that holds, an OutOfMemory that says who
// holds what and loses nothing, memory that goes back. Each line of C++ it shows is the one it ran.
//
//   ./dev demo

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/system.h>
#include <plimsoll/plimsoll.h>

namespace pm = plimsoll;
using pm::format_bytes;
using pm::MiB;

namespace {

/// Prints a statement, then runs it: what one reads is what happened.
#define RUN(...)      \
  show(#__VA_ARGS__); \
  __VA_ARGS__

std::string styled(const char* style, const std::string& text) {
  static const bool on = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return on ? fmt::format("\033[{}m{}\033[0m", style, text) : text;
}

void title(const std::string& text) { fmt::print("\n{}\n\n", styled("1", text)); }

/// Prints `text` in lines of 80 columns, broken at the last `separator` that fits.
void print_lines(std::string text, const char* first, const char* next, char separator) {
  for (const char* indent = first; !text.empty(); indent = next) {
    std::size_t end = text.size();
    if (end > 74) end = text.rfind(separator, 74) + 1;
    fmt::print("{}{}\n", indent, styled(separator == ',' ? "36" : "0", text.substr(0, end)));
    text.erase(0, std::min(text.size(), text.find_first_not_of(' ', end)));
  }
}

void show(const std::string& code) { print_lines(code + ";", "  > ", "      ", ','); }

/// The RSS of this process, as the system counts it.
std::string rss() { return format_bytes(pm::resident_bytes()); }

std::string use_of(const pm::Budget& budget) {
  return fmt::format("{} of {} used", format_bytes(budget.used()), format_bytes(budget.limit()));
}

void print_holders(const std::vector<pm::Holder>& holders, pm::Bytes limit) {
  constexpr pm::Bytes kWidth = 24;
  for (const pm::Holder& holder : holders) {
    const std::string bar(holder.bytes * kWidth / limit, '#');
    fmt::print("    {:<12} {:<24} {:>8}  {:.<24}\n", tag_name(holder.tag), holder.label,
               format_bytes(holder.bytes), bar);
  }
}

void demo() {
  title("1. A budget for everything the process takes on the device");
  RUN(pm::Device cpu = pm::Device::open("cpu:0", {.limit = MiB(512)}));
  RUN(pm::Session training = cpu.session("training", MiB(320)));
  RUN(pm::Session validation = cpu.session("validation"));
  fmt::print("    Training has a limit of its own, validation draws on the device's.\n");
  fmt::print("    Nothing is taken yet: {}, RSS {}.\n", use_of(cpu.budget()), rss());

  title("2. Every byte has a tag and a label: who holds what");
  RUN(auto weights = pm::Tensor::zeros({4096, 4096}, pm::DType::f32, training.device(),
                                       {pm::Tag::parameters, "encoder"}));
  RUN(auto moments = pm::Tensor::zeros({2, 4096, 4096}, pm::DType::f32, training.device(),
                                       {pm::Tag::optimizer, "adam"}));
  RUN(auto hidden = pm::Tensor::zeros({256, 64, 1024}, pm::DType::f32, training.device(),
                                      {pm::Tag::activations, "blocks"}));
  RUN(auto advice = cpu.budget().remedy("keep fewer decoded pictures", MiB(64)));
  std::vector<pm::Block> pictures;
  for (int i = 0; i < 16; ++i) {
    pictures.push_back(cpu.allocate(MiB(8), pm::Tag::cache, "decoded pictures"));
    std::fill_n(static_cast<char*>(pictures.back().data()), MiB(8), 'p');
  }
  weights.mutable_data<float>()[0] = 42;
  print_holders(cpu.budget().ledger().holders(), cpu.budget().limit());
  fmt::print("    {}, RSS {}.\n", use_of(cpu.budget()), rss());

  title("3. The epoch ends, validation asks for too much");
  try {
    RUN(pm::Tensor::zeros({512, 96, 1024}, pm::DType::f32, validation.device(),
                          {pm::Tag::activations, "batch of 512"}));
  } catch (const pm::OutOfMemory& refused) {
    fmt::print("\n{}\n\n", refused.what());
  }
  fmt::print("    Refused before anything was taken: {},\n", use_of(cpu.budget()));
  fmt::print("    weights[0] is still {}. The program goes on with a smaller batch:\n",
             weights.data<float>()[0]);
  RUN(auto scores = pm::Tensor::zeros({256, 96, 1024}, pm::DType::f32, validation.device(),
                                      {pm::Tag::activations, "batch of 256"}));
  fmt::print("    {}.\n", use_of(cpu.budget()));

  title("4. A neighbour needs memory: the limit is lowered while running");
  RUN(validation.close());
  auto give_way = [&](pm::Bytes wanted) {
    pm::Bytes freed = 0;
    for (; freed < wanted && !pictures.empty(); freed += MiB(8)) pictures.pop_back();
    fmt::print("    ... the cache is asked for {} and gives {}\n", format_bytes(wanted),
               format_bytes(freed));
    return freed;
  };
  RUN(auto relief = cpu.budget().on_relief(pm::ReliefOrder::cache, "pictures", give_way));
  const std::string before_lowering = rss();
  RUN(cpu.budget().set_limit(MiB(320)));
  fmt::print("    RSS {} -> {}: the pages are back with the system.\n", before_lowering, rss());
  fmt::print("    What cannot be is refused, and the limit stays:\n");
  try {
    RUN(cpu.budget().set_limit(MiB(96)));
  } catch (const pm::InvalidArgument& refused) {
    fmt::print("\n{}\n", refused.what());
  }

  title("5. A session closes: its memory goes back without ending the process");
  const std::string before_closing = rss();
  const auto start = std::chrono::steady_clock::now();
  RUN(training.close());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  fmt::print("    RSS {} -> {} in {:.1f} ms. A tensor that is still around says so:\n",
             before_closing, rss(), took.count());
  try {
    RUN(weights.data<float>());
  } catch (const pm::Error& closed) {
    print_lines(closed.what(), "    ", "    ", ' ');
  }

  title("6. Two logical devices: what one does is not the other's trouble");
  RUN(std::vector<pm::Device> half = cpu.split({MiB(96), MiB(96)}));
  try {
    RUN(half[0].allocate(MiB(128), pm::Tag::user, "greedy"));
  } catch (const pm::OutOfMemory& refused) {
    fmt::print("    refused by '{}', whose limit is {}\n", refused.report().budget,
               format_bytes(refused.report().limit));
  }
  RUN(pm::Block modest = half[1].allocate(MiB(64), pm::Tag::user, "modest"));
  fmt::print("    {}: {}\n", half[1].name(), use_of(half[1].budget()));
  fmt::print("    What they were promised is theirs: {} of {} is left to others.\n",
             format_bytes(cpu.budget().available()), format_bytes(cpu.budget().limit()));
  RUN(modest.release());
  RUN(half.clear());

  title("7. Free, but in pieces: pages are moved together instead of growing");
  RUN(pm::Session pieces = cpu.session("pieces", MiB(144)));
  std::vector<pm::Block> blocks;
  for (int i = 0; i < 18; ++i) {
    blocks.push_back(pieces.device().allocate(MiB(8), pm::Tag::activations, "piece"));
    *static_cast<int*>(blocks.back().data()) = i;
  }
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i].release();
  const pm::ArenaStats torn = pieces.arena().stats();
  fmt::print("    ");
  for (const pm::Block& block : blocks) fmt::print("{}", block ? "####" : "....");
  fmt::print("\n    {}, {} of it free, in pieces of {}.\n", use_of(pieces.budget()),
             format_bytes(torn.mapped - torn.live), format_bytes(torn.largest_free));
  fmt::print("    One tensor that needs all of them:\n");
  RUN(auto whole = pm::Tensor::zeros({72, 1024, 1024}, pm::DType::u8, pieces.device()));
  int intact = 0;
  for (int i = 1; i < 18; i += 2) intact += *static_cast<int*>(blocks[i].data()) == i ? 1 : 0;
  fmt::print("    {} of pages moved under it; {}.\n",
             format_bytes(pieces.arena().stats().bytes_remapped), use_of(pieces.budget()));
  fmt::print("    The {} blocks in between are where they were, and as they were.\n", intact);
}

}  // namespace

int main() {
  try {
    demo();
    fmt::print(
        "\nRead on: README.md and docs/. Your machine: build/release/bin/plimsoll devices\n");
    return 0;
  } catch (const pm::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.exit_code();
  }
}
