// The memory layer on a GPU: what a release and an allocation cost, and how fast memory goes back.
//
//   bench_memory_cuda [device]
//
// The last line is JSON. bench/torch_alloc.py measures PyTorch's allocator on the same work;
// scripts/gpu_check.sh runs both and prints the ratio.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/device.h>

namespace {

using namespace plimsoll;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// 256 live blocks of 512 B to 16 MiB, powers of two; a random one is released and another size
/// allocated in its place. Nanoseconds a pair. The same numbers in the same order as the peer's.
double churn(Arena& arena, const Account& account, StreamId stream, int pairs) {
  constexpr std::size_t kLive = 256;
  std::mt19937_64 random(1);  // NOLINT: the same work every time
  std::vector<Block> blocks(kLive);
  const auto start = Clock::now();
  for (int i = 0; i < pairs; ++i) {
    Block& block = blocks[random() % kLive];
    block.release();
    block = arena.allocate(Bytes{512} << (random() % 16), account, stream);
  }
  return milliseconds_since(start) * 1e6 / pairs;
}

struct Churn {
  double ns = 0;         ///< a pair
  double driver_ns = 0;  ///< of them in the driver, for pages that are mapped or moved
};

Churn warm_churn(Arena& arena, const Account& account, StreamId stream) {
  constexpr int kPairs = 200'000;
  churn(arena, account, stream, kPairs);
  const std::int64_t before = arena.stats().page_ns;
  const double ns = churn(arena, account, stream, kPairs);
  return {ns, static_cast<double>(arena.stats().page_ns - before) / kPairs};
}

/// What the process holds as the driver counts it, or what anybody does where it does not tell.
Bytes held(const Device& device) {
  const DeviceInfo info = device.info();
  return device.process_used().value_or(info.total - info.free.value());
}

struct GiveBack {
  double take_ms_per_gib = 0;
  double ms_per_gib = 0;
  double share = 0;  ///< of the bytes that were live, by the driver's count
};

std::vector<Block> take(Arena& arena, const Account& account, Bytes total, Bytes block) {
  std::vector<Block> blocks;
  blocks.reserve(total / block);
  for (Bytes i = 0; i < total / block; ++i) blocks.push_back(arena.allocate(block, account));
  return blocks;
}

double gibibytes(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(GiB(1)); }

/// Fills a session and closes it.
GiveBack close_session(const Device& device, Bytes total, Bytes block) {
  Session session = device.session("bench", Limit(total + MiB(256)));
  const Account account = session.budget().account(Tag::activations, "bench");
  auto start = Clock::now();
  const std::vector<Block> blocks = take(session.arena(), account, total, block);
  const double taking = milliseconds_since(start);
  const Bytes before = held(device);
  start = Clock::now();
  session.close();
  const double closing = milliseconds_since(start);
  const Bytes after = held(device);
  return {taking / gibibytes(total), closing / gibibytes(total),
          (static_cast<double>(before) - static_cast<double>(after)) / static_cast<double>(total)};
}

/// Releases everything, then lowers the device's limit to a little above its runtime.
GiveBack lower_limit(const Device& device, Bytes total, Bytes block) {
  const Account account = device.budget().account(Tag::activations, "bench");
  auto start = Clock::now();
  std::vector<Block> blocks = take(device.arena(), account, total, block);
  const double taking = milliseconds_since(start);
  blocks.clear();
  const Bytes before = held(device);
  const Bytes limit = device.budget().limit();
  start = Clock::now();
  device.budget().set_limit(device.runtime() + MiB(64));
  const double lowering = milliseconds_since(start);
  const Bytes after = held(device);
  device.budget().set_limit(limit);
  return {taking / gibibytes(total), lowering / gibibytes(total),
          (static_cast<double>(before) - static_cast<double>(after)) / static_cast<double>(total)};
}

std::string json(const GiveBack& result) {
  return fmt::format(R"({{"take_ms_per_gib":{:.2f},"ms_per_gib":{:.2f},"share":{:.4f}}})",
                     result.take_ms_per_gib, result.ms_per_gib, result.share);
}

void print(const char* what, const GiveBack& result) {
  fmt::print("{:<34} take {:6.2f}   return {:6.2f} ms/GiB   {:5.1f}% returned\n", what,
             result.take_ms_per_gib, result.ms_per_gib, 100 * result.share);
}

int run(const std::string& name) {
  const Device device = Device::open(name, {.limit = GiB(12)});
  fmt::print("{}: {}, runtime {}\n", device.name(), device.info().description,
             format_bytes(device.runtime()));

  Churn on_stream;
  Churn on_host;
  ArenaStats stats;
  {
    const Budget training = device.budget().child("training", GiB(8));
    const Account account = training.child("step", GiB(4)).account(Tag::activations, "bench");
    on_stream = warm_churn(device.arena(), account, device.make_stream());
    on_host = warm_churn(device.arena(), account, kHostStream);
    stats = device.arena().stats();
  }
  fmt::print(
      "churn, budget depth 3              {:.0f} ns a pair on a stream ({:.0f} in the driver), "
      "{:.0f} ({:.0f}) on the host's\n",
      on_stream.ns, on_stream.driver_ns, on_host.ns, on_host.driver_ns);
  fmt::print("  mapped peak {} for a live peak of {}, {} maps, {} moves\n",
             format_bytes(stats.mapped_peak), format_bytes(stats.live_peak), stats.maps,
             stats.moves);
  device.arena().trim();

  const GiveBack large = close_session(device, GiB(8), MiB(1024));
  print("closing a session of 1 GiB blocks", large);
  const GiveBack small = close_session(device, GiB(8), MiB(8));
  print("closing a session of 8 MiB blocks", small);
  const GiveBack lowered = lower_limit(device, GiB(8), MiB(64));
  print("lowering a limit, 64 MiB blocks", lowered);

  fmt::print(R"({{"ns_per_pair":{:.1f},"ns_per_pair_host":{:.1f},"runtime":{},"live_peak":{},)"
             R"("mapped_peak":{},"close_1gib_blocks":{},"close_8mib_blocks":{},)"
             R"("lower_limit":{}}})"
             "\n",
             on_stream.ns, on_host.ns, device.runtime(), stats.live_peak, stats.mapped_peak,
             json(large), json(small), json(lowered));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "cuda:0");
  } catch (const plimsoll::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.exit_code();
  }
}
