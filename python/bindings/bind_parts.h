#pragma once

// Files of bindings beyond those of bind.h: more of what a folder of the library has. `nn`, `image`
// and so on are modules within plimsoll._core, whose names are those of the package's own modules.

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace plimsoll::python {

void bind_activations(nb::module_& m, nb::module_& nn);
void bind_layers1d(nb::module_& m, nb::module_& nn);
void bind_volumes(nb::module_& m);
void bind_norms(nb::module_& m, nb::module_& nn);
void bind_recurrent(nb::module_& m);
void bind_attention(nb::module_& m, nb::module_& nn);
void bind_losses(nb::module_& nn);
void bind_metrics(nb::module_& m, nb::module_& nn);
void bind_model_families(nb::module_& m);
void bind_optimizers(nb::module_& m);
void bind_math(nb::module_& m);
void bind_index_ops(nb::module_& m);
void bind_augment(nb::module_& image);
void bind_augment_more(nb::module_& image);
void bind_records(nb::module_& records);
void bind_mixing(nb::module_& stages);
void bind_callbacks(nb::module_& m);
void bind_cuda_interface(nb::module_& m);
void bind_logging(nb::module_& m);
void bind_placement(nb::module_& plans);
void bind_report(nb::module_& m, nb::module_& reports);

}  // namespace plimsoll::python
