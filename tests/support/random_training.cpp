#include "support/random_training.h"
#include "support/own_device.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <plimsoll/data/map_function.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/plan/executor.h>

#include "support/toy_training.h"

namespace plimsoll::test {
namespace {

constexpr std::int64_t kClasses = 5;
constexpr std::int64_t kSteps = 2;

nn::Model small_model(const std::string& kind) {
  if (kind == "mlp") return nn::mlp({.in = 24, .hidden = {40, 40, 40}, .classes = kClasses});
  if (kind == "lenet") return nn::lenet({.classes = kClasses, .size = 12});
  if (kind == "resnet18") return nn::resnet18(kClasses, {.channels = 1, .size = 16});
  if (kind == "unet") {
    return nn::unet({.classes = kClasses, .channels = 1, .size = 16, .width = 4});
  }
  if (kind == "vit") {
    return nn::vit({.classes = kClasses,
                    .channels = 1,
                    .size = 16,
                    .patch = 4,
                    .features = 32,
                    .layers = 3,
                    .heads = 2,
                    .dropout = 0.1});
  }
  return nn::gpt2({.vocabulary = kClasses, .context = 12, .features = 32, .layers = 3, .heads = 2});
}

optim::Optimizer optimizer_named(const std::string& name) {
  if (name == "sgd") return optim::sgd({.lr = 0.01});
  if (name == "momentum") return optim::sgd({.lr = 0.01, .momentum = 0.9});
  if (name == "adam") return optim::adam();
  if (name == "adamw") return optim::adamw();
  return optim::rmsprop();
}

Shape row(const TensorType& batch) {
  const std::vector<std::int64_t> dims(batch.shape.begin() + 1, batch.shape.end());
  return Shape(std::span<const std::int64_t>(dims));
}

}  // namespace

data::Dataset any_data(const nn::Model& model, std::int64_t classes, std::int64_t count) {
  data::MapFunction make;
  make.name = "any_data";
  const TensorType in = model.input_type(1);
  const TensorType out = model.target_type(1);
  make.output = data::ElementSpec{
      true,
      {data::TensorSpec::of(in.dtype, row(in)), data::TensorSpec::of(out.dtype, row(out))},
      {"x", "y"}};
  const bool scalar = out.shape.rank() == 1;
  make.run = [=](const data::Element& element, data::MapContext& context) {
    const auto index = static_cast<std::uint64_t>(element[0].as<std::int64_t>());
    const auto label =
        static_cast<std::int64_t>(data::mix_ids(index, 7) % static_cast<std::uint64_t>(classes));
    Tensor x = context.output(0);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::uint64_t bits = data::mix_ids(index, static_cast<std::uint64_t>(i));
      if (is_floating(x.dtype())) {
        x.mutable_data<float>()[i] = static_cast<float>(bits >> 40) / static_cast<float>(1 << 24);
      } else {
        x.mutable_data<std::int64_t>()[i] = (label + i) % classes;
      }
    }
    if (scalar) return data::Element{x, label};
    Tensor y = context.output(1);
    for (std::int64_t i = 0; i < y.elements(); ++i) y.mutable_data<std::int64_t>()[i] = label;
    return data::Element{x, y};
  };
  return data::Dataset::range(count).map(make);
}

RandomTraining::RandomTraining(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto one_of = [&](const std::vector<std::string>& all) { return all[below(all.size())]; };
  kind = one_of({"mlp", "mlp", "lenet", "lenet", "vit", "gpt2", "unet", "resnet18"});
  batch = 1 + static_cast<std::int64_t>(below(kind == "resnet18" ? 6 : 32));
  optimizer = one_of({"sgd", "momentum", "adam", "adamw", "rmsprop"});
  options.precision = std::vector{DType::f32, DType::bf16, DType::f16}[below(3)];
  options.seed = below(1000);
  if (below(4) == 0) options.clip_norm = 1;
  if (below(6) == 0) options.clip_value = 0.5;
  if (below(4) == 0) options.moving_average = 0.99;
  if (below(4) == 0) options.accumulate = 1 + static_cast<std::int64_t>(below(4));
  options.allow_split = below(3) != 0;
  options.allow_split_batch_statistics = below(4) == 0;
  const double low = std::log2(kind == "resnet18" ? 48e6 : 500e3);
  const double high = std::log2(kind == "resnet18" ? 300e6 : 12e6);
  const double share = static_cast<double>(below(1 << 20)) / (1 << 20);
  budget = align_up(static_cast<Bytes>(std::exp2(low + share * (high - low))), 4096);
  text = fmt::format(
      "seed {}: {} batch {} {} {} clip {}/{} average {} accumulate {} split {}/{} budget {}", seed,
      kind, batch, optimizer, dtype_name(options.precision.compute), options.clip_norm,
      options.clip_value, options.moving_average, options.accumulate, options.allow_split,
      options.allow_split_batch_statistics, budget);
}

nn::Model RandomTraining::model() const { return small_model(kind); }

train::Trainer RandomTraining::trainer() const {
  return train::Trainer(model(), optimizer_named(optimizer), options);
}

data::Dataset RandomTraining::data(std::int64_t count) const {
  return any_data(model(), kClasses, count);
}

namespace {

/// Throws BudgetTooSmall before anything is trained, or trains and checks what was promised.
void run_within(const RandomTraining& config, Bytes budget, Bytes offload) {
  const Device device = test::own_cpu({.limit = budget});
  train::Trainer trainer = config.trainer();
  train::PlanRequest request{.batch = config.batch, .validation_batch = config.batch};
  if (offload != 0) {
    request.offload = offload;
    request.host = test::own_cpu({.limit = offload + MiB(8)});
  }
  const auto plan = trainer.plan(request, device);
  EXPECT_LE(plan.total(), budget) << config.text;
  const data::Dataset data = config.data(config.batch * kSteps).batch(config.batch);
  const auto result = trainer.fit(plan, data, data, {.epochs = 1});
  EXPECT_EQ(result.steps, kSteps) << config.text;
  EXPECT_EQ(result.planned_peak, result.measured_peak) << config.text;
  EXPECT_LE(result.charged_peak, budget) << config.text;
  if (offload == 0) return;
  EXPECT_LE(plan.pinned(), offload) << config.text;
  train::Trainer free = config.trainer();
  const Device ample = test::own_cpu();
  const auto roomy =
      free.plan({.batch = config.batch, .validation_batch = config.batch, .budget = GiB(1)}, ample);
  if (roomy.parts() != plan.parts()) return;
  const auto expected = free.fit(roomy, data, data, {.epochs = 1});
  EXPECT_EQ(result.losses, expected.losses) << config.text;
  EXPECT_EQ(result.history, expected.history) << config.text;
}

}  // namespace

bool check_random_training(std::uint64_t seed, Bytes offload) {
  const RandomTraining config(seed);
  try {
    run_within(config, config.budget, offload);
    return true;
  } catch (const BudgetTooSmall& error) {
    const Refusal refusal = parse_refusal(error.what());
    EXPECT_GT(refusal.budget, config.budget) << config.text << "\n" << error.what();
    EXPECT_GE(refusal.batch, 0) << config.text << "\n" << error.what();
    EXPECT_LT(refusal.batch, config.batch) << config.text << "\n" << error.what();
    try {
      run_within(config, refusal.budget, offload);
    } catch (const std::exception& again) {
      ADD_FAILURE() << config.text << "\n" << error.what() << "\nthen: " << again.what();
    }
    if (refusal.batch > 0) {
      RandomTraining smaller(seed);
      smaller.batch = refusal.batch;
      try {
        run_within(smaller, config.budget, offload);
      } catch (const std::exception& again) {
        ADD_FAILURE() << config.text << "\n" << error.what() << "\nthen: " << again.what();
      }
    }
  } catch (const std::exception& error) {
    ADD_FAILURE() << config.text << "\nin mid-run: " << error.what();
  }
  return false;
}

Bytes smallest_budget(train::Trainer trainer, std::int64_t batch, std::int64_t validation) {
  try {
    trainer.plan({.batch = batch, .validation_batch = validation},
                 test::own_cpu({.limit = KiB(256)}));
  } catch (const BudgetTooSmall& error) {
    return parse_refusal(error.what()).budget;
  }
  ADD_FAILURE() << "it fits 256 KiB";
  return KiB(256);
}

namespace {

/// Everything a training leaves behind, as bytes.
std::vector<std::uint8_t> left_by(train::Trainer& trainer) {
  std::vector<std::uint8_t> all;
  const auto add = [&](const Tensor& tensor) {
    const auto* const data = static_cast<const std::uint8_t*>(tensor.raw_data());
    all.insert(all.end(), data, data + tensor.nbytes());
  };
  for (const nn::Parameter& p : trainer.model().parameters()) add(p.tensor());
  for (const nn::Parameter& p : trainer.model().buffers()) add(p.tensor());
  for (const optim::State& s : trainer.optimizer().state()) add(s.tensor());
  return all;
}

/// Runs a phase with memory of its own beside the training's.
std::vector<float> run_checked(train::Trainer& trainer, const train::Phase& phase,
                               const data::Element& element) {
  std::map<std::string, Tensor> tensors;
  for (const nn::Parameter& p : trainer.model().parameters()) tensors[p.name()] = p.tensor();
  for (const nn::Parameter& p : trainer.model().buffers()) tensors[p.name()] = p.tensor();
  for (const optim::State& s : trainer.optimizer().state()) {
    tensors["optimizer." + s.name()] = s.tensor();
  }
  plan::Executor executor(*phase.steps.front(), tensors.begin()->second.device(),
                          {.check = true, .bind = [&](const graph::Value& value) {
                             const auto it = tensors.find(value.name);
                             return it == tensors.end() ? Tensor() : it->second;
                           }});
  const std::array feeds = {element[0].tensor(), element[1].tensor()};
  executor.run(feeds, {.seed = trainer.options().seed});
  std::vector<float> outputs;
  for (const Tensor& output : executor.outputs()) {
    const auto numbers = output.to_vector<float>();
    outputs.insert(outputs.end(), numbers.begin(), numbers.end());
  }
  return outputs;
}

}  // namespace

bool check_every_task(const std::function<train::Trainer()>& trainer, const data::Dataset& data,
                      std::int64_t batch) {
  const Bytes least = smallest_budget(trainer(), batch, batch);
  const data::Dataset batches = data.batch(batch);
  train::Trainer plain = trainer();
  const Device ample = test::own_cpu();
  const auto roomy = plain.plan({.batch = batch, .validation_batch = batch}, ample);
  const auto expected = plain.fit(roomy, batches.take(1), {.steps = 1});
  const train::Metrics metrics = plain.evaluate(roomy, batches.take(1));
  const std::vector<std::uint8_t> left = left_by(plain);
  plain.release();

  // The plan for the smallest budget, run beside weights that have room.
  train::Trainer checked = trainer();
  const auto tight =
      checked.plan({.batch = batch, .validation_batch = batch}, test::own_cpu({.limit = least}));
  EXPECT_LE(tight.range, roomy.range);
  checked.materialize(roomy);
  data::Pipeline pipeline(batches, ample);
  const data::Element element = *pipeline.next();
  checked.optimizer().begin_step();
  EXPECT_EQ(run_checked(checked, tight.phases.at(0), element).front(), expected.losses.front());
  EXPECT_TRUE(left_by(checked) == left) << "other weights or state";
  EXPECT_EQ(tight.phases.at(1).kind, train::Phase::Kind::validation);
  EXPECT_EQ(run_checked(checked, tight.phases.at(1), element).front(),
            static_cast<float>(metrics.at("loss")));
  return !tight.phases.front().steps.front()->measures.empty();
}

void check_budgets(const std::function<train::Trainer()>& trainer, const data::Dataset& data,
                   std::int64_t batch, std::int64_t steps, int budgets) {
  const train::PlanRequest request{.batch = batch};
  const Device ample = test::own_cpu({.limit = GiB(4)});
  const Bytes most = trainer().plan(request, ample).total();
  const Bytes least = smallest_budget(trainer(), batch);
  std::vector<float> expected;
  for (int i = 0; i < budgets; ++i) {
    const double share = static_cast<double>(i) / (budgets - 1);
    const Bytes limit =
        i + 1 == budgets
            ? least
            : least + static_cast<Bytes>((1 - share) * static_cast<double>(most - least));
    const Device device = test::own_cpu({.limit = limit});
    train::Trainer t = trainer();
    const auto plan = t.plan(request, device);
    EXPECT_EQ(plan.parts(), 1);
    const auto result = t.fit(plan, data.batch(batch).repeat(), {.steps = steps});
    EXPECT_EQ(result.planned_peak, result.measured_peak) << limit;
    EXPECT_LE(result.charged_peak, limit);
    if (expected.empty()) expected = result.losses;
    EXPECT_EQ(expected, result.losses) << "within " << limit << " bytes";
  }
}

}  // namespace plimsoll::test
