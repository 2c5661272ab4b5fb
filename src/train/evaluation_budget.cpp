// A limit that is enough to use a model without training it.

#include <plimsoll/plan/planner.h>

#include "train/layout.h"
#include "train/plan_search.h"

namespace plimsoll::train {
namespace {

/// Pages that are not full: of small and of large blocks, each of weights, of the step, of its
/// results, and of the input.
constexpr Bytes kPartlyUsedPages = 8;

Bytes bytes_of(const std::vector<nn::Parameter>& all) {
  Bytes bytes = 0;
  for (const nn::Parameter& each : all) bytes += align_up(each.type().bytes(), kAlignment);
  return bytes;
}

}  // namespace

Bytes Trainer::enough_for(Use use, std::int64_t n, std::optional<Bytes> decode) const {
  const Impl& impl = *impl_;
  const Device device = impl.device();
  const Batch batch = impl.batch(n);
  plan::PlanOptions options;
  options.device = plan::describe_device(device);
  options.device.page_size = 1;  // counted below
  const bool channels_last = options.device.capabilities.channels_last;
  const std::shared_ptr<const graph::Graph> graph =
      use == Use::evaluate
          ? trace_evaluation(impl.minimised(), impl.options.precision, channels_last, batch).graph
          : trace_prediction(impl.model, impl.options.precision, channels_last, batch.inputs);
  plan::Planner planner(graph, options);
  Bytes bytes = options.device.runtime + options.device.workspace + planner.smallest().range +
                bytes_of(impl.model.parameters()) + bytes_of(impl.model.buffers());
  // Where they are computed, the caller's copy, and what the caller makes of it.
  for (const graph::ValueId output : graph->outputs()) {
    bytes += 3 * align_up(graph->value(output).type.bytes(), kAlignment);
  }
  for (const TensorType& input : batch.inputs) bytes += align_up(input.bytes(), kAlignment);
  if (decode) bytes += input_of(impl, {.batch = n, .decode = *decode});
  // Larger limits have larger pages: the limit must be enough with its own.
  Bytes limit = budget_unit_up(bytes);
  for (;;) {
    const Bytes page = device.capabilities().host_memory ? device.page_size(limit)
                                                         : device.arena().source()->page_size();
    const Bytes needed = budget_unit_up(bytes + kPartlyUsedPages * page);
    if (needed <= limit) return limit;
    limit = needed;
  }
}

}  // namespace plimsoll::train
