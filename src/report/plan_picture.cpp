#include <plimsoll/report/plan_picture.h>

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/bytes.h>
#include <plimsoll/memory/tag.h>
#include <plimsoll/plan/timeline.h>

namespace plimsoll::report {
namespace {

/// By tag; told apart also where red and green are not.
constexpr std::array<const char*, kTagCount> kColours = {
    "#4e79a7", "#f28e2b", "#b07aa1", "#76b7b2", "#edc948", "#59a14f", "#8cd17d",
    "#d4a6c8", "#9c755f", "#86bcb6", "#d37295", "#bab0ac", "#79706e"};

constexpr std::size_t kMostColumns = 400;
constexpr double kTop = 28;
constexpr double kBottom = 46;
constexpr double kLeft = 8;
constexpr double kRight = 8;

using ByTag = std::array<double, kTagCount>;

std::size_t index(Tag tag) { return static_cast<std::size_t>(tag); }

/// Bytes by tag while each task runs.
std::vector<ByTag> held_by_task(const train::TrainingPlan& plan) {
  const plan::Timeline timeline = plan::timeline_of(*plan.phases.front().steps.front());
  const std::size_t count = std::max<std::size_t>(timeline.tasks.size(), 1);
  std::vector<ByTag> changes(count + 1, ByTag{});
  for (const plan::TimelineValue& each : timeline.values) {
    const auto from = static_cast<std::size_t>(std::max(each.from, 0));
    const auto to =
        std::min<std::size_t>(static_cast<std::size_t>(std::max(each.to, 0)) + 1, count);
    changes[std::min(from, count)][index(each.tag)] += static_cast<double>(each.bytes);
    changes[to][index(each.tag)] -= static_cast<double>(each.bytes);
  }
  ByTag now{};
  for (const train::PackedBlock& each : plan.blocks) {
    now[index(each.tag)] += static_cast<double>(each.bytes);
  }
  now[index(Tag::workspace)] += static_cast<double>(plan.workspace);
  now[index(Tag::runtime)] += static_cast<double>(plan.runtime + plan.heap + plan.others);
  now[index(Tag::input)] += static_cast<double>(plan.input);
  std::vector<ByTag> held;
  for (std::size_t task = 0; task < count; ++task) {
    for (std::size_t tag = 0; tag < kTagCount; ++tag) now[tag] += changes[task][tag];
    held.push_back(now);
  }
  return held;
}

double total(const ByTag& held) {
  double sum = 0;
  for (const double each : held) sum += each;
  return sum;
}

/// At most so many that a picture can show: of neighbours the one with most.
std::vector<ByTag> thinned(const std::vector<ByTag>& all) {
  if (all.size() <= kMostColumns) return all;
  std::vector<ByTag> some;
  for (std::size_t i = 0; i < kMostColumns; ++i) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * all.size() / kMostColumns);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>((i + 1) * all.size() / kMostColumns);
    some.push_back(*std::max_element(
        begin, end, [](const ByTag& a, const ByTag& b) { return total(a) < total(b); }));
  }
  return some;
}

std::string size_text(double bytes) { return format_bytes(static_cast<Bytes>(bytes)); }

}  // namespace

std::string plan_svg(const train::TrainingPlan& plan, const PlanPictureOptions& options) {
  const std::vector<ByTag> tasks = held_by_task(plan);
  const std::vector<ByTag> columns = thinned(tasks);
  const ByTag& peak =
      *std::max_element(columns.begin(), columns.end(),
                        [](const ByTag& a, const ByTag& b) { return total(a) < total(b); });
  // A budget far above what is held would leave nothing to see: it is then said, not drawn.
  const bool limited = plan.budget > 0 && plan.budget < kUnlimited;
  const bool drawn = limited && static_cast<double>(plan.budget) < 3 * total(peak);
  const double top = 1.05 * std::max(total(peak), drawn ? static_cast<double>(plan.budget) : 0.0);
  const double width = options.width - kLeft - kRight;
  const double height = options.height - kTop - kBottom;
  const auto x = [&](std::size_t column) {
    return kLeft + width * static_cast<double>(column) / static_cast<double>(columns.size());
  };
  const auto y = [&](double bytes) { return kTop + height * (1 - bytes / top); };

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{}\" height=\"{}\" "
      "viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">"
      "<title>Memory over a training step</title>"
      "<text x=\"{}\" y=\"16\">One step of a batch of {}: {} at its peak, {} ops</text>",
      options.width, options.height, options.width, options.height, kLeft, plan.batch(),
      size_text(total(peak)), tasks.size());
  std::vector<double> below(columns.size(), 0);
  for (std::size_t tag = 0; tag < kTagCount; ++tag) {
    std::string upper;
    std::string lower;
    bool any = false;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      any = any || columns[i][tag] > 0;
      const std::string under = fmt::format("L{:.1f} {:.1f}", x(i), y(below[i]));
      const std::string under_end = fmt::format("L{:.1f} {:.1f}", x(i + 1), y(below[i]));
      lower.insert(0, under_end + under);
      below[i] += columns[i][tag];
      upper += fmt::format("{}{:.1f} {:.1f}L{:.1f} {:.1f}", i == 0 ? 'M' : 'L', x(i), y(below[i]),
                           x(i + 1), y(below[i]));
    }
    if (any) {
      svg += fmt::format("<path d=\"{}{}Z\" fill=\"{}\"><title>{}: {}</title></path>", upper, lower,
                         kColours[tag], kTagNames[tag], size_text(peak[tag]));
    }
  }
  if (limited) {
    const double line = drawn ? y(static_cast<double>(plan.budget)) : kTop - 8;
    if (drawn) {
      svg += fmt::format(
          "<path d=\"M{} {:.1f}H{:.1f}\" stroke=\"currentColor\" stroke-dasharray=\"5 3\" "
          "fill=\"none\"/>",
          kLeft, line, kLeft + width);
    }
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">budget {}{}</text>",
                       kLeft + width, line - 4, size_text(static_cast<double>(plan.budget)),
                       drawn ? "" : ", far above");
  }
  double at = kLeft;
  double row = options.height - kBottom + 18;
  for (std::size_t tag = 0; tag < kTagCount; ++tag) {
    if (peak[tag] <= 0) continue;
    const std::string text = fmt::format("{} {}", kTagNames[tag], size_text(peak[tag]));
    const double wide = 18 + 6.6 * static_cast<double>(text.size());
    if (at + wide > options.width && at > kLeft) {
      at = kLeft;
      row += 17;
    }
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\"/><text "
        "x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>",
        at, row - 9, kColours[tag], at + 14, row, text);
    at += wide;
  }
  return svg + "</svg>";
}

}  // namespace plimsoll::report
