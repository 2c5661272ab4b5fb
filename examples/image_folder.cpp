// Trains a network on pictures, a folder per class, within 200 MiB: image_folder FOLDER [EPOCHS]
#include <cstdlib>
#include <iostream>

#include <plimsoll/plimsoll.h>

namespace pm = plimsoll;

class Net final : public pm::nn::Module {
 public:
  explicit Net(std::int64_t classes) : head(add("head", pm::nn::Dense(classes))) {}
  pm::Tensor forward(const pm::Tensor& x) const override {
    const pm::Tensor light = pm::ops::random_uniform({x.dtype(), {x.dim(0), 1, 1, 1}}, 0.8, 1.2, x);
    return head(pm::global_avg_pool2d(body(training() ? pm::mul(x, light) : x)));
  }

 private:
  static pm::nn::Sequential block(std::int64_t out) {
    return pm::nn::Sequential(pm::nn::Conv2D(out, 3, {.padding = 1}), pm::nn::BatchNorm2D(),
                              pm::nn::ReLU(), pm::nn::MaxPool2D(2));
  }
  pm::nn::Sequential body = add("body", pm::nn::Sequential(block(16), block(32), block(64)));
  pm::nn::Dense head;
};

pm::data::Dataset pictures(const pm::data::Dataset& files, bool flip) {
  return files.map(pm::data::load_images(
      {.height = 32, .width = 32, .layout = pm::image::Layout::chw, .flip = flip}));
}

int main(int argc, char** argv) try {
  const auto device = pm::Device::open("cpu:0", {.limit = pm::MiB(200)});
  const auto all = pm::data::Dataset::image_folder(argc > 1 ? argv[1] : "pictures");
  const auto [files, held_out] = all.split(0.8);
  const auto train = pictures(files, false).concatenate(pictures(files, true)).shuffle(512);
  pm::TrainerOptions options{.loss = "cross_entropy", .metrics = {"accuracy"}, .device = device};
  options.optimizer = pm::optim::adamw({.lr = 3e-3});
  pm::Trainer trainer(Net(static_cast<std::int64_t>(all.classes().size())), options);
  const auto result = trainer.fit(train.batch(32), pictures(held_out, false).batch(32),
                                  {.epochs = argc > 2 ? std::atoi(argv[2]) : 5});
  std::cout << "accuracy " << result.history.back().at("validation_accuracy") << "\n";
} catch (const pm::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
