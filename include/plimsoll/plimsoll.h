#pragma once

// Everything a program needs that uses Plimsoll. Each part has a header of its own, too.

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/shape.h>
#include <plimsoll/base/version.h>
#include <plimsoll/data/dataset.h>
#include <plimsoll/data/digits.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/device/device.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/budget.h>
#include <plimsoll/memory/ledger.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/memory/tag.h>
#include <plimsoll/nn/nn.h>
#include <plimsoll/ops/clip.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/tensor/dlpack.h>
#include <plimsoll/tensor/tensor.h>
#include <plimsoll/train/checkpoint.h>
#include <plimsoll/train/precision.h>
#include <plimsoll/train/safetensors.h>
#include <plimsoll/train/step.h>
