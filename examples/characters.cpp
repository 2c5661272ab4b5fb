// Learns the bytes of a text and goes on writing in its manner: characters TEXT [EPOCHS [COUNT]]
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include <plimsoll/plimsoll.h>

namespace pm = plimsoll;

constexpr std::int64_t kContext = 48;

pm::Tensor ids(const std::string& text, const pm::Shape& shape, const pm::Device& device) {
  const std::vector<std::int64_t> bytes(text.begin(), text.end());
  return pm::Tensor::from_values(std::span<const std::int64_t>(bytes), shape, device);
}

// Windows of kContext bytes, each with the bytes that follow them.
pm::data::Dataset windows(const pm::Tensor& text) {
  return pm::data::Dataset::from_tensor_slices({text})
      .window(kContext + 1, {.shift = kContext / 4, .drop_remainder = true})
      .map([](const pm::data::Element& window) {
        const pm::Tensor& bytes = window[0].tensor();
        return pm::data::Element{bytes.slice(0, 0, kContext), bytes.slice(0, 1, kContext + 1)};
      });
}

// The byte that follows the input, drawn as the model thinks likely.
char next(pm::Trainer& trainer, const pm::Tensor& input, std::mt19937& random) {
  auto weights = trainer.predict(input).select(0, 0).select(0, kContext - 1).to_vector<float>();
  for (float& each : weights) each = std::exp(each / 0.7F);  // 0.7 is the temperature
  return static_cast<char>(std::discrete_distribution<int>(weights.begin(), weights.end())(random));
}

int main(int argc, char** argv) try {
  std::ifstream file(argc > 1 ? argv[1] : "text.txt", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  for (char& each : text) each = static_cast<char>(each & 0x7F);
  const auto size = static_cast<std::int64_t>(text.size());
  if (size <= kContext) throw pm::InvalidArgument("characters: the text is too short");
  const auto device = pm::Device::open("cpu:0", {.limit = pm::MiB(256)});
  const pm::nn::Gpt2Options small{128, kContext, 64, 2, 4, 0};  // 64 features, 2 layers, 4 heads
  const auto adamw = pm::optim::adamw({.lr = 3e-3});
  pm::Trainer trainer(pm::nn::gpt2(small), {.optimizer = adamw, .device = device});
  const auto train = windows(ids(text, {size}, device)).shuffle(1024).batch(16);
  const auto result = trainer.fit(train, {.epochs = argc > 2 ? std::atoi(argv[2]) : 10});
  std::mt19937 random(1);
  std::string written = text.substr(0, kContext);
  for (int i = argc > 3 ? std::atoi(argv[3]) : 200; i > 0; --i) {
    const std::string last = written.substr(written.size() - kContext);
    written += next(trainer, ids(last, {1, kContext}, device), random);
  }
  std::cout << "loss " << result.history.back().at("loss") << "\n" << written << "\n";
} catch (const pm::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
