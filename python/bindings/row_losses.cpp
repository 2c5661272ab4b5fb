// Cross-entropies of each row, and other ops that compatible layers are made of.
#include <plimsoll/ops/softmax.h>

#include "bind.h"
#include "convert.h"
#include "process.h"

namespace plimsoll::python {

void bind_row_losses(nb::module_& m) {
  m.def(
      "_cross_entropy_rows",
      [](nb::handle logits, nb::handle labels) {
        const Tensor given = as_tensor(logits, {"cross_entropy_rows", "logits"});
        const Tensor wanted = as_tensor(labels, {"cross_entropy_rows", "labels"});
        const Unlocked unlocked;
        return ops::cross_entropy(given, wanted);
      },
      nb::arg("logits"), nb::arg("labels"),
      nb::sig("def _cross_entropy_rows(logits: Tensor, labels: Tensor) -> Tensor"));
  m.def(
      "_cross_entropy_dense_rows",
      [](nb::handle logits, nb::handle targets) {
        const Tensor given = as_tensor(logits, {"cross_entropy_dense_rows", "logits"});
        const Tensor wanted = as_tensor(targets, {"cross_entropy_dense_rows", "targets"});
        const Unlocked unlocked;
        return ops::cross_entropy_dense(given, wanted);
      },
      nb::arg("logits"), nb::arg("targets"),
      nb::sig("def _cross_entropy_dense_rows(logits: Tensor, targets: Tensor) -> Tensor"));
}

}  // namespace plimsoll::python
