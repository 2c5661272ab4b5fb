#pragma once

#include <string>

#include <plimsoll/train/training_plan.h>

namespace plimsoll::report {

struct PlanPictureOptions {
  int width = 720;  ///< pixels
  int height = 260;
};

/// What a plan holds over one training step, as an SVG element for notebooks and pages: stacked by
/// tag, op by op, with the budget as a line. Of a batch that is split it shows the first part. It
/// asks nothing of any network, and its text is in the colour of the page around it.
std::string plan_svg(const train::TrainingPlan& plan, const PlanPictureOptions& options = {});

}  // namespace plimsoll::report
