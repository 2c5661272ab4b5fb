#pragma once

// One function for each file of bindings, called once when the module is imported.

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace plimsoll::python {

void bind_memory(nb::module_& m);
void bind_device(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_create(nb::module_& m);
void bind_exchange(nb::module_& m);
void bind_elementwise(nb::module_& m);
void bind_reduce(nb::module_& m);
void bind_shape_ops(nb::module_& m);
void bind_layer_ops(nb::module_& m);
void bind_tape(nb::module_& m);
void bind_function(nb::module_& m);
void bind_module(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_transformer(nb::module_& m);
void bind_models(nb::module_& m);
void bind_optim(nb::module_& m);
void bind_updates(nb::module_& m);
void bind_row_losses(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_train_parts(nb::module_& m);
void bind_trainer(nb::module_& m);
void bind_checkpoint(nb::module_& m);
void bind_dataset(nb::module_& m);
void bind_map(nb::module_& m);
void bind_pipeline(nb::module_& m);
void bind_program(nb::module_& m);
void bind_image(nb::module_& m);
void bind_compat(nb::module_& m);
void bind_program_calls(nb::module_& m);
void bind_stages(nb::module_& m);
void bind_mistakes(nb::module_& m);

}  // namespace plimsoll::python
