#pragma once

#include <plimsoll/nn/model.h>

// More models of text by name. Parameters are named as in Hugging Face's files (llama, bert) and
// PyTorch's word_language_model example (lstm_lm), so that published weights load.

namespace plimsoll::nn {

struct LlamaOptions {
  std::int64_t vocabulary = 32000;
  std::int64_t context = 1024;
  std::int64_t features = 768;
  std::int64_t hidden = 2048;  ///< of the gated feed-forward part
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t key_heads = 4;  ///< divides `heads`
  double theta = 10000;        ///< of the rotary positions
  double epsilon = 1e-5;
  /// The head is the embedding's transpose, and there is no lm_head.
  bool tied = false;
};
/// Touvron et al. 2023: RMSNorm, rotary positions, SwiGLU, fewer key than query heads. Fed as gpt2:
/// ids [n, tokens] and the ids that follow each; loss() never has whole logits. By name it has the
/// size above, 125 million parameters.
Model llama(const LlamaOptions& options = {});

struct BertOptions {
  std::int64_t vocabulary = 30522;
  std::int64_t context = 512;
  std::int64_t features = 768;
  std::int64_t hidden = 3072;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t kinds = 2;  ///< of tokens: first and second sentence
  double dropout = 0.1;    ///< of embeddings and results, not of attention's probabilities
  double epsilon = 1e-12;
  /// Tokens with this id are padding, which nobody attends to, where no mask is given; below 0:
  /// none are.
  std::int64_t padding_id = 0;
};
/// Devlin et al. 2018, for masked words (Hugging Face's BertForMaskedLM): ids [n, tokens] and, as
/// labels, the words that were masked, ops::kIgnoreLabel elsewhere. forward_all() also takes a mask
/// [n, tokens] of the tokens that count, and their kinds [n, tokens].
Model bert(const BertOptions& options = {});

struct LstmLmOptions {
  std::int64_t vocabulary = 10000;
  std::int64_t context = 35;
  std::int64_t features = 1024;  ///< of the embedding
  std::int64_t hidden = 1024;
  std::int64_t layers = 2;
  double dropout = 0.2;
  /// The decoder is the embedding's transpose; needs as many features as hidden.
  bool tied = false;
};
/// An embedding, an LSTM, a dense layer; every batch begins with a state of zeros. Steps are
/// unrolled: see nn/recurrent.h.
Model lstm_lm(const LstmLmOptions& options = {});

}  // namespace plimsoll::nn
