#pragma once

#include <memory>
#include <utility>

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

/// Modules in a row, named "0", "1", ...
///
///   nn::Sequential net;
///   net.append<nn::Dense>(64, 32);
///   net.append<nn::ReLU>();
class Sequential final : public Module {
 public:
  template <typename M, typename... Args>
  M& append(Args&&... args) {
    auto made = std::make_unique<M>(std::forward<Args>(args)...);
    M& result = *made;
    append(std::move(made));
    return result;
  }
  Module& append(std::unique_ptr<Module> module);
  Tensor forward(const Tensor& x) const override;
};

/// x + body(x), or shortcut(x) + body(x): the modules are "body" and "shortcut".
class Residual final : public Module {
 public:
  explicit Residual(std::unique_ptr<Module> body, std::unique_ptr<Module> shortcut = nullptr);
  Tensor forward(const Tensor& x) const override;

 private:
  const Module& body_;
  const Module* shortcut_;
};

}  // namespace plimsoll::nn
