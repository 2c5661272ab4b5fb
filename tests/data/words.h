#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {

/// Pipelines written as lists of stages, [["range", 0, 5, 1], ["batch", 3, false]], which
/// record/record_stages.py reads, too.
class Words {
 public:
  /// Maps run `parallel` at a time.
  explicit Words(const Device& device, int parallel = 1) : device_(device), parallel_(parallel) {}

  Dataset build(const nlohmann::json& stages) const {
    Dataset result = source(stages.at(0));
    for (std::size_t i = 1; i < stages.size(); ++i) result = stage(result, stages[i]);
    return result;
  }

 private:
  using Json = nlohmann::json;

  Dataset source(const Json& words) const {
    const auto kind = words.at(0).get<std::string>();
    if (kind == "range") return Dataset::range(words[1], words[2], words[3]);
    if (kind == "slices") {
      std::vector<Tensor> tensors;
      for (std::size_t i = 1; i < words.size(); ++i) tensors.push_back(constant(words[i]));
      return Dataset::from_tensor_slices(tensors);
    }
    if (kind == "generator") {
      Generator generator;
      generator.begin = [count = words[1].get<std::int64_t>()] {
        return [count, n = std::int64_t{0}]() mutable -> std::optional<Element> {
          if (n == count) return std::nullopt;
          return Element{Value(n++)};
        };
      };
      generator.spec = ElementSpec{true, {spec(DType::i64)}, {}};
      return Dataset::from_generator(generator);
    }
    std::vector<Dataset> inputs;
    for (std::size_t i = 1; i < words.size(); ++i) inputs.push_back(build(words[i]));
    return Dataset::zip(inputs);
  }

  Dataset stage(const Dataset& in, const Json& words) const {
    using Stage = std::function<Dataset(const Words&, const Dataset&, const Json&)>;
    static const std::map<std::string, Stage> kStages = {
        {"batch", [](auto&, auto& d, auto& w) { return d.batch(w[1], {.drop_remainder = w[2]}); }},
        {"padded_batch", [](auto& me, auto& d, auto& w) { return me.padded(d, w); }},
        {"unbatch", [](auto&, auto& d, auto&) { return d.unbatch(); }},
        {"map", [](auto& me, auto& d,
                   auto& w) { return d.map(function(w[1]), {.parallel = me.parallel_}); }},
        {"filter", [](auto&, auto& d, auto& w) { return d.filter(predicate(w[1]), w[1]); }},
        {"flat_map", [](auto&, auto& d, auto& w) { return d.flat_map(inner(w[1]), w[1]); }},
        {"interleave",
         [](auto&, auto& d, auto& w) {
           return d.interleave(inner(w[1]), {.cycle_length = w[2], .block_length = w[3]}, w[1]);
         }},
        {"window",
         [](auto&, auto& d, auto& w) {
           return d.window(w[1], {.shift = w[2].template get<std::int64_t>(),
                                  .stride = w[3],
                                  .drop_remainder = w[4]});
         }},
        {"concatenate", [](auto& me, auto& d, auto& w) { return d.concatenate(me.build(w[1])); }},
        {"take", [](auto&, auto& d, auto& w) { return d.take(w[1]); }},
        {"skip", [](auto&, auto& d, auto& w) { return d.skip(w[1]); }},
        {"repeat", [](auto&, auto& d, auto& w) { return d.repeat(w[1]); }},
        {"shard", [](auto&, auto& d, auto& w) { return d.shard(w[1], w[2]); }},
        {"enumerate", [](auto&, auto& d, auto& w) { return d.enumerate(w[1]); }},
        {"cache", [](auto&, auto& d, auto&) { return d.cache(); }},
        {"prefetch", [](auto&, auto& d, auto& w) { return d.prefetch(w[1]); }},
        {"ignore_errors", [](auto&, auto& d, auto&) { return d.ignore_errors(); }},
        {"shuffle",
         [](auto&, auto& d, auto& w) {
           return d.shuffle({.elements = w[1],
                             .seed = w[2].is_null()
                                         ? std::nullopt
                                         : std::optional(w[2].template get<std::uint64_t>()),
                             .reshuffle_each_iteration = w[3]});
         }},
    };
    return kStages.at(words.at(0).get<std::string>())(*this, in, words);
  }

  Tensor constant(const Json& column) const {
    const Shape shape(column[1].get<std::vector<std::int64_t>>());
    const auto dtype = column[0].get<std::string>();
    const auto numbers = [&]<typename T>(T) {
      std::vector<T> values;
      for (const Json& each : column[2]) {
        values.push_back(each.is_boolean() ? static_cast<T>(each.get<bool>()) : each.get<T>());
      }
      return Tensor::from_values(std::span<const T>(values), shape, device_);
    };
    if (dtype == "bytes") {
      return Tensor::from_strings(column[2].get<std::vector<std::string>>(), shape, device_);
    }
    if (dtype == "bool") {
      Tensor flags = Tensor::empty(shape, DType::boolean, device_);
      for (std::size_t i = 0; i < column[2].size(); ++i) {
        flags.mutable_data<bool>()[i] = column[2][i].get<bool>();
      }
      return flags;
    }
    if (dtype == "f32") return numbers(float{});
    if (dtype == "i32") return numbers(std::int32_t{});
    if (dtype == "u8") return numbers(std::uint8_t{});
    return numbers(std::int64_t{});
  }

  Dataset padded(const Dataset& in, const Json& words) const {
    PaddedBatchOptions options{.drop_remainder = words[4]};
    if (!words[2].is_null()) options.shapes = words[2].get<decltype(options.shapes)>();
    if (!words[3].is_null()) {
      for (const Json& value : words[3]) {
        if (value.is_string()) {
          options.values.emplace_back(
              Tensor::from_strings({value.get<std::string>()}, {}, device_));
        } else {
          options.values.emplace_back(value.get<std::int64_t>());
        }
      }
    }
    return in.padded_batch(words[1], options);
  }

  /// `extents` < 0: any.
  static TensorSpec spec(DType dtype, std::vector<std::int64_t> extents = {}) {
    return {dtype, std::move(extents)};
  }
  static Tensor filled(MapContext& context, const Shape& shape,
                       const std::function<std::int64_t(std::int64_t)>& at) {
    Tensor tensor = context.empty(shape, DType::i64);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      tensor.mutable_data<std::int64_t>()[i] = at(i);
    }
    return tensor;
  }

 public:
  /// The function called `name`, of the number in component 0.
  static MapFunction function(const std::string& name);
  static std::function<bool(const Element&)> predicate(const std::string& name);
  static std::function<Dataset(const Element&)> inner(const std::string& name);

 private:
  Device device_;
  int parallel_;
};

inline MapFunction Words::function(const std::string& name) {
  using Run = std::function<Element(std::int64_t, const Element&, MapContext&)>;
  struct Entry {
    std::vector<TensorSpec> output;
    Run run;
  };
  constexpr DType kI64 = DType::i64;
  static const std::map<std::string, Entry> kFunctions = {
      {"plus1", {{spec(kI64)}, [](auto n, auto&, auto&) { return Element{n + 1}; }}},
      {"square", {{spec(kI64)}, [](auto n, auto&, auto&) { return Element{n * n}; }}},
      {"pair",
       {{spec(kI64), spec(kI64)},
        [](auto n, auto&, auto&) {
          return Element{n, 10 * n};
        }}},
      {"half",
       {{spec(DType::f32)},
        [](auto n, auto&, auto&) { return Element{static_cast<float>(n) / 2}; }}},
      {"even", {{spec(DType::boolean)}, [](auto n, auto&, auto&) { return Element{n % 2 == 0}; }}},
      {"row",
       {{spec(kI64, {3})},
        [](auto n, auto&, auto& c) {
          return Element{filled(c, {3}, [n](auto i) { return 10 * n + i; })};
        }}},
      {"big",
       {{spec(kI64, {2'000})},
        [](auto n, auto&, auto& c) {
          return Element{filled(c, {2'000}, [n](auto i) { return 10 * n + i; })};
        }}},
      {"ragged",
       {{spec(kI64, {-1})},
        [](auto n, auto&, auto& c) {
          return Element{filled(c, {n % 4}, [n](auto) { return n; })};
        }}},
      {"ragged1",
       {{spec(kI64, {-1})},
        [](auto n, auto&, auto& c) {
          return Element{filled(c, {n % 4 + 1}, [n](auto) { return n; })};
        }}},
      {"matrix",
       {{spec(kI64, {-1, -1})},
        [](auto n, auto&, auto& c) {
          return Element{filled(c, {n % 3 + 1, n % 2 + 1}, [n](auto i) { return 10 * n + i; })};
        }}},
      {"text",
       {{spec(DType::bytes)},
        [](auto n, auto&, auto& c) { return Element{c.text(std::to_string(n))}; }}},
      {"texts",
       {{spec(DType::bytes, {-1})},
        [](auto n, auto&, auto& c) {
          std::vector<std::string> texts;
          for (std::int64_t i = 0; i < n % 3; ++i) texts.push_back(fmt::format("{}.{}", n, i));
          return Element{Tensor::from_strings(texts, {n % 3}, c.empty({0}, DType::u8).device())};
        }}},
      {"ragged_and_text",
       {{spec(kI64, {-1}), spec(DType::bytes)},
        [](auto n, auto&, auto& c) {
          return Element{filled(c, {n % 3 + 1}, [n](auto) { return n; }),
                         c.text(std::to_string(n))};
        }}},
      {"fails",
       {{spec(kI64)},
        [](auto n, auto&, auto&) {
          if (n % 5 == 3) throw std::runtime_error("a three");
          return Element{n};
        }}},
      {"random",
       {{spec(kI64)},
        [](auto n, auto&, auto& c) { return Element{n + 1000 * (c.random(0)[0] % 1000)}; }}},
      {"sum",
       {{spec(kI64)},
        [](auto, auto& e, auto&) {
          std::int64_t sum = 0;
          for (const std::int64_t each : e.at(0).tensor().template to_vector<std::int64_t>()) {
            sum += each;
          }
          return Element{sum};
        }}},
  };
  const Entry& entry = kFunctions.at(name);
  MapFunction function;
  function.name = name;
  function.output = ElementSpec{true, entry.output, {}};
  const bool of_number = name != "sum";
  function.run = [run = entry.run, of_number](const Element& element, MapContext& context) {
    return run(of_number ? number(element) : 0, element, context);
  };
  return function;
}

inline std::function<bool(const Element&)> Words::predicate(const std::string& name) {
  static const std::map<std::string, bool (*)(std::int64_t)> kPredicates = {
      {"odd", [](std::int64_t n) { return n % 2 == 1; }},
      {"small", [](std::int64_t n) { return n < 4; }},
      {"none", [](std::int64_t n) { return n < 0; }},
      {"all", [](std::int64_t n) { return n >= 0; }}};
  return [holds = kPredicates.at(name)](const Element& e) { return holds(number(e)); };
}

inline std::function<Dataset(const Element&)> Words::inner(const std::string& name) {
  const auto plus_ten = [](std::int64_t n) { return plus(10 * n); };
  const std::map<std::string, std::function<Dataset(std::int64_t)>> inners = {
      {"upto", [](auto n) { return Dataset::range(n); }},
      {"mod", [=](auto n) { return Dataset::range(n % 3).map(plus_ten(n)); }},
      {"two", [=](auto n) { return Dataset::range(2).map(plus_ten(n)); }},
      {"none", [](auto) { return Dataset::range(0); }},
      {"batched", [](auto n) { return Dataset::range(n).batch(2); }},
      {"endless", [](auto n) { return Dataset::range(n, n + 1).repeat(); }},
      {"shuffled",
       [=](auto n) { return Dataset::range(n % 7).shuffle({.elements = 3}).map(plus_ten(n)); }},
      {"nested", [=](auto n) {
         return Dataset::range(n % 4).flat_map(
             [=](const Element& e) { return Dataset::range(number(e)).map(plus_ten(number(e))); });
       }}};
  return [make = inners.at(name)](const Element& e) { return make(number(e)); };
}

inline constexpr std::int64_t kShownElements = 200;

/// "i64[2] 0 1; 'a'": dtype, shape and contents of each component, those of large ones as a hash.
inline std::string words_of(const Element& element) {
  std::string text;
  for (const Value& value : element) {
    text += text.empty() ? "" : "; ";
    const Shape shape = value.shape();
    text += dtype_name(value.dtype());
    if (shape.rank() > 0) text += shape.to_string();
    if (shape.elements() > kShownElements && value.dtype() != DType::bytes) {
      const Tensor all = value.tensor().contiguous();
      const std::string_view bytes(static_cast<const char*>(all.raw_data()), all.nbytes());
      text += fmt::format(" #{:x}", std::hash<std::string_view>{}(bytes));
      continue;
    }
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      text += ' ';
      if (value.dtype() == DType::bytes) {
        text += fmt::format("'{}'", value.tensor().string_at(i));
        continue;
      }
      const Value one =
          value.is_scalar()
              ? value
              : Value::from_bits(
                    value.dtype(),
                    static_cast<const std::byte*>(value.tensor().contiguous().raw_data()) +
                        static_cast<std::size_t>(i) * dtype_size(value.dtype()));
      const std::string number = Element{one}.to_string();
      text += number.substr(1, number.size() - 2);
    }
  }
  return text;
}

}  // namespace plimsoll::data::testing
