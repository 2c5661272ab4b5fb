#pragma once

// Everything a program needs that uses Plimsoll. Each part has a header of its own, too.

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/layout.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/run_log.h>
#include <plimsoll/base/shape.h>
#include <plimsoll/base/text.h>
#include <plimsoll/base/version.h>
#include <plimsoll/data/augment.h>
#include <plimsoll/data/dataset.h>
#include <plimsoll/data/declare.h>
#include <plimsoll/data/digits.h>
#include <plimsoll/data/needs.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/data/program.h>
#include <plimsoll/data/program_function.h>
#include <plimsoll/data/program_ops.h>
#include <plimsoll/data/record_writer.h>
#include <plimsoll/data/symbolic.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/device/device.h>
#include <plimsoll/function/function.h>
#include <plimsoll/function/scan.h>
#include <plimsoll/math/arrange.h>
#include <plimsoll/math/einsum.h>
#include <plimsoll/math/index.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/budget.h>
#include <plimsoll/memory/ledger.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/memory/tag.h>
#include <plimsoll/nn/nn.h>
#include <plimsoll/ops/clip.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/create.h>
#include <plimsoll/ops/ctc.h>
#include <plimsoll/ops/cumulative.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/gated.h>
#include <plimsoll/ops/linalg.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/recurrent_cells.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/reduce_axis.h>
#include <plimsoll/ops/rope.h>
#include <plimsoll/ops/seed.h>
#include <plimsoll/ops/shape_lists.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/variable.h>
#include <plimsoll/optim/adaptive.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/optim/weight_average.h>
#include <plimsoll/plan/device_description.h>
#include <plimsoll/plan/plan.h>
#include <plimsoll/report/as_run.h>
#include <plimsoll/report/chart.h>
#include <plimsoll/report/exports.h>
#include <plimsoll/report/html.h>
#include <plimsoll/report/live.h>
#include <plimsoll/report/progress.h>
#include <plimsoll/report/run.h>
#include <plimsoll/tensor/dlpack.h>
#include <plimsoll/tensor/print.h>
#include <plimsoll/tensor/tensor.h>
#include <plimsoll/train/callbacks.h>
#include <plimsoll/train/checkpoint.h>
#include <plimsoll/train/choices_file.h>
#include <plimsoll/train/control.h>
#include <plimsoll/train/precision.h>
#include <plimsoll/train/reduce_on_plateau.h>
#include <plimsoll/train/safetensors.h>
#include <plimsoll/train/step.h>
#include <plimsoll/train/trainer.h>

namespace plimsoll {

// Ops and what most programs use are pm::relu and pm::Trainer, without a further name.
using namespace ops;   // NOLINT: this header is for programs, and pm:: is theirs
using namespace math;  // NOLINT: as above
// As pm::f32 and pm::bf16, which train/precision.h has.
using DType::f64;
using DType::i16;
using DType::i32;
using DType::i64;
using DType::i8;
using DType::u16;
using DType::u8;
// The functions of ops beside those of ops/create.h, which would hide them.
using data::Dataset;
using data::Pipeline;
using data::Program;
using data::Symbolic;
using data::Symbolics;
using ops::arange;
using ops::full;
using ops::random_normal;
using ops::random_uniform;
using train::Callback;
using train::FitOptions;
using train::Run;
using train::Trainer;
using train::TrainerOptions;

}  // namespace plimsoll
