// `plimsoll generate`: goes on writing in the manner of the text that a model was trained on.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>

#include "command_line.h"
#include "commands.h"
#include "mistakes.h"
#include "text_data.h"
#include "trained_model.h"

namespace plimsoll::tools {
namespace {

constexpr const char* kGenerateFooter =
    "Examples:\n"
    "  plimsoll train --model gpt2_tiny --data book.txt --epochs 5 --checkpoints run\n"
    "  plimsoll generate run --prompt \"It was\" --length 400\n"
    "  plimsoll generate run --temperature 0.5 --seed 7";

struct GenerateOptions : TrainedOptions {
  std::string prompt = "\n";
  std::int64_t length = 200;
  double temperature = 0.8;
};

/// The byte that comes next, drawn as the model thinks likely; the likeliest at temperature 0.
int next_token(const std::vector<float>& logits, double temperature, std::mt19937_64& random) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (temperature <= 0) return static_cast<int>(best - logits.begin());
  std::vector<double> weights;
  for (const float each : logits) weights.push_back(std::exp((each - *best) / temperature));
  return std::discrete_distribution<int>(weights.begin(), weights.end())(random);
}

void generate(const GenerateOptions& o) {
  const Trained trained = load_trained(o);
  const TensorType input_type = trained.trainer->model().input_type(1);
  const std::int64_t tokens_known = shape_of(trained.trainer->model()).classes;
  if (input_type.dtype != DType::i64 || input_type.shape.rank() != 2) {
    throw InvalidArgument(fmt::format(
        "generate: {} is not a language model; train one with `plimsoll train --model gpt2_tiny "
        "--data book.txt --checkpoints run`",
        o.model));
  }
  if (tokens_known != kTextTokens) {
    throw InvalidArgument(fmt::format(
        "generate: the model has {} tokens, and it writes bytes, which are {}; train it on a .txt "
        "file",
        tokens_known, kTextTokens));
  }
  const std::int64_t context = input_type.shape.dim(1);
  std::mt19937_64 random(o.seed);
  std::string text = o.prompt;
  fmt::print("{}", text);
  for (std::int64_t i = 0; i < o.length; ++i) {
    // What follows the text is not looked at.
    const std::size_t used = std::min(text.size(), static_cast<std::size_t>(context));
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(context), 0);
    for (std::size_t k = 0; k < used; ++k) {
      tokens[k] = static_cast<unsigned char>(text[text.size() - used + k]);
    }
    const Tensor input = Tensor::from_values(std::span<const std::int64_t>(tokens),
                                             Shape{1, context}, trained.device);
    const Tensor logits = trained.trainer->predict(input);
    const Tensor last = logits.select(0, 0).select(0, static_cast<std::int64_t>(used) - 1);
    const int token =
        next_token(ops::cast(last, DType::f32).to_vector<float>(), o.temperature, random);
    text.push_back(static_cast<char>(token));
    std::fputc(token, stdout);
    std::fflush(stdout);
  }
  fmt::print("\n");
}

}  // namespace

void add_generate(Command& app) {
  Command* const command =
      app.add_subcommand("generate", "Write text with a trained language model")
          ->footer(kGenerateFooter);
  const auto o = std::make_shared<GenerateOptions>();
  add_trained_options(*command, *o);
  command->add_option("--data", o->data)->hide();
  command->add_option("--prompt", o->prompt, "The text to continue; default: a new line");
  command->add_option("--length", o->length, "Bytes to write")->check(is_count)->show_default();
  command
      ->add_option("--temperature", o->temperature,
                   "0 takes the most likely byte; larger values are more varied")
      ->check(is_not_negative)
      ->show_default();
  command->add_option("--seed", o->seed, "Seed of the choices; default: as in training")
      ->check(is_count_or_zero);
  command->callback([command, o] {
    if (o->prompt.empty()) throw InvalidArgument("--prompt is empty; give a byte or more");
    restore_options(*command, *o);
    within_budget(
        *o, "generate", [&] { generate(*o); }, [](const nn::Model&) { return TrainedUse(); });
  });
}

}  // namespace plimsoll::tools
