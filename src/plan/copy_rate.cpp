#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>

#include <plimsoll/device/owned_stream.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/plan/device_description.h>

namespace plimsoll::plan {
namespace {

constexpr Bytes kPiece = MiB(32);
constexpr int kTurns = 4;

}  // namespace

std::optional<double> measure_copy_rate(const Device& device, const Device& host) {
  using CopyClock = std::chrono::steady_clock;
  try {
    if (device.budget().available() < 4 * kPiece || host.budget().available() < 4 * kPiece) {
      return std::nullopt;
    }
    // Its pages go back with it.
    const Session session = device.session("copy rate");
    const std::unique_ptr<Arena> pinned = device.make_pinned_arena(host.budget());
    const Account account = pinned->budget().account(Tag::staging, "copy rate");
    const Block here_in = session.device().allocate(kPiece, Tag::staging, "copy rate");
    const Block here_out = session.device().allocate(kPiece, Tag::staging, "copy rate");
    const Block there_in = pinned->allocate(kPiece, account);
    const Block there_out = pinned->allocate(kPiece, account);
    const OwnedStream in(device);
    const OwnedStream out(device);
    double least = std::numeric_limits<double>::max();
    for (int turn = 0; turn <= kTurns; ++turn) {
      const CopyClock::time_point began = CopyClock::now();
      device.copy(here_in.data(), there_in.data(), kPiece, in.id());
      device.copy(there_out.data(), here_out.data(), kPiece, out.id());
      device.synchronize(in.id());
      device.synchronize(out.id());
      const double seconds = std::chrono::duration<double>(CopyClock::now() - began).count();
      if (turn > 0) least = std::min(least, seconds);  // the first one warms up
    }
    return static_cast<double>(kPiece) / std::max(least, 1e-9);
  } catch (const OutOfMemory&) {
    return std::nullopt;
  }
}

}  // namespace plimsoll::plan
