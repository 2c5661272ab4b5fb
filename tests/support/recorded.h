#pragma once

#include <functional>
#include <string>

#include <plimsoll/device/device.h>
#include <plimsoll/nn/model.h>

// Layers and functions beside what PyTorch computes: tests/nn/record writes
// tests/nn/recorded/FILE.safetensors, where a case CASE has its inputs as CASE.x.0, CASE.x.1, ...,
// its parameters and buffers as CASE.p.NAME, its outputs CASE.y.0, ..., weights CASE.dy.0, ... of
// the outputs in a sum, and the gradients of that sum by the floating inputs (CASE.dx.0, ...) and
// the parameters (CASE.dp.NAME).

namespace plimsoll::test {

/// While it lives, recorded inputs and parameters are read to `device`, which then computes; else
/// op_cases_device() does. `device` must outlive it. For one thread at a time.
class RecordedOn {
 public:
  explicit RecordedOn(const Device& device);
  RecordedOn(const RecordedOn&) = delete;
  RecordedOn& operator=(const RecordedOn&) = delete;
  ~RecordedOn();

 private:
  const Device* before_;
};

/// Any function of tensors.
using TensorsFunction = std::function<nn::Tensors(const nn::Tensors& inputs)>;

struct RecordedOptions {
  /// What f32 results may differ by, as a share of the largest value around; four times that on a
  /// GPU, which sums in another order.
  double share = 1e-5;
  /// Also run it in bf16 and f16 (layers: as a mixed-precision policy does), where this share may
  /// differ; 0: no.
  double narrow_share = 0.05;
  /// The least that counts as the largest value around: above 0 where a gradient is 0 but for
  /// rounding, as that of a bias which softmax takes away.
  double least = 0;
};

/// Outputs and gradients by the inputs are the recorded ones.
void expect_recorded(const std::string& file, const std::string& name,
                     const TensorsFunction& function, const RecordedOptions& options = {});
/// The same of a module, which takes its parameters and buffers from the file: all of them must be
/// there. Gradients by parameters are compared, too. `training`: the mode in which it is called.
void expect_recorded(const std::string& file, const std::string& name, const nn::Module& module,
                     const RecordedOptions& options = {}, bool training = true);
/// A tensor of the file, on the device that computes.
Tensor recorded_tensor(const std::string& file, const std::string& name);
/// CASE.x.0, CASE.x.1, ...
nn::Tensors recorded_inputs(const std::string& file, const std::string& name);

/// The gradients of the sum of all outputs, weighed unevenly, by each floating input are what
/// differences say, in f64. `inputs` that are floating must be f64.
void expect_gradients(const TensorsFunction& function, const nn::Tensors& inputs,
                      double share = 1e-6);

/// A trainer plans `model`, which has parameters, for batches of `inputs` (all of them have the
/// batch in front), and its two steps take the planned bytes; the first changes the loss of the
/// second.
void expect_trains(const nn::Model& model, const nn::Tensors& inputs, double rate = 0.01);

}  // namespace plimsoll::test
