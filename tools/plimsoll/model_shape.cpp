// What a trained model was made with.

#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/models.h>

#include "recommender_data.h"
#include "table_data.h"
#include "training_data.h"

namespace plimsoll::tools {

std::int64_t classes_of(const nn::Model& model) {
  graph::Tracer tracer;
  const TensorType target = model.target_type(1);
  const Tensor input = tracer.input("input", model.input_type(1));
  bind(tracer, model);
  const ops::DispatchScope dispatch(tracer);
  const ops::RandomScope random({});
  const Shape out = model(input).shape();
  bool last = true;
  for (int d = 0; d < target.shape.rank() && d < out.rank(); ++d) {
    last = last && out.dim(d) == target.shape.dim(d);
  }
  return out.rank() == 0 ? 1 : out.dim(last ? out.rank() - 1 : 1);
}

ModelShape shape_of(const nn::Model& model) {
  const TensorType input = model.input_type(1);
  if (is_recommender(model)) {
    const RecommenderTables tables = tables_of(model);
    return {tables.rows, {tables.bag}, false, {}};
  }
  const bool values = model.target_type(1).dtype == DType::f32;
  return {values ? 0 : classes_of(model), {input.shape.begin() + 1, input.shape.end()}, values, {}};
}

nn::Model shaped_model(const std::string& name, const ModelShape& shape, bool channels_last) {
  const auto& input = shape.input;
  if (shape.values && input.size() == 1) return value_model(input[0]);
  if (name == "mlp" && input.size() == 1) {
    return nn::mlp({.in = input[0], .classes = shape.classes});
  }
  return nn::make_model(name, {.classes = shape.classes,
                               .channels = input.size() == 3 ? input[0] : 0,
                               .size = input.empty() ? 0 : input.back(),
                               .channels_last = channels_last});
}

}  // namespace plimsoll::tools
