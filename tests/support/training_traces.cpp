#include "support/training_traces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "support/training_run.h"

namespace plimsoll::testing {
namespace {

/// What every kind starts from.
struct Setting {
  explicit Setting(std::uint64_t seed) : random(seed * 0x9E3779B97F4A7C15u + 1) {}
  Random random;
  TraceBuilder builder;
};

/// Batches of one size, the last of every epoch smaller.
std::function<Work()> epochs_of(int steps, double samples, double rest, double length = 1) {
  return [=, step = 0]() mutable { return Work{++step % steps == 0 ? rest : samples, length}; };
}

/// Lengths between `low` and `high`, drawn for every batch; `tokens` a batch where that is set.
std::function<Work()> varied(Random& random, double samples, std::uint64_t low, std::uint64_t high,
                             double tokens = 0) {
  return [=, &random]() {
    const auto length = static_cast<double>(random.between(low, high));
    return Work{tokens > 0 ? std::max(1.0, std::floor(tokens / length)) : samples, length};
  };
}

Trace cnn(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, resnet(s.random, 1, 64), {.optimizer_states = 1},
                  epochs_of(20, 64, static_cast<double>(s.random.between(1, 63))));
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int step = 0; step < 20; ++step) run.train();
    run.validate({100, 1}, 5);
    run.validate({37, 1}, 1);
    run.checkpoint(MiB(64));
  }
  return s.builder.finish();
}

Trace cnn_kept_gradients(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, resnet(s.random, 2, 96),
                  {.optimizer_states = 2,
                   .keep_gradients = true,
                   .grouped_update = true,
                   .half_copies = true,
                   .prefetch = 4},
                  epochs_of(12, 32, 7));
  for (int step = 0; step < 48; ++step) {
    run.train();
    if (step == 17) run.start_average();
    if (step % 12 == 11) run.validate({50, 1.3}, 4);
    if (step % 16 == 15) run.checkpoint(GiB(4));
  }
  return s.builder.finish();
}

Trace cnn_resolutions(std::uint64_t seed) {
  Setting s(seed);
  const std::array<double, 6> scales = {0.33, 0.51, 0.73, 1.0, 1.31, 1.65};
  TrainingRun run(s.builder, s.random, resnet(s.random, 1, 64), {}, [&] {
    return Work{48, scales[s.random.below(scales.size())]};
  });
  for (int step = 0; step < 80; ++step) {
    run.train();
    if (step % 20 == 19) run.validate({96, 1.65}, 3);
  }
  return s.builder.finish();
}

Trace cnn_small(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, resnet(s.random, 1, 20), {.grouped_update = true},
                  varied(s.random, 6, 1, 3));
  for (int step = 0; step < 120; ++step) {
    run.train();
    if (step % 30 == 29) run.validate({11, 2}, 5);
  }
  return s.builder.finish();
}

Trace transformer_fixed(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, transformer(s.random, 12, 768, 12, 50257, false),
                  {.optimizer_states = 2}, epochs_of(1000, 8, 8, 1024));
  for (int step = 0; step < 60; ++step) {
    run.train();
    if (step % 20 == 19) run.validate({4, 1024}, 8);
  }
  return s.builder.finish();
}

Trace transformer_lengths(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, transformer(s.random, 12, 768, 12, 32000, true),
                  {.optimizer_states = 2, .prefetch = 3}, varied(s.random, 16, 32, 768));
  for (int step = 0; step < 100; ++step) {
    run.train();
    run.stash(s.random.log_uniform(64, KiB(512)), static_cast<int>(s.random.between(1, 40)));
    if (step % 25 == 24) {
      for (int batch = 0; batch < 6; ++batch) {
        run.validate({32, static_cast<double>(s.random.between(16, 900))}, 1);
      }
    }
  }
  return s.builder.finish();
}

Trace transformer_packed(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, transformer(s.random, 24, 1024, 16, 32000, false),
                  {.optimizer_states = 2, .bucket = MiB(25)}, varied(s.random, 0, 64, 2048, 16384));
  for (int step = 0; step < 30; ++step) run.train(static_cast<int>(s.random.between(2, 4)));
  run.checkpoint(GiB(1));
  return s.builder.finish();
}

Trace transformer_recompute(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, transformer(s.random, 32, 2048, 32, 50000, false),
                  {.optimizer_states = 2, .keep_gradients = true, .recompute_every = 4},
                  varied(s.random, 4, 700, 2048));
  for (int step = 0; step < 24; ++step) {
    run.train(2);
    if (step % 8 == 7) run.validate({2, 2048}, 3);
  }
  return s.builder.finish();
}

Trace transformer_curriculum(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, transformer(s.random, 12, 768, 12, 32000, true),
                  {.optimizer_states = 2, .grouped_update = true}, [length = 100.0, &s]() mutable {
                    length += static_cast<double>(s.random.between(3, 17));
                    return Work{8, length};
                  });
  for (int step = 0; step < 100; ++step) {
    run.train();
    // Small pieces that outlive the step, each a little further on: what pins holes.
    run.stash(s.random.log_uniform(KiB(1), MiB(2)), 30);
  }
  return s.builder.finish();
}

/// The state of the first, short step lies among its activations and never leaves.
Trace transformer_scattered(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, transformer(s.random, 16, 1024, 16, 8000, true),
                  {.optimizer_states = 3, .update_in_backward = true}, [&, step = 0]() mutable {
                    const auto length = static_cast<double>(s.random.between(200, 640));
                    return Work{8, ++step < 3 ? 37.0 * step : length};
                  });
  for (int step = 0; step < 60; ++step) {
    run.train();
    if (step % 10 == 4) run.stash(s.random.log_uniform(MiB(1), MiB(64)), 15);
  }
  return s.builder.finish();
}

Trace transformer_generate(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, transformer(s.random, 8, 512, 8, 32000, false),
                  {.optimizer_states = 2}, varied(s.random, 24, 128, 512));
  for (int round = 0; round < 4; ++round) {
    for (int step = 0; step < 15; ++step) run.train();
    run.generate({static_cast<double>(s.random.between(4, 32)), 64}, 200, 1024);
  }
  return s.builder.finish();
}

Trace language_model_large(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, transformer(s.random, 44, 3072, 24, 128000, false),
                  {.optimizer_states = 2, .update_in_backward = true, .recompute_every = 2},
                  varied(s.random, 2, 1024, 4096));
  for (int step = 0; step < 16; ++step) {
    run.train();
    if (step % 8 == 7) run.validate({1, 4096}, 2);
  }
  return s.builder.finish();
}

Trace sharded_parameters(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(
      s.builder, s.random, transformer(s.random, 40, 4096, 32, 64000, false),
      {.optimizer_states = 3, .bucket = MiB(200), .recompute_every = 2, .gather_parameters = true},
      varied(s.random, 1, 512, 4096));
  for (int step = 0; step < 16; ++step) run.train(2);
  return s.builder.finish();
}

Trace offloaded_activations(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, transformer(s.random, 24, 1536, 16, 50000, false),
                  {.optimizer_states = 2, .offload = true}, varied(s.random, 8, 500, 1500));
  for (int step = 0; step < 30; ++step) run.train();
  return s.builder.finish();
}

Trace diffusion_unet(std::uint64_t seed) {
  Setting s(seed);
  const std::array<double, 5> aspects = {0.75, 0.9, 1.0, 1.2, 1.5};
  TrainingRun run(s.builder, s.random, unet(s.random, 4, 192),
                  {.optimizer_states = 2, .half_copies = true}, [&] {
                    return Work{16, aspects[s.random.below(aspects.size())]};
                  });
  for (int step = 0; step < 80; ++step) {
    run.train();
    if (step == 9) run.start_average();
    if (step % 25 == 24) run.validate({4, 4}, 12);
  }
  return s.builder.finish();
}

Trace tiny_blocks(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, tiny_tensors(s.random, 600),
                  {.optimizer_states = 2, .grouped_update = true, .prefetch = 4},
                  varied(s.random, 32, 1, 24));
  for (int step = 0; step < 40; ++step) {
    run.train();
    for (int i = 0; i < 50; ++i) {
      run.stash(s.random.log_uniform(16, 4096), static_cast<int>(s.random.between(1, 20)));
    }
  }
  run.close();
  return s.builder.finish();
}

Trace detection(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, detector(s.random), {.prefetch = 3}, [&] {
    return Work{static_cast<double>(s.random.between(1, 8)), 0.4 + s.random.unit()};
  });
  for (int step = 0; step < 90; ++step) {
    run.train();
    run.stash(s.random.log_uniform(KiB(4), MiB(8)), static_cast<int>(s.random.between(1, 25)));
    if (step % 30 == 29) run.validate({1, 1.6}, 10);
  }
  return s.builder.finish();
}

Trace experts(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, mixture_of_experts(s.random, 12, 1024, 16),
                  {.optimizer_states = 2}, varied(s.random, 8, 400, 1024));
  for (int step = 0; step < 30; ++step) run.train();
  return s.builder.finish();
}

/// Tens of thousands of blocks of some MiB are live: every expert's matrices, gradients and state.
Trace many_experts(std::uint64_t seed) {
  Setting s(seed);
  Model model{.input = 8, .per_sample = 64};
  for (int i = 0; i < 24 * 48; ++i) {
    Layer expert;
    expert.parameters = {Bytes{768} * 2048 * 2, Bytes{768} * 2048 * 2, Bytes{2048} * 768 * 2};
    expert.output = 64;
    expert.saved = {128, 8};
    expert.temporaries = {128};
    expert.spread = 3;
    model.layers.push_back(expert);
  }
  TrainingRun run(s.builder, s.random, std::move(model), {.optimizer_states = 2},
                  varied(s.random, 8, 600, 1024));
  for (int step = 0; step < 5; ++step) run.train();
  return s.builder.finish();
}

Trace graph_sampling(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun run(s.builder, s.random, graph_network(s.random, 16, 256),
                  {.optimizer_states = 2, .prefetch = 4}, [&] {
                    return Work{static_cast<double>(s.random.log_uniform(500, 40000)), 1};
                  });
  for (int step = 0; step < 300; ++step) {
    run.train();
    if (step % 60 == 59) run.validate({60000, 1}, 4);
  }
  return s.builder.finish();
}

Trace adversarial_pair(std::uint64_t seed) {
  Setting s(seed);
  TrainingRun generator(s.builder, s.random, unet(s.random, 4, 64), {.optimizer_states = 2},
                        epochs_of(50, 16, 5));
  TrainingRun critic(s.builder, s.random, resnet(s.random, 1, 48), {.optimizer_states = 2},
                     epochs_of(50, 32, 10));
  for (int step = 0; step < 60; ++step) {
    critic.train();
    if (step % 16 == 7) critic.penalty({32, 1});
    generator.train();
    if (step == 20) generator.start_average();
    if (step % 20 == 19) generator.validate({64, 1}, 2);
  }
  return s.builder.finish();
}

/// Hidden states pass from one truncated stretch to the next; lengths change every time.
Trace recurrent(std::uint64_t seed) {
  Setting s(seed);
  const Bytes width = 1024 * 4;
  std::vector<std::uint32_t> parameters;
  for (int i = 0; i < 24; ++i) {
    parameters.push_back(s.builder.allocate(s.random.log_uniform(KiB(4), MiB(16))));
  }
  std::vector<std::uint32_t> carried;
  for (int step = 0; step < 60; ++step) {
    const Bytes batch = s.random.between(16, 128);
    const std::uint64_t times = s.random.between(20, 160);
    std::vector<std::uint32_t> tape;
    for (std::uint64_t time = 0; time < times; ++time) {
      for (int layer = 0; layer < 4; ++layer) {
        const std::uint32_t gates = s.builder.allocate(batch * width * 4);
        tape.push_back(s.builder.allocate(batch * width));
        tape.push_back(s.builder.allocate(batch * width));
        if (time % 3 == 0) tape.push_back(s.builder.allocate(batch * 16));
        tape.push_back(s.builder.allocate(batch * width * 4));
        s.builder.release(gates);
      }
    }
    for (const std::uint32_t slot : carried) s.builder.release(slot);
    carried.assign(tape.end() - 4, tape.end());
    tape.resize(tape.size() - 4);
    std::vector<std::uint32_t> gradients;
    while (!tape.empty()) {
      const std::uint32_t gradient = s.builder.allocate(batch * width);
      if (tape.size() % 64 == 0) gradients.push_back(s.builder.allocate(MiB(1)));
      s.builder.release(tape.back());
      s.builder.release(gradient);
      tape.pop_back();
    }
    if (step == 0) {
      for (const std::uint32_t slot : std::vector(parameters)) {
        parameters.push_back(s.builder.allocate(s.builder.bytes(slot)));
      }
    }
    for (const std::uint32_t slot : gradients) s.builder.release(slot);
  }
  return s.builder.finish();
}

/// Fine-tuning in turns: models come and go in one process, each a little different.
Trace model_search(std::uint64_t seed) {
  Setting s(seed);
  for (int trial = 0; trial < 12; ++trial) {
    const auto batch = static_cast<double>(s.random.between(8, 64));
    const bool convolutional = s.random.chance(0.5);
    const auto width = static_cast<int>(s.random.between(4, 12));
    TrainingRun run(s.builder, s.random,
                    convolutional ? resnet(s.random, 1, width * 8)
                                  : transformer(s.random, width, width * 64, 8, 20000, true),
                    {.optimizer_states = static_cast<int>(s.random.between(0, 2)),
                     .keep_gradients = s.random.chance(0.5),
                     .half_copies = s.random.chance(0.5)},
                    convolutional ? epochs_of(8, batch, 3) : varied(s.random, batch, 64, 384));
    for (int step = 0; step < 8; ++step) run.train();
    run.validate({batch * 2, convolutional ? 1.0 : 256.0}, 3);
    run.checkpoint(MiB(256));
    run.close();
  }
  return s.builder.finish();
}

/// Input dominates: batches of any size wait in a deep queue beside a small model.
Trace loader_bound(std::uint64_t seed) {
  Setting s(seed);
  Model model = resnet(s.random, 1, 16);
  model.input *= 20;
  TrainingRun run(s.builder, s.random, std::move(model), {.prefetch = 8}, [&] {
    return Work{static_cast<double>(s.random.log_uniform(2, 96)), 0.2 + s.random.unit()};
  });
  for (int step = 0; step < 150; ++step) run.train();
  return s.builder.finish();
}

constexpr std::array kKinds = {
    TrainingTraceKind{"cnn", "ResNet, remainder batches, validation, checkpoints", cnn},
    TrainingTraceKind{"cnn_kept_gradients", "deeper, kept gradients, average from step 17",
                      cnn_kept_gradients},
    TrainingTraceKind{"cnn_resolutions", "another picture size every step", cnn_resolutions},
    TrainingTraceKind{"cnn_small", "a live peak of a few hundred MiB", cnn_small},
    TrainingTraceKind{"transformer", "equal blocks, one length", transformer_fixed},
    TrainingTraceKind{"transformer_lengths", "kept attention scores, a length per step",
                      transformer_lengths},
    TrainingTraceKind{"transformer_packed", "tokens per batch, accumulation, buckets",
                      transformer_packed},
    TrainingTraceKind{"transformer_recompute", "one output in four kept", transformer_recompute},
    TrainingTraceKind{"transformer_curriculum", "lengths that only grow, pinned by small pieces",
                      transformer_curriculum},
    TrainingTraceKind{"transformer_scattered", "state made among the first step's activations",
                      transformer_scattered},
    TrainingTraceKind{"transformer_generate", "caches grown by concatenation in validation",
                      transformer_generate},
    TrainingTraceKind{"language_model_large", "logits of GiBs, updates in the backward pass",
                      language_model_large},
    TrainingTraceKind{"sharded_parameters", "layers gathered before use, freed after it",
                      sharded_parameters},
    TrainingTraceKind{"offloaded_activations", "saved tensors leave and come back",
                      offloaded_activations},
    TrainingTraceKind{"diffusion_unet", "long skips, aspect ratios, average", diffusion_unet},
    TrainingTraceKind{"tiny_blocks", "thousands of blocks of a few bytes", tiny_blocks},
    TrainingTraceKind{"detection", "random shapes throughout", detection},
    TrainingTraceKind{"experts", "uneven splits over experts", experts},
    TrainingTraceKind{"many_experts", "thousands of matrices of some MiB", many_experts},
    TrainingTraceKind{"graph_sampling", "sizes over two decades, step by step", graph_sampling},
    TrainingTraceKind{"adversarial_pair", "two models in turns, a penalty at times",
                      adversarial_pair},
    TrainingTraceKind{"recurrent", "carried states, a tape of time steps", recurrent},
    TrainingTraceKind{"model_search", "models come and go", model_search},
    TrainingTraceKind{"loader_bound", "a deep queue of batches of any size", loader_bound},
};

}  // namespace

std::span<const TrainingTraceKind> training_trace_kinds() { return kKinds; }

Trace make_training_trace(std::string_view kind, std::uint64_t seed) {
  for (const TrainingTraceKind& known : kKinds) {
    if (known.name == kind) return known.make(seed);
  }
  throw InvalidArgument(fmt::format("[make_training_trace] no kind is called '{}'", kind));
}

std::string to_rmm_csv(const Trace& trace) {
  std::string text = "Thread,Time,Action,Pointer,Size,Stream\n";
  std::uint64_t time = 0;
  for (const TraceOperation& operation : trace.operations) {
    const std::uint64_t second = time / 1'000'000;
    fmt::format_to(std::back_inserter(text), "1,{:02}:{:02}:{:02}.{:06},{},{:#x},{},0\n",
                   second / 3600 % 24, second / 60 % 60, second % 60, time % 1'000'000,
                   operation.allocate ? "allocate" : "free",
                   0x7f0000000000u + std::uint64_t{operation.slot} * 256, operation.bytes);
    time += 7;
  }
  return text;
}

void write_rmm_csv(const Trace& trace, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << to_rmm_csv(trace);
  file.close();
  if (!file) throw Error(fmt::format("[write_rmm_csv] cannot write {}", path));
}

}  // namespace plimsoll::testing
