#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <plimsoll/base/text.h>
#include <plimsoll/report/chart.h>

#include "report/terminal.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kWidest = 80;

std::string bytes_text(double value) { return format_bytes(static_cast<Bytes>(value)); }

class Charts {
 public:
  explicit Charts(std::FILE* out) : out_(out) {}

  void step(const train::Run& run) {
    loss_.add(static_cast<double>(run.loss()));
    const Budget budget = run.device().budget();
    held_.add(static_cast<double>(budget.used()));
    moved_ = moved_ || (limit_ != 0 && limit_ != budget.limit());
    limit_ = std::max(limit_, budget.limit());
  }

  void end(const train::Run& run) const {
    if (loss_.count() == 0) return;
    const Budget budget = run.device().budget();
    ChartOptions options{.columns = std::min(columns_of(out_), kWidest),
                         .plain = !can_redraw(out_) || !is_utf8_locale()};
    std::string text = fmt::format("\nloss: {:.4f} after the first step, {:.4f} after the last\n",
                                   loss_.first(), loss_.last());
    text += draw(loss_, options);
    text += fmt::format("\nmemory in use: at most {} of a budget of {}{}\n",
                        format_bytes(budget.peak()), format_bytes(limit_),
                        moved_ ? ", which was moved while the run went on" : "");
    options.rows = 5;
    options.top = static_cast<double>(limit_);
    options.peaks = true;
    options.label = bytes_text;
    text += draw(held_, options);
    // Nobody's training ends because what it says cannot be written.
    (void)std::fputs(text.c_str(), out_);
    (void)std::fflush(out_);
  }

 private:
  std::FILE* out_;
  Series loss_;
  Series held_;
  Bytes limit_ = 0;  ///< the highest there was
  bool moved_ = false;
};

}  // namespace

train::Callback chart(std::FILE* out) {
  const auto charts = std::make_shared<Charts>(out);
  return {.on_step = [charts](train::Run& run) { charts->step(run); },
          .on_end = [charts](train::Run& run) { charts->end(run); },
          .numbers_only = true};
}

}  // namespace plimsoll::report
