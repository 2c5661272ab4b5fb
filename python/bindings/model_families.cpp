// The families behind the models by name, with all of their options.
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/recommendation_models.h>
#include <plimsoll/nn/vision_models.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {
namespace {

#define PLIMSOLL_PICTURES "classes: int = 1000, channels: int = 3, size: int = 224"

nn::ResnetOptions resnet(const Given& given) {
  return {given.integer("channels"), given.integer("size"),
          as_layout(given.value("layout"), given.where("layout"))};
}

void bind_pictures(nb::module_& m) {
  define(m, "resnet18", "*, " PLIMSOLL_PICTURES ", layout: str = 'channels_first'", "Model",
         "He et al. 2015.", [](const Given& given) {
           return nb::cast(nn::resnet18(given.integer("classes"), resnet(given)));
         });
  define(m, "resnet50", "*, " PLIMSOLL_PICTURES ", layout: str = 'channels_first'", "Model",
         "He et al. 2015.", [](const Given& given) {
           return nb::cast(nn::resnet50(given.integer("classes"), resnet(given)));
         });
  define(m, "vit",
         "*, " PLIMSOLL_PICTURES
         ", patch: int = 16, features: int = 768, layers: int = 12, heads: "
         "int = 12, dropout: float = 0.0",
         "Model", "Dosovitskiy et al. 2020; the size is a multiple of the patch.",
         [](const Given& given) {
           return nb::cast(
               nn::vit({given.integer("classes"), given.integer("channels"), given.integer("size"),
                        given.integer("patch"), given.integer("features"), given.integer("layers"),
                        given.integer("heads"), given.number("dropout")}));
         });
  define(m, "unet", "*, classes: int = 2, channels: int = 3, size: int = 256, width: int = 64",
         "Model", "Ronneberger et al. 2015: logits [n, classes, h, w] for labels [n, h, w].",
         [](const Given& given) {
           return nb::cast(nn::unet({given.integer("classes"), given.integer("channels"),
                                     given.integer("size"), given.integer("width")}));
         });
  define(m, "convnext",
         "*, " PLIMSOLL_PICTURES
         ", blocks: typing.Sequence[int] = (3, 3, 9, 3), widths: "
         "typing.Sequence[int] = (96, 192, 384, 768), drop_path: float = 0.1",
         "Model", "Liu et al. 2022.", [](const Given& given) {
           return nb::cast(nn::convnext({given.integer("classes"), given.integer("channels"),
                                         given.integer("size"), given.integers("blocks"),
                                         given.integers("widths"), given.number("drop_path")}));
         });
  define(m, "efficientnet_b0",
         "*, " PLIMSOLL_PICTURES ", dropout: float = 0.2, drop_path: float = 0.2", "Model",
         "Tan and Le 2019.", [](const Given& given) {
           return nb::cast(nn::efficientnet_b0({given.integer("classes"), given.integer("channels"),
                                                given.integer("size"), given.number("dropout"),
                                                given.number("drop_path")}));
         });
  define(m, "mixer",
         "*, " PLIMSOLL_PICTURES
         ", patch: int = 16, features: int = 768, layers: int = 12, "
         "token_hidden: int = 0, feature_hidden: int = 0",
         "Model", "Tolstikhin et al. 2021.", [](const Given& given) {
           return nb::cast(nn::mixer(
               {given.integer("classes"), given.integer("channels"), given.integer("size"),
                given.integer("patch"), given.integer("features"), given.integer("layers"),
                given.integer("token_hidden"), given.integer("feature_hidden")}));
         });
}

void bind_texts(nb::module_& m) {
  define(
      m, "llama",
      "*, vocabulary: int = 32000, context: int = 1024, features: int = 768, hidden: int = 2048, "
      "layers: int = 12, heads: int = 12, key_heads: int = 4, theta: float = 10000.0, epsilon: "
      "float = 1e-05, tied: bool = False",
      "Model", "Touvron et al. 2023. Fed as gpt2: ids [n, tokens] and the ids that follow each.",
      [](const Given& given) {
        return nb::cast(
            nn::llama({given.integer("vocabulary"), given.integer("context"),
                       given.integer("features"), given.integer("hidden"), given.integer("layers"),
                       given.integer("heads"), given.integer("key_heads"), given.number("theta"),
                       given.number("epsilon"), given.flag("tied")}));
      });
  define(
      m, "bert",
      "*, vocabulary: int = 30522, context: int = 512, features: int = 768, hidden: int = 3072, "
      "layers: int = 12, heads: int = 12, kinds: int = 2, dropout: float = 0.1, epsilon: float = "
      "1e-12, padding_id: int = 0",
      "Model",
      "Devlin et al. 2018, for masked words: ids [n, tokens], and as labels the words that were "
      "masked, -100 elsewhere.",
      [](const Given& given) {
        return nb::cast(
            nn::bert({given.integer("vocabulary"), given.integer("context"),
                      given.integer("features"), given.integer("hidden"), given.integer("layers"),
                      given.integer("heads"), given.integer("kinds"), given.number("dropout"),
                      given.number("epsilon"), given.integer("padding_id")}));
      });
  define(m, "lstm_lm",
         "*, vocabulary: int = 10000, context: int = 35, features: int = 1024, hidden: int = 1024, "
         "layers: int = 2, dropout: float = 0.2, tied: bool = False",
         "Model", "An embedding, an LSTM and a dense layer.", [](const Given& given) {
           return nb::cast(
               nn::lstm_lm({given.integer("vocabulary"), given.integer("context"),
                            given.integer("features"), given.integer("hidden"),
                            given.integer("layers"), given.number("dropout"), given.flag("tied")}));
         });
}

void bind_choices(nb::module_& m) {
  define(m, "dlrm",
         "*, dense: int = 13, tables: int = 26, rows: int = 100000, features: int = 64, bag: int = "
         "20, bottom: typing.Sequence[int] = (512, 256), top: typing.Sequence[int] = (512, 256)",
         "Model",
         "Naumov et al. 2019, fed with i64 [n, dense + tables * bag]: counts, then bags of ids "
         "filled up with 0; labels are 0 or 1.",
         [](const Given& given) {
           return nb::cast(
               nn::dlrm({given.integer("dense"), given.integer("tables"), given.integer("rows"),
                         given.integer("features"), given.integer("bag"), given.integers("bottom"),
                         given.integers("top")}));
         });
}

}  // namespace

void bind_model_families(nb::module_& m) {
  bind_pictures(m);
  bind_texts(m);
  bind_choices(m);
}

}  // namespace plimsoll::python
