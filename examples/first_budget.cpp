#include <iostream>

#include <plimsoll/plimsoll.h>

namespace pm = plimsoll;

int main() {
  auto cpu = pm::Device::open("cpu:0", {.limit = pm::MiB(256)});
  auto training = cpu.session("training", pm::MiB(192));
  auto weights = pm::Tensor::zeros({4096, 4096}, pm::DType::f32, training.device(),
                                   {pm::Tag::parameters, "encoder"});
  try {
    pm::Tensor::empty({1024, 224, 224, 3}, pm::DType::u8, training.device(),
                      {pm::Tag::input, "batch of 1024"});
  } catch (const pm::OutOfMemory& refused) {
    std::cout << refused.what() << "\n";  // who holds what, and what would help
  }
  training.close();  // every page is back with the system
}
