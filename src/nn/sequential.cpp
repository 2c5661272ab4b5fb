#include <plimsoll/nn/sequential.h>

#include <string>

#include <plimsoll/ops/elementwise.h>

namespace plimsoll::nn {

Module& Sequential::append(std::unique_ptr<Module> module) {
  return adopt(std::to_string(children().size()), std::move(module));
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const auto& child : children()) y = (*child)(y);
  return y;
}

Residual::Residual(std::unique_ptr<Module> body, std::unique_ptr<Module> shortcut)
    : body_(adopt("body", std::move(body))),
      shortcut_(shortcut != nullptr ? &adopt("shortcut", std::move(shortcut)) : nullptr) {}

Tensor Residual::forward(const Tensor& x) const {
  return ops::add(shortcut_ != nullptr ? (*shortcut_)(x) : x, body_(x));
}

}  // namespace plimsoll::nn
