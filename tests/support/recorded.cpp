#include "support/recorded.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/train/trainer.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/own_device.h"
#include "support/recorded_file.h"
#include "support/source_dir.h"

namespace plimsoll::test {
namespace {

const RecordedFile& open(const std::string& name) {
  static std::map<std::string, std::unique_ptr<RecordedFile>> files;
  std::unique_ptr<RecordedFile>& file = files[name];
  if (file == nullptr) {
    file = std::make_unique<RecordedFile>(
        fmt::format("{}/nn/recorded/{}.safetensors", test_source_dir().string(), name));
  }
  return *file;
}

const Device*& chosen() {
  static const Device* device = nullptr;
  return device;
}

const Device& device() { return chosen() != nullptr ? *chosen() : op_cases_device(); }

bool on_host() { return device().capabilities().host_memory; }

bool has(const std::string& file, const std::string& name) { return open(file).has(name); }

/// Those that are there of NAME.0, NAME.1, ...; undefined ones between them are not.
nn::Tensors numbered(const std::string& file, const std::string& name) {
  nn::Tensors all;
  while (has(file, fmt::format("{}.{}", name, all.size()))) {
    all.push_back(recorded_tensor(file, fmt::format("{}.{}", name, all.size())));
  }
  return all;
}

/// The outputs, weighed and summed.
Tensor weighed_outputs(const nn::Tensors& outputs, const nn::Tensors& weights) {
  Tensor total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor wide = ops::cast(outputs.at(i), weights[i].dtype());
    const Tensor part = ops::sum(ops::mul(wide, weights[i]));
    total = total.defined() ? ops::add(total, part) : part;
  }
  return total;
}

/// What differences may be, and which run this is.
struct Tolerance {
  double share;
  double least;
  std::string what;
};

Tolerance wide_tolerance(const RecordedOptions& options) {
  return {options.share * (on_host() ? 1 : 4), options.least, "f32"};
}

Tolerance narrow_tolerance(const RecordedOptions& options, DType dtype) {
  return {options.narrow_share, options.least, std::string(dtype_name(dtype))};
}

void expect_near_recorded(const std::string& file, const std::string& name, const Tensor& actual,
                          const Tolerance& tolerance) {
  const std::string& what = tolerance.what;
  const Tensor expected = open(file).read(name, op_cases_device());
  if (!actual.defined()) {
    // Nothing depends on it.
    for (const double value : as_doubles(expected)) ASSERT_EQ(value, 0) << what << ": " << name;
    return;
  }
  ASSERT_EQ(actual.shape(), expected.shape()) << what << ": " << name;
  const std::vector<double> values = as_doubles(expected);
  // expect_near() takes a share of the largest, which it takes to be 1e-3 at least.
  double largest = 1e-3;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const double share = tolerance.share * std::max(1.0, tolerance.least / largest);
  const Tensor here = on_host() ? actual : actual.clone(op_cases_device(), {});
  expect_near(as_doubles(here), values, share, what + ": " + name);
}

void compare(const std::string& file, const std::string& name, const TensorsFunction& function,
             const std::vector<Variable>& variables, const Tolerance& tolerance) {
  const nn::Tensors inputs = recorded_inputs(file, name);
  std::vector<Tensor> sources;
  for (const Tensor& x : inputs) {
    if (is_floating(x.dtype())) sources.push_back(x);
  }
  for (const Variable& variable : variables) sources.push_back(variable.tensor());
  ops::GradientTape tape;
  tape.watch(sources);
  const nn::Tensors outputs = function(inputs);
  const Tensor target = weighed_outputs(outputs, numbered(file, name + ".dy"));
  const std::vector<Tensor> gradients = tape.gradient(target, sources);
  for (std::size_t i = 0; has(file, fmt::format("{}.y.{}", name, i)); ++i) {
    ASSERT_LT(i, outputs.size()) << tolerance.what;
    expect_near_recorded(file, fmt::format("{}.y.{}", name, i), outputs[i], tolerance);
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype())) continue;
    const std::string recorded = fmt::format("{}.dx.{}", name, i);
    if (has(file, recorded)) {
      expect_near_recorded(file, recorded, gradients[next], tolerance);
    }
    ++next;
  }
  for (const Variable& variable : variables) {
    expect_near_recorded(file, fmt::format("{}.dp.{}", name, variable.name()), gradients[next++],
                         tolerance);
  }
}

}  // namespace

RecordedOn::RecordedOn(const Device& device) : before_(std::exchange(chosen(), &device)) {}
RecordedOn::~RecordedOn() { chosen() = before_; }

Tensor recorded_tensor(const std::string& file, const std::string& name) {
  return open(file).read(name, device());
}

nn::Tensors recorded_inputs(const std::string& file, const std::string& name) {
  return numbered(file, name + ".x");
}

void expect_recorded(const std::string& file, const std::string& name,
                     const TensorsFunction& function, const RecordedOptions& options) {
  SCOPED_TRACE(file + " " + name);
  compare(file, name, function, {}, wide_tolerance(options));
  if (options.narrow_share == 0) return;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const auto narrow = [&](const nn::Tensors& inputs) {
      nn::Tensors cast;
      for (const Tensor& x : inputs) {
        cast.push_back(is_floating(x.dtype()) ? ops::cast(x, dtype) : x);
      }
      return function(cast);
    };
    compare(file, name, narrow, {}, narrow_tolerance(options, dtype));
  }
}

void expect_recorded(const std::string& file, const std::string& name, const nn::Module& module,
                     const RecordedOptions& options, bool training) {
  SCOPED_TRACE(file + " " + name);
  const auto run = [&](const nn::Tensors& inputs) { return module(inputs); };
  {
    std::vector<TensorType> types;
    for (const Tensor& x : recorded_inputs(file, name)) types.push_back(x.type());
    module.build(std::span<const TensorType>(types));
  }
  const auto load = [&] {
    module.materialize(device(), 1);
    for (const auto& all : {module.parameters(), module.buffers()}) {
      for (const nn::Parameter& p : all) {
        Tensor tensor = p.tensor();
        open(file).read_into(fmt::format("{}.p.{}", name, p.name()), tensor);
      }
    }
  };
  module.train(training);
  load();
  compare(file, name, run, module.trainable_variables(), wide_tolerance(options));
  for (const nn::Parameter& buffer : module.buffers()) {
    const std::string after = fmt::format("{}.after.{}", name, buffer.name());
    if (has(file, after)) {
      expect_near_recorded(file, after, buffer.tensor(), wide_tolerance(options));
    }
  }
  if (options.narrow_share == 0) return;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    load();
    const ops::PrecisionScope precision(dtype);
    compare(file, name, run, module.trainable_variables(), narrow_tolerance(options, dtype));
  }
}

void expect_gradients(const TensorsFunction& function, const nn::Tensors& inputs, double share) {
  // Weights of the outputs that differ from element to element.
  const auto target = [&](const nn::Tensors& x) {
    Tensor total;
    std::uint64_t seed = 7;
    for (const Tensor& y : function(x)) {
      if (!is_floating(y.dtype())) continue;
      const Tensor part = ops::sum(ops::mul(y, random_tensor(y.shape(), seed++, y.dtype())));
      total = total.defined() ? ops::add(total, part) : part;
    }
    return total;
  };
  ops::GradientTape tape;
  std::vector<Tensor> sources;
  for (const Tensor& x : inputs) {
    if (is_floating(x.dtype())) sources.push_back(x);
  }
  tape.watch(sources);
  const std::vector<Tensor> gradients = tape.gradient(target(inputs), sources);
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype())) continue;
    const Tensor& gradient = gradients[next++];
    ASSERT_TRUE(gradient.defined()) << "input " << i;
    const std::vector<double> values = as_doubles(inputs[i]);
    std::vector<double> differences;
    constexpr double kStep = 1e-5;
    for (std::size_t e = 0; e < values.size(); ++e) {
      double sides = 0;
      for (const double sign : {1.0, -1.0}) {
        std::vector<double> moved = values;
        moved[e] += sign * kStep;
        nn::Tensors at = inputs;
        at[i] = from_doubles(moved, inputs[i].shape(), inputs[i].dtype());
        sides += sign * as_doubles(target(at)).front();
      }
      differences.push_back(sides / (2 * kStep));
    }
    expect_near(as_doubles(gradient), differences, share, fmt::format("gradient of input {}", i));
  }
}

void expect_trains(const nn::Model& model, const nn::Tensors& inputs, double rate) {
  const Device own = own_cpu({.limit = MiB(256)});
  std::vector<Tensor> components;
  for (const Tensor& x : inputs) components.push_back(x.to(own));
  const std::int64_t n = inputs.front().dim(0);
  components.push_back(Tensor::zeros({n}, DType::f32, own));
  model.train();
  model.release();
  train::Trainer trainer(
      model, {.loss =
                  [](const nn::Tensors& outputs, const nn::Tensors&) {
                    return ops::mean(ops::square(ops::cast(outputs.front(), DType::f32)));
                  },
              .optimizer = optim::sgd({.lr = rate}),
              .device = own});
  const train::FitResult result =
      trainer.fit(data::Dataset::from_tensor_slices(components).batch(n), {.epochs = 2});
  EXPECT_EQ(result.planned_peak, result.measured_peak);
  ASSERT_EQ(result.losses.size(), 2U);
  EXPECT_TRUE(std::isfinite(result.losses[1]));
  EXPECT_NE(result.losses[0], result.losses[1]);
}

}  // namespace plimsoll::test
