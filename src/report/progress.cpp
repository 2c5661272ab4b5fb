#include <plimsoll/report/progress.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/text.h>
#include <plimsoll/train/trainer.h>

#include "report/terminal.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr const char* kClear = "\r\x1b[K";

/// What the speed counts.
struct Unit {
  std::string name;
  std::int64_t per_element = 1;
};

Unit unit_of(const nn::Model& model) {
  const std::vector<TensorType> types = model.batch_types(1);
  if (types.empty()) return {"examples", 1};  // a module of the user's own: the data tells
  const TensorType& input = types.front();
  if (input.shape.rank() == 2 && !is_floating(input.dtype)) return {"tokens", input.shape.dim(1)};
  return {input.shape.rank() == 4 ? "images" : "examples", 1};
}

std::string time_left(double seconds) {
  return seconds < 59.5 ? fmt::format("{:.0f} s left", seconds)
                        : format_duration(seconds) + " left";
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
             (options.style == ProgressOptions::Style::automatic && can_redraw(options.out))),
        unit_{options.unit, 1} {}

  void begin(train::Run& run) {
    first_ = run.step();
    if (unit_.name.empty()) unit_ = unit_of(run.trainer().model());
    if (bar_) draw(run);
  }

  void step(const train::Run& run) {
    const double now = run.seconds();
    if (now - last_ < (bar_ ? 0.1 : 10.0)) return;
    last_ = now;
    if (bar_) {
      draw(run);
    } else {
      say(out_, joined(parts(run)) + "\n");
    }
  }

  void epoch(const train::Run& run) {
    const std::size_t width = bar_ ? columns_of(out_) : std::string::npos;
    std::string text = fmt::format("epoch {:>3}", run.epoch());
    const std::size_t indent = width < 40 ? 1 : text.size();  // of what its line has no room for
    std::size_t column = text.size();
    const auto add = [&](const std::string& part) {
      if (column + 2 + part.size() > width && column > indent) {
        text += "\n" + std::string(indent, ' ');
        column = indent;
      }
      text += "  " + part;
      column += 2 + part.size();
    };
    for (const auto& [name, value] : run.metrics()) add(fmt::format("{} {:.4f}", name, value));
    add(speed(run));
    add(memory(run));
    say(out_, fmt::format("{}{}\n", bar_ ? kClear : "", text));
  }

  void end() { say(out_, bar_ ? kClear : ""); }

 private:
  /// The most important first: what a narrow terminal has no room for is left out from the end.
  std::vector<std::string> parts(const train::Run& run) const {
    const std::int64_t total = run.total_steps();
    std::vector<std::string> all;
    all.push_back(total > 0
                      ? fmt::format("step {}/{}", format_count(run.step()), format_count(total))
                      : fmt::format("step {}", format_count(run.step())));
    if (run.step() == first_) return all;
    all.push_back(fmt::format("loss {:.4f}", static_cast<double>(run.loss())));
    if (total > 0) {
      const double each = run.seconds() / static_cast<double>(run.step() - first_);
      all.push_back(
          time_left(each * static_cast<double>(std::max<std::int64_t>(total - run.step(), 0))));
    }
    all.push_back(speed(run));
    all.push_back(memory(run));
    return all;
  }

  static std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : "  ") + part;
    return text;
  }

  /// The last column stays free: a terminal may begin the next line when it is written to.
  void draw(const train::Run& run) const {
    const std::size_t width = columns_of(out_) - 1;
    std::string text;
    for (const std::string& part : parts(run)) {
      const std::size_t column = text.empty() ? 0 : text.size() + 2;
      if (column + part.size() > width) break;
      text += (text.empty() ? "" : "  ") + part;
    }
    constexpr std::size_t kAround = 3;  // brackets and a space
    if (run.total_steps() > 0 && !text.empty() && text.size() + kAround + kBarWidth <= width) {
      const std::size_t filled =
          std::min(kBarWidth, kBarWidth * static_cast<std::size_t>(run.step()) /
                                  static_cast<std::size_t>(run.total_steps()));
      text = fmt::format("[{:<{}}] {}", std::string(filled, '#'), kBarWidth, text);
    }
    say(out_, fmt::format("\r{}\x1b[K", text));
  }

  std::string speed(const train::Run& run) const {
    const std::int64_t count = run.elements() * unit_.per_element;
    return format_rate(static_cast<double>(count) / std::max(run.seconds(), 1e-9), unit_.name);
  }

  static std::string memory(const train::Run& run) {
    const Budget budget = run.device().budget();
    return fmt::format("{} of {}", format_bytes(budget.used()), format_bytes(budget.limit()));
  }

  std::FILE* out_;
  bool bar_;
  Unit unit_;
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
