#include <plimsoll/report/progress.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace plimsoll::report {
namespace {

constexpr int kBar = 24;

std::string duration(double seconds) {
  const auto s = std::llround(seconds);
  if (s >= 3600) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return s >= 60 ? fmt::format("{}m{:02}s", s / 60, s % 60) : fmt::format("{}s", s);
}

/// Nobody's training ends because what it says cannot be written.
void say(std::FILE* out, const std::string& text) {
  (void)std::fputs(text.c_str(), out);
  (void)std::fflush(out);
}

class Progress {
 public:
  explicit Progress(const ProgressOptions& options)
      : out_(options.out),
        bar_(options.style == ProgressOptions::Style::bar ||
             (options.style == ProgressOptions::Style::automatic &&
              ::isatty(::fileno(options.out)) != 0)) {}

  void begin(const train::Run& run) { first_ = run.step(); }

  void step(const train::Run& run) {
    const double now = run.seconds();
    if (now - last_ < (bar_ ? 0.1 : 10.0)) return;
    last_ = now;
    if (bar_) {
      const std::string text = line(run);
      say(out_, fmt::format("\r{} {}\x1b[K", filled(run), text));
    } else {
      say(out_, line(run) + "\n");
    }
  }

  void epoch(const train::Run& run) {
    std::string text = fmt::format("epoch {:>3}", run.epoch());
    for (const auto& [name, value] : run.metrics()) text += fmt::format("  {} {:.4f}", name, value);
    text += "  " + speed_and_memory(run);
    say(out_, fmt::format("{}{}\n", bar_ ? "\r\x1b[K" : "", text));
  }

  void end() { say(out_, bar_ ? "\r\x1b[K" : ""); }

 private:
  static std::string speed_and_memory(const train::Run& run) {
    const Budget budget = run.device().budget();
    return fmt::format("{:.0f} images/s  {} of {}",
                       static_cast<double>(run.elements()) / std::max(run.seconds(), 1e-9),
                       format_bytes(budget.used()), format_bytes(budget.limit()));
  }

  std::string line(const train::Run& run) const {
    std::string text = fmt::format("step {}", run.step());
    if (run.total_steps() > 0) text += fmt::format("/{}", run.total_steps());
    text +=
        fmt::format("  loss {:.4f}  {}", static_cast<double>(run.loss()), speed_and_memory(run));
    if (run.total_steps() > 0 && run.step() > first_) {
      const double each = run.seconds() / static_cast<double>(run.step() - first_);
      text += "  " + duration(each * static_cast<double>(run.total_steps() - run.step())) + " left";
    }
    return text;
  }

  static std::string filled(const train::Run& run) {
    if (run.total_steps() <= 0) return "";
    const auto n = static_cast<std::size_t>(kBar * run.step() / run.total_steps());
    return fmt::format("[{:<{}}]", std::string(std::min<std::size_t>(n, kBar), '#'), kBar);
  }

  std::FILE* out_;
  bool bar_;
  double last_ = 0;
  std::int64_t first_ = 0;
};

}  // namespace

train::Callback progress(const ProgressOptions& options) {
  const auto shown = std::make_shared<Progress>(options);
  return {.on_begin = [shown](train::Run& run) { shown->begin(run); },
          .on_step = [shown](train::Run& run) { shown->step(run); },
          .on_epoch = [shown](train::Run& run) { shown->epoch(run); },
          .on_end = [shown](train::Run&) { shown->end(); },
          .numbers_only = true};
}

}  // namespace plimsoll::report
