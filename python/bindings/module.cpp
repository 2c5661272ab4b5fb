// plimsoll._core: what the package plimsoll is made of.
#include <nanobind/nanobind.h>

#include "bind.h"
#include "bind_parts.h"
#include "errors.h"
#include "process.h"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  namespace python = plimsoll::python;
  // Objects that live at the interpreter's end are its last references' business, not leaks.
  nb::set_leak_warnings(false);
  python::bind_errors(m);
  python::bind_process(m);
  python::bind_memory(m);
  python::bind_device(m);
  python::bind_tensor(m);
  python::bind_create(m);
  python::bind_program(m);  // before the ops: its overloads are looked at first
  python::bind_image(m);
  nb::module_ image = m.def_submodule("_image");
  python::bind_augment(image);
  python::bind_augment_more(image);
  python::bind_exchange(m);
  python::bind_elementwise(m);
  python::bind_reduce(m);
  python::bind_shape_ops(m);
  python::bind_tape(m);
  python::bind_function(m);
  python::bind_module(m);
  nb::module_ nn = m.def_submodule("_nn");
  python::bind_layers(m);
  python::bind_activations(m, nn);
  python::bind_layers1d(m, nn);
  python::bind_volumes(m);
  python::bind_norms(m, nn);
  python::bind_recurrent(m);
  python::bind_attention(m, nn);
  python::bind_losses(nn);
  python::bind_metrics(m, nn);
  python::bind_math(m);
  python::bind_index_ops(m);
  python::bind_transformer(m);
  python::bind_layer_ops(m);
  python::bind_models(m);
  python::bind_model_families(m);
  python::bind_optim(m);
  python::bind_updates(m);
  python::bind_row_losses(m);
  python::bind_optimizers(m);
  python::bind_plan(m);
  python::bind_train_parts(m);
  python::bind_trainer(m);
  python::bind_checkpoint(m);
  python::bind_dataset(m);
  python::bind_map(m);
  python::bind_pipeline(m);
  python::bind_compat(m);
  python::bind_program_calls(m);
  python::bind_stages(m);
  nb::module_ records = m.def_submodule("_records");
  python::bind_records(records);
  nb::module_ stages = m.def_submodule("_stages");
  python::bind_mixing(stages);
  nb::module_ plans = m.def_submodule("_plan");
  python::bind_placement(plans);
  nb::module_ reports = m.def_submodule("_report");
  python::bind_report(m, reports);
  python::bind_callbacks(m);
  python::bind_cuda_interface(m);
  python::bind_logging(m);
  python::bind_mistakes(m);
}
