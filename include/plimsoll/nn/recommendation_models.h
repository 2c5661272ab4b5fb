#pragma once

#include <vector>

#include <plimsoll/nn/model.h>

// Models that recommend, by name.

namespace plimsoll::nn {

struct DlrmOptions {
  std::int64_t dense = 13;  ///< features that are counts
  std::int64_t tables = 26;
  std::int64_t rows = 100000;                     ///< of each table; id 0 of each is padding
  std::int64_t features = 64;                     ///< of a row
  std::int64_t bag = 20;                          ///< ids that an example has for a table, at most
  std::vector<std::int64_t> bottom = {512, 256};  ///< hidden layers for the counts
  std::vector<std::int64_t> top = {512, 256};     ///< hidden layers for the interactions
};
/// Naumov et al. 2019: counts through a perceptron, ids through tables of embeddings whose bags are
/// added up, the inner products of all pairs of these vectors, and another perceptron.
///
/// Fed with one i64 tensor [n, dense + tables * bag]: the counts, of which the logarithm of 1 + x
/// is taken (negative ones count as 0), then the ids of table after table, in [0, rows), bags
/// filled up with 0. Labels [n] are 0 or 1; forward() gives a logit for each, and loss() is their
/// binary cross-entropy. All tables are one parameter, `tables.weight` [tables * rows, features],
/// so that a step reads and updates them at once: with sgd(), adagrad() or lazy_adam() without
/// weight decay only the rows that were read.
Model dlrm(const DlrmOptions& options = {});

}  // namespace plimsoll::nn
