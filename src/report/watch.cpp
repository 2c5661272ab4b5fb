#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/report/live.h>

#include "report/live_page.h"
#include "report/terminal.h"
#include "report/watch_screen.h"

namespace plimsoll::report {
namespace {

using Clock = std::chrono::steady_clock;

/// Between two looks at the file, and between two lines without a terminal.
constexpr std::chrono::milliseconds kPause(250);
constexpr std::chrono::seconds kLinePause(10);
constexpr std::chrono::seconds kPagePause(1);
/// Of a long run a page takes a while to make: at most one part of so many goes into it.
constexpr int kPageShare = 200;
constexpr std::chrono::seconds kLastAnswers(3);

class Watch {
 public:
  Watch(const std::string& log, const WatchOptions& options)
      : options_(options),
        follower_(log),
        screen_(options.style == WatchOptions::Style::screen ||
                (options.style == WatchOptions::Style::automatic && can_redraw(options.out))) {
    if (options.http_port < 0) return;
    page_.emplace(options.http_port);
    page_->show(follower_.run());
    say(fmt::format("live page: {}\n", page_->address()));
  }

  void run() {
    for (;;) {
      const bool more = follower_.update();
      require_log();
      const bool over = ended() || stopped();
      show(more, over);
      if (over) break;
      std::this_thread::sleep_for(kPause);
    }
    // Browsers ask once a second, and should get the end.
    const Clock::time_point end = Clock::now() + kLastAnswers;
    while (page_ && !stopped() && Clock::now() < end) std::this_thread::sleep_for(kPause);
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  /// A file of something else would be watched for ever.
  void require_log() const {
    const Run& run = follower_.run();
    if (run.state != RunState::empty || run.problem_count == 0) return;
    throw DataError(fmt::format(
        "[watch] {}: this is not a run log, as no line of it can be read; name a file that "
        "`plimsoll train --log FILE` wrote, a folder of --checkpoints, or a process",
        printable(run.path)));
  }

  bool ended() const {
    const RunState state = follower_.run().state;
    return state != RunState::running && state != RunState::empty;
  }

  void show(bool more, bool over) {
    const Clock::time_point now = Clock::now();
    if (page_ && (over || (more && now >= next_page_))) {
      page_->show(follower_.run());
      const Clock::time_point shown = Clock::now();
      next_page_ = shown + std::max<Clock::duration>(kPagePause, (shown - now) * kPageShare);
    }
    if (screen_) {
      draw();
      return;
    }
    const std::size_t events = follower_.run().events.size();
    if (over || now - said_ >= kLinePause || events != events_) {
      say(watch_line(follower_.run()) + "\n");
      said_ = now;
      events_ = events;
    }
  }

  /// Over what was drawn before, or on an empty screen where the terminal has another width now.
  void draw() {
    const std::size_t columns = columns_of(options_.out);
    std::string text;
    if (drawn_ > 0) {
      text += columns == columns_ ? fmt::format("\x1b[{}A\r\x1b[J", drawn_) : "\x1b[2J\x1b[H";
    }
    columns_ = columns;
    const std::vector<std::string> lines = watch_screen(follower_.run(), columns - 1);
    for (const std::string& line : lines) text += line + "\n";
    drawn_ = lines.size();
    say(text);
  }

  void say(const std::string& text) const {
    (void)std::fputs(text.c_str(), options_.out);
    (void)std::fflush(options_.out);
  }

  WatchOptions options_;
  LogFollower follower_;
  bool screen_;
  std::optional<LivePage> page_;
  std::size_t drawn_ = 0;
  std::size_t columns_ = 0;
  std::size_t events_ = 0;
  Clock::time_point said_ = {};
  Clock::time_point next_page_ = {};
};

}  // namespace

void watch(const std::string& log, const WatchOptions& options) { Watch(log, options).run(); }

}  // namespace plimsoll::report
