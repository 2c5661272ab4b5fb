// Losses, which are functions of tensors.
#include <plimsoll/nn/losses.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {
namespace {

#define PLIMSOLL_WEIGHTS "weights: Tensor | Variable | None = None"
#define PLIMSOLL_PREDICTION "prediction: Tensor | Variable, target: Tensor | Variable"
#define PLIMSOLL_SIDES "a: Tensor | Variable, b: Tensor | Variable"

using Weighed = Tensor (*)(const Tensor&, const Tensor&, const Tensor&);
/// Of a prediction and a target, with weights.
template <Weighed op>
void weighed(nb::module_& nn, const char* name, const char* doc) {
  define(nn, name, PLIMSOLL_PREDICTION ", *, " PLIMSOLL_WEIGHTS, "Tensor", doc,
         [](const Given& given) {
           const Tensor prediction = given.tensor("prediction");
           const Tensor target = given.tensor("target");
           const Tensor weights = given.optional_tensor("weights");
           return computed([&] { return op(prediction, target, weights); });
         });
}

nn::CrossEntropyOptions options(const Given& given) {
  return {given.number("smoothing"), given.optional_tensor("class_weights"),
          given.optional_tensor("weights")};
}

#define PLIMSOLL_CROSS_ENTROPY \
  ", *, smoothing: float = 0.0, class_weights: Tensor | Variable | None = None, " PLIMSOLL_WEIGHTS

void bind_classes(nb::module_& nn) {
  define(nn, "cross_entropy",
         "logits: Tensor | Variable, labels: Tensor | Variable" PLIMSOLL_CROSS_ENTROPY, "Tensor",
         "The mean cross-entropy of logits [..., classes] with labels [...] (i32 or i64). Labels "
         "of -100 do not count. Floating labels of the logits' shape are "
         "distributions over the classes, as MixUp and CutMix give them.\n\n>>> "
         "pm.nn.cross_entropy(net(x), labels, smoothing=0.1)",
         [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor labels = given.tensor("labels");
           const nn::CrossEntropyOptions how = options(given);
           return computed([&] { return nn::cross_entropy(logits, labels, how); });
         });
  define(nn, "cross_entropy_dense",
         "logits: Tensor | Variable, targets: Tensor | Variable" PLIMSOLL_CROSS_ENTROPY, "Tensor",
         "The mean cross-entropy of logits with a distribution over the classes for each row.",
         [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor targets = given.tensor("targets");
           const nn::CrossEntropyOptions how = options(given);
           return computed([&] { return nn::cross_entropy_dense(logits, targets, how); });
         });
  define(nn, "binary_cross_entropy",
         "logits: Tensor | Variable, targets: Tensor | Variable, *, " PLIMSOLL_WEIGHTS, "Tensor",
         "Of logits with probabilities between 0 and 1, element by element.",
         [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor targets = given.tensor("targets");
           const Tensor weights = given.optional_tensor("weights");
           return computed([&] { return nn::binary_cross_entropy(logits, targets, weights); });
         });
  define(nn, "focal", "logits: Tensor | Variable, labels: Tensor | Variable, *, gamma: float = 2.0",
         "Tensor", "cross_entropy with each row times (1 - p)^gamma: Lin et al. 2017.",
         [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor labels = given.tensor("labels");
           const double gamma = given.number("gamma");
           return computed([&] { return nn::focal(logits, labels, gamma); });
         });
  define(nn, "binary_focal",
         "logits: Tensor | Variable, targets: Tensor | Variable, *, gamma: float = 2.0, alpha: "
         "float = 0.25",
         "Tensor",
         "The focal loss of single logits: positive targets count alpha, others 1 - alpha.",
         [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor targets = given.tensor("targets");
           const double gamma = given.number("gamma");
           const double alpha = given.number("alpha");
           return computed([&] { return nn::binary_focal(logits, targets, gamma, alpha); });
         });
  define(nn, "kl_divergence",
         "log_prediction: Tensor | Variable, target: Tensor | Variable, *, " PLIMSOLL_WEIGHTS,
         "Tensor",
         "target (log(target) - log_prediction) over the last dimension: the mean over rows.",
         [](const Given& given) {
           const Tensor prediction = given.tensor("log_prediction");
           const Tensor target = given.tensor("target");
           const Tensor weights = given.optional_tensor("weights");
           return computed([&] { return nn::kl_divergence(prediction, target, weights); });
         });
}

void bind_sequences(nb::module_& nn) {
  define(nn, "ctc_loss",
         "logits: Tensor | Variable, labels: Tensor | Variable, logit_lengths: Tensor | Variable | "
         "None = None, label_lengths: Tensor | Variable | None = None, *, blank: int = 0, "
         "reduction: str = 'mean', zero_infinity: bool = False",
         "Tensor",
         "Connectionist temporal classification: how improbable labels [n, most] are, over all "
         "ways to align them with the steps of logits [n, steps, classes]. Without logit_lengths "
         "[n] all steps count, and without label_lengths [n] the labels up to the first negative "
         "one. The mean is of each sequence's loss divided by the number of its labels; 'none' "
         "gives the losses [n]. A sequence that is too short for its labels has an infinite loss, "
         "or 0 with zero_infinity. On the CPU only.\n\n"
         ">>> pm.nn.ctc_loss(net(x), labels, steps, label_lengths)",
         [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor labels = given.tensor("labels");
           const Tensor steps = given.optional_tensor("logit_lengths");
           const Tensor count = given.optional_tensor("label_lengths");
           const nn::CtcLossOptions options = {
               .blank = given.integer("blank"),
               .reduction = static_cast<nn::CtcReduction>(
                   given.choice("reduction", {"mean", "sum", "none"})),
               .zero_infinity = given.flag("zero_infinity")};
           return computed([&] { return nn::ctc_loss(logits, labels, steps, count, options); });
         });
}

void bind_vectors(nb::module_& nn) {
  define(nn, "cosine_similarity", PLIMSOLL_SIDES ", *, epsilon: float = 1e-08", "Tensor",
         "a b / (|a| |b|) over the last dimension.", [](const Given& given) {
           const Tensor a = given.tensor("a");
           const Tensor b = given.tensor("b");
           const double epsilon = given.number("epsilon");
           return computed([&] { return nn::cosine_similarity(a, b, epsilon); });
         });
  define(nn, "cosine_distance", PLIMSOLL_SIDES ", *, " PLIMSOLL_WEIGHTS, "Tensor",
         "The mean of 1 - cosine_similarity.", [](const Given& given) {
           const Tensor a = given.tensor("a");
           const Tensor b = given.tensor("b");
           const Tensor weights = given.optional_tensor("weights");
           return computed([&] { return nn::cosine_distance(a, b, weights); });
         });
  define(nn, "cosine_embedding", PLIMSOLL_SIDES ", same: Tensor | Variable, *, margin: float = 0.0",
         "Tensor", "1 - similarity for rows with `same` 1, else max(0, similarity - margin).",
         [](const Given& given) {
           const Tensor a = given.tensor("a");
           const Tensor b = given.tensor("b");
           const Tensor same = given.tensor("same");
           const double margin = given.number("margin");
           return computed([&] { return nn::cosine_embedding(a, b, same, margin); });
         });
  define(nn, "contrastive", PLIMSOLL_SIDES ", same: Tensor | Variable, *, margin: float = 1.0",
         "Tensor", "d squared for rows with `same` 1, else max(0, margin - d) squared.",
         [](const Given& given) {
           const Tensor a = given.tensor("a");
           const Tensor b = given.tensor("b");
           const Tensor same = given.tensor("same");
           const double margin = given.number("margin");
           return computed([&] { return nn::contrastive(a, b, same, margin); });
         });
  define(nn, "triplet",
         "anchor: Tensor | Variable, positive: Tensor | Variable, negative: Tensor | Variable, *, "
         "margin: float = 1.0",
         "Tensor", "max(0, margin + |anchor - positive| - |anchor - negative|)",
         [](const Given& given) {
           const Tensor anchor = given.tensor("anchor");
           const Tensor positive = given.tensor("positive");
           const Tensor negative = given.tensor("negative");
           const double margin = given.number("margin");
           return computed([&] { return nn::triplet(anchor, positive, negative, margin); });
         });
}

}  // namespace

void bind_losses(nb::module_& nn) {
  weighed<nn::mean_squared_error>(nn, "mean_squared_error",
                                  "The mean of (prediction - target) squared.");
  weighed<nn::mean_absolute_error>(nn, "mean_absolute_error", "The mean of |prediction - target|.");
  weighed<nn::log_cosh>(nn, "log_cosh", "The mean of log(cosh(prediction - target)).");
  weighed<nn::hinge>(nn, "hinge", "max(0, 1 - target * prediction); targets are -1 or 1.");
  weighed<nn::squared_hinge>(nn, "squared_hinge", "The square of hinge().");
  define(nn, "huber", PLIMSOLL_PREDICTION ", *, delta: float = 1.0, " PLIMSOLL_WEIGHTS, "Tensor",
         "d squared / 2 where |d| is at most delta, else delta (|d| - delta / 2).",
         [](const Given& given) {
           const Tensor prediction = given.tensor("prediction");
           const Tensor target = given.tensor("target");
           const double delta = given.number("delta");
           const Tensor weights = given.optional_tensor("weights");
           return computed([&] { return nn::huber(prediction, target, delta, weights); });
         });
  define(nn, "smooth_l1", PLIMSOLL_PREDICTION ", *, beta: float = 1.0, " PLIMSOLL_WEIGHTS, "Tensor",
         "huber(delta=beta) / beta", [](const Given& given) {
           const Tensor prediction = given.tensor("prediction");
           const Tensor target = given.tensor("target");
           const double beta = given.number("beta");
           const Tensor weights = given.optional_tensor("weights");
           return computed([&] { return nn::smooth_l1(prediction, target, beta, weights); });
         });
  define(nn, "poisson",
         "log_rate: Tensor | Variable, target: Tensor | Variable, *, " PLIMSOLL_WEIGHTS, "Tensor",
         "exp(x) - target x: of counts, with the logarithm x of their rate.",
         [](const Given& given) {
           const Tensor rate = given.tensor("log_rate");
           const Tensor target = given.tensor("target");
           const Tensor weights = given.optional_tensor("weights");
           return computed([&] { return nn::poisson(rate, target, weights); });
         });
  bind_classes(nn);
  bind_sequences(nn);
  bind_vectors(nn);
}

}  // namespace plimsoll::python
