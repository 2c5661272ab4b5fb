#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <plimsoll/ops/variable.h>
#include <plimsoll/plan/plan.h>

namespace plimsoll {

struct FunctionOptions {
  /// How messages call it.
  std::string name = "function";
  /// Where it runs; nothing said: on the device of its first input, or the DefaultDevice if it has
  /// none.
  std::optional<Device> device = std::nullopt;
  /// Bytes that a call may take on the device beside its variables; 0: what is available.
  Bytes budget = 0;
  /// Plans that are kept, one for each signature (dtypes and shapes of the inputs). One more takes
  /// the place of the one that was not used for longest.
  std::size_t signatures = 8;
  /// Of random ops, whose draws differ from call to call; nothing said: set_seed()'s.
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// What pm::function() makes of a function whose inputs and outputs are lists.
class PlannedFunction {
 public:
  using Tensors = std::vector<Tensor>;
  using Body = std::function<Tensors(const Tensors& inputs)>;

  /// Results with a number that the body gives each of its traces, for what a caller keeps of it.
  struct Numbered {
    Tensors tensors;
    std::int64_t number = 0;
  };
  using NumberedBody = std::function<Numbered(const Tensors& inputs)>;

  explicit PlannedFunction(FunctionOptions options);

  /// Runs the plan for inputs of these types; where there is none yet, traces `body` and makes one.
  /// Within a trace, `body` becomes part of it.
  /// A trace serves as long as the modules that it asked are training, or not, as they were, and
  /// the variables that it read are trained, or frozen, as they were; after that it is made again.
  Tensors call(const Tensors& inputs, const Body& body) const;
  /// The plan for inputs of these types, which need no data. Makes it, and takes no memory.
  const plan::Plan& plan(const Tensors& inputs, const Body& body) const;
  /// The same with bodies that number their traces; the number is that of the trace which was used.
  Numbered call_numbered(const Tensors& inputs, const NumberedBody& body) const;
  const plan::Plan& plan_numbered(const Tensors& inputs, const NumberedBody& body) const;

  /// Signatures that are kept, and traces made so far.
  std::size_t signatures() const;
  std::int64_t traces() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

/// See pm::function().
template <typename F>
class Function {
 public:
  Function(F f, FunctionOptions options) : f_(std::move(f)), planned_(std::move(options)) {}

  template <typename... A>
  requires(std::convertible_to<const A&, const Tensor&>&&...) auto operator()(
      const A&... inputs) const {
    using Result = ResultOf<A...>;
    std::vector<Tensor> results = planned_.call({inputs...}, body<A...>());
    if constexpr (std::same_as<Result, void>) {
      return;
    } else if constexpr (std::same_as<Result, Tensor>) {
      return std::move(results.front());
    } else if constexpr (std::same_as<Result, std::vector<Tensor>>) {
      return results;
    } else {
      return as_tuple<Result>(results, std::make_index_sequence<std::tuple_size_v<Result>>());
    }
  }

  /// What a call with such inputs takes; nothing is taken and nothing is computed.
  template <typename... A>
  const plan::Plan& plan(const A&... inputs) const {
    return planned_.plan({inputs...}, body<A...>());
  }

  std::size_t signatures() const { return planned_.signatures(); }
  std::int64_t traces() const { return planned_.traces(); }

 private:
  template <typename>
  using TensorFor = const Tensor&;
  template <typename... A>
  using ResultOf = std::decay_t<std::invoke_result_t<const F&, TensorFor<A>...>>;

  template <typename... A>
  PlannedFunction::Body body() const {
    return [this](const std::vector<Tensor>& in) {
      return listed(in, std::index_sequence_for<A...>());
    };
  }
  template <std::size_t... I>
  std::vector<Tensor> listed(const std::vector<Tensor>& in, std::index_sequence<I...>) const {
    using Result = std::decay_t<decltype(f_(in[I]...))>;
    if constexpr (std::same_as<Result, void>) {
      f_(in[I]...);
      return {};
    } else if constexpr (std::same_as<Result, Tensor>) {
      return {f_(in[I]...)};
    } else if constexpr (std::same_as<Result, std::vector<Tensor>>) {
      return f_(in[I]...);
    } else {
      return std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; },
                        f_(in[I]...));
    }
  }
  template <typename Result, std::size_t... I>
  static Result as_tuple(std::vector<Tensor>& results, std::index_sequence<I...>) {
    return Result{std::move(results[I])...};
  }

  F f_;
  PlannedFunction planned_;
};

/// Any function of tensors, planned: traced once for each signature, run within the budget and at
/// the speed of a trainer's step.
///
///   auto step = pm::function([&](const pm::Tensor& x, const pm::Tensor& y) {
///     pm::GradientTape tape;
///     pm::Tensor loss = pm::nn::mean_squared_error(net(x), y);
///     optimizer.apply(tape.gradient(loss, net));
///     return loss;
///   });
///   float loss = step(x, y).item<float>();
///
/// `f` is called while it is traced and not again: it must not look at values, and what it depends
/// on besides its inputs is as it was then. Variables that it reads are bound as state, and those
/// that it writes are updated in place; other tensors that it captures are constants, which
/// plan().explain() lists. It returns nothing, a tensor, a list, or a pair or tuple of tensors; the
/// results are the caller's. From the third signature on a warning names the input that made a new
/// one.
///
/// Functions of a device share one range, so that they run one after the other, also from several
/// threads. A function is never split: BudgetTooSmall names the limit that it needs. A copy is the
/// same function.
template <typename F>
Function<F> function(F f, FunctionOptions options = {}) {
  return Function<F>(std::move(f), std::move(options));
}

}  // namespace plimsoll
