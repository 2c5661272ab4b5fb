#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/recurrent.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>

namespace plimsoll::nn {
namespace {

/// The dense layer at the end, whose weight may be somebody else's.
class Decoder final : public Module {
 public:
  Decoder(const LstmLmOptions& options)
      : bias_(parameter("bias", {options.vocabulary}, Init::zeros())) {
    if (!options.tied) {
      parameter("weight", {options.vocabulary, options.hidden}, Init::uniform(0.1));
    }
  }
  Tensor decode(const Tensor& x, const Parameter& table) const {
    const ops::NameScope scope(name());
    const Parameter* weight = own("weight");
    return ops::linear(x, weight != nullptr ? *weight : table, bias_);
  }

 private:
  Parameter bias_;
};

class LstmLm final : public Classifier {
 public:
  explicit LstmLm(const LstmLmOptions& options)
      : options_(options),
        encoder_(add("encoder", Embedding(options.vocabulary, options.features, 0.1))),
        rnn_(add("rnn", LSTM(options.hidden, {.in = options.features,
                                              .layers = options.layers,
                                              .dropout = options.dropout}))),
        decoder_(add("decoder", Decoder(options))) {}

  TensorType input_type(std::int64_t n) const override {
    return {DType::i64, {n, options_.context}};
  }
  TensorType target_type(std::int64_t n) const override { return input_type(n); }

  Tensor forward(const Tensor& ids) const override {
    const auto dropped = [&](const Tensor& x) {
      return training() && options_.dropout > 0 ? ops::dropout(x, options_.dropout) : x;
    };
    return decoder_.decode(dropped(rnn_(dropped(encoder_(ids)))), encoder_.weight());
  }

 private:
  LstmLmOptions options_;
  Embedding encoder_;
  LSTM rnn_;
  Decoder decoder_;
};

}  // namespace

Model lstm_lm(const LstmLmOptions& options) {
  if (options.tied && options.features != options.hidden) {
    throw InvalidArgument(
        fmt::format("[lstm_lm] a decoder that is the embedding needs as many features ({}) as "
                    "hidden elements ({})",
                    options.features, options.hidden));
  }
  return LstmLm(options);
}

}  // namespace plimsoll::nn
