#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

/// Modules in a row, named "0", "1", ...
///
///   pm::nn::Sequential net(pm::nn::Conv2D(32, 3), pm::nn::ReLU(), pm::nn::GlobalAvgPool2D(),
///                          pm::nn::Dense(10));
///   net.append(pm::nn::Tanh());
class Sequential final : public Module {
 public:
  /// Of one Sequential it is a copy, as of any handle.
  template <std::derived_from<Module>... M>
  explicit Sequential(const M&... modules) {
    (append(modules), ...);
  }

  /// Returns `module`.
  template <std::derived_from<Module> M>
  M append(const M& module) {
    return add(std::to_string(children().size()), module);
  }
  void append(std::shared_ptr<Module> module) {
    add(std::to_string(children().size()), std::move(module));
  }
  Tensor forward(const Tensor& x) const override;
};

/// x + body(x), or shortcut(x) + body(x): the modules are "body" and "shortcut".
class Residual final : public Module {
 public:
  template <std::derived_from<Module> Body>
  requires(!std::same_as<Body, Residual>) explicit Residual(const Body& body) { add("body", body); }
  template <std::derived_from<Module> Body, std::derived_from<Module> Shortcut>
  Residual(const Body& body, const Shortcut& shortcut) {
    add("body", body);
    add("shortcut", shortcut);
  }
  Tensor forward(const Tensor& x) const override;
};

}  // namespace plimsoll::nn
