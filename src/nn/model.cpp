#include <plimsoll/nn/model.h>

#include <array>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/recommendation_models.h>
#include <plimsoll/nn/vision_models.h>

namespace plimsoll::nn {
namespace {

struct Entry {
  ModelInfo info;
  Model (*make)(const ModelOptions& options);
};

std::int64_t given(std::int64_t value, std::int64_t otherwise) {
  return value == 0 ? otherwise : value;
}

Model make_resnet(Model (*resnet)(std::int64_t, const ResnetOptions&), const ModelOptions& o) {
  return resnet(given(o.classes, 1000),
                {.channels = given(o.channels, 3),
                 .size = given(o.size, 224),
                 .layout = o.channels_last ? Layout::channels_last : Layout::channels_first});
}

Model make_vit(std::int64_t features, std::int64_t heads, const ModelOptions& o) {
  return vit({.classes = given(o.classes, 1000),
              .channels = given(o.channels, 3),
              .size = given(o.size, 224),
              .features = features,
              .heads = heads});
}

constexpr std::array kModels = {
    Entry{{"mlp", "perceptron with two hidden layers of 256"},
          [](const ModelOptions& o) {
            const std::int64_t size = given(o.size, 28);
            return mlp({.in = size * size * given(o.channels, 1), .classes = given(o.classes, 10)});
          }},
    Entry{{"lenet", "LeCun et al. 1998, for digits"},
          [](const ModelOptions& o) {
            return lenet({.classes = given(o.classes, 10),
                          .channels = given(o.channels, 1),
                          .size = given(o.size, 28)});
          }},
    Entry{{"resnet18", "He et al. 2015, 18 layers"},
          [](const ModelOptions& o) { return make_resnet(resnet18, o); }},
    Entry{{"resnet50", "He et al. 2015, 50 layers"},
          [](const ModelOptions& o) { return make_resnet(resnet50, o); }},
    Entry{{"vit_tiny", "vision transformer with 192 features"},
          [](const ModelOptions& o) { return make_vit(192, 3, o); }},
    Entry{{"vit_b16", "vision transformer of Dosovitskiy et al. 2020, base"},
          [](const ModelOptions& o) { return make_vit(768, 12, o); }},
    Entry{{"gpt2", "language model of Radford et al. 2019, 124 million parameters"},
          [](const ModelOptions& o) {
            return gpt2({.vocabulary = given(o.classes, 50257), .context = given(o.size, 1024)});
          }},
    Entry{{"gpt2_tiny", "the same with 4 layers of 128, over bytes"},
          [](const ModelOptions& o) {
            return gpt2({.vocabulary = given(o.classes, 256),
                         .context = given(o.size, 128),
                         .features = 128,
                         .layers = 4,
                         .heads = 4,
                         .dropout = 0});
          }},
    Entry{{"llama", "language model of Touvron et al. 2023, 12 layers of 768"},
          [](const ModelOptions& o) {
            return llama({.vocabulary = given(o.classes, 32000), .context = given(o.size, 1024)});
          }},
    Entry{{"bert", "masked words, Devlin et al. 2018, base"},
          [](const ModelOptions& o) {
            return bert({.vocabulary = given(o.classes, 30522), .context = given(o.size, 512)});
          }},
    Entry{{"lstm_lm", "language model of two LSTM layers of 1024"},
          [](const ModelOptions& o) {
            return lstm_lm({.vocabulary = given(o.classes, 10000), .context = given(o.size, 35)});
          }},
    Entry{{"convnext_t", "Liu et al. 2022, tiny"},
          [](const ModelOptions& o) {
            return convnext({.classes = given(o.classes, 1000),
                             .channels = given(o.channels, 3),
                             .size = given(o.size, 224)});
          }},
    Entry{{"efficientnet_b0", "Tan and Le 2019"},
          [](const ModelOptions& o) {
            return efficientnet_b0({.classes = given(o.classes, 1000),
                                    .channels = given(o.channels, 3),
                                    .size = given(o.size, 224)});
          }},
    Entry{{"mixer", "MLP-Mixer-B/16 of Tolstikhin et al. 2021"},
          [](const ModelOptions& o) {
            return mixer({.classes = given(o.classes, 1000),
                          .channels = given(o.channels, 3),
                          .size = given(o.size, 224)});
          }},
    Entry{{"dlrm", "recommendations, Naumov et al. 2019, 26 tables of 100,000 rows"},
          [](const ModelOptions& o) {
            return dlrm({.rows = given(o.classes, 100000), .bag = given(o.size, 20)});
          }},
    Entry{{"unet", "segmentation, Ronneberger et al. 2015"},
          [](const ModelOptions& o) {
            return unet({.classes = given(o.classes, 2),
                         .channels = given(o.channels, 3),
                         .size = given(o.size, 256)});
          }},
};

}  // namespace

Model::Model(std::shared_ptr<const Module> module)
    : Module(module != nullptr ? *module : throw InvalidArgument("[Model] there is no module")),
      module_(std::move(module)) {}

TensorType Model::input_type(std::int64_t n) const {
  const std::vector<TensorType> types = batch_types(n);
  if (types.size() != 2) {
    throw InvalidArgument(
        "[Model] it does not say what it is fed; plan from a dataset, which does");
  }
  return types[0];
}

TensorType Model::target_type(std::int64_t n) const {
  input_type(n);
  return batch_types(n)[1];
}

Tensor Classifier::loss(const Tensor& input, const Tensor& target) const {
  return cross_entropy((*this)(input), target);
}

std::vector<ModelInfo> list_models() {
  std::vector<ModelInfo> all;
  for (const Entry& entry : kModels) all.push_back(entry.info);
  return all;
}

Model make_model(std::string_view name, const ModelOptions& options) {
  if (options.classes < 0 || options.channels < 0 || options.size < 0) {
    throw InvalidArgument(
        fmt::format("[make_model] classes {}, channels {}, size {}: none may be negative",
                    options.classes, options.channels, options.size));
  }
  std::string names;
  for (const Entry& entry : kModels) {
    if (entry.info.name == name) return entry.make(options);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.info.name);
  }
  throw InvalidArgument(
      fmt::format("[make_model] there is no model '{}'; there are {}", name, names));
}

}  // namespace plimsoll::nn
