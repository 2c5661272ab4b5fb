// Trains a network on pictures, a folder per class, within 200 MiB: image_folder FOLDER [EPOCHS]
#include <iostream>

#include <plimsoll/plimsoll.h>

namespace pm = plimsoll;

class Net final : public pm::nn::Module {
 public:
  explicit Net(std::int64_t classes) : head(add("head", pm::nn::Dense(classes))) {}
  pm::Tensor forward(const pm::Tensor& x) const override {
    return head(pm::global_avg_pool2d(body(x)));
  }

 private:
  static pm::nn::Sequential block(std::int64_t out) {
    return pm::nn::Sequential(pm::nn::Conv2D(out, 3, {.padding = 1}), pm::nn::BatchNorm2D(),
                              pm::nn::ReLU(), pm::nn::MaxPool2D(2));
  }
  pm::nn::Sequential body = add("body", pm::nn::Sequential(block(16), block(32), block(64)));
  pm::nn::Dense head;
};

pm::Dataset batches(const pm::Dataset& folder, double flips) {
  const auto load = [flips](pm::Symbolic picture, pm::Symbolic label) {
    const auto small = pm::image::random_flip(pm::image::resize(picture, 32, 32), flips) / 255;
    return pm::Symbolics{transpose(small, {2, 0, 1}), label};
  };
  return folder.map(load).batch(32);
}

int main(int argc, char** argv) try {
  const auto device = pm::Device::open("cpu:0", {.limit = pm::MiB(200)});
  const auto pictures = pm::Dataset::image_folder(argc > 1 ? argv[1] : "pictures");
  const auto [train, held_out] = pictures.split(0.8);
  pm::TrainerOptions options{.loss = "cross_entropy", .metrics = {"accuracy"}, .device = device};
  options.optimizer = pm::optim::adamw({.lr = 3e-3});
  pm::Trainer trainer(Net(static_cast<std::int64_t>(pictures.classes().size())), options);
  const auto result = trainer.fit(batches(train.shuffle().repeat(2), 0.5), batches(held_out, 0),
                                  {.epochs = argc > 2 ? std::stoi(argv[2]) : 5});
  std::cout << "accuracy " << result.history.back().at("validation_accuracy") << "\n";
} catch (const pm::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
