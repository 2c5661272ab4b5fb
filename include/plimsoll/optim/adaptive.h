#pragma once

#include <plimsoll/optim/optimizer.h>

// More rules. adagrad and lazy_adam are one op each; the others are written in ops: they run
// wherever those do, and are planned with their temporaries. Defaults are PyTorch's where it has
// the rule. Weight decay is added to the gradient, unless said otherwise, and `epsilon` to the
// root.

namespace plimsoll::optim {

struct AdagradOptions {
  Schedule lr = 0.01;
  double lr_decay = 0;             ///< the rate is divided by 1 + lr_decay * (step - 1)
  double initial_accumulator = 0;  ///< Keras: 0.1
  double epsilon = 1e-10;          ///< Keras: 1e-7
  double weight_decay = 0;
  std::vector<Group> groups = {};
};
/// Duchi et al. 2011: gradients divided by the root of the sum of their squares so far. As with
/// plain sgd(), planned steps update tables that are only read by embedding() row by row; see
/// graph::with_row_updates().
Optimizer adagrad(const AdagradOptions& options = {});

struct LazyAdamOptions {
  Schedule lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  std::vector<Group> groups = {};
};
/// Adam for large tables of embeddings: a row (a slice of the first dimension) of a parameter of
/// two or more dimensions whose gradient is 0 everywhere keeps its value and its moments, where
/// adam() would let the moments decay and move it by them. Planned steps then touch only the rows
/// that were read. Not Adam: results differ from adam()'s. Parameters of one dimension or none are
/// updated as adam() does.
Optimizer lazy_adam(const LazyAdamOptions& options = {});

struct AdadeltaOptions {
  Schedule lr = 1.0;
  double rho = 0.9;
  double epsilon = 1e-6;  ///< under both roots
  double weight_decay = 0;
  std::vector<Group> groups = {};
};
/// Zeiler 2012.
Optimizer adadelta(const AdadeltaOptions& options = {});

struct NadamOptions {
  Schedule lr = 0.002;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum_decay = 0.004;
  double weight_decay = 0;
  std::vector<Group> groups = {};
};
/// Dozat 2016: Adam with Nesterov's momentum.
Optimizer nadam(const NadamOptions& options = {});

struct LionOptions {
  Schedule lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;  ///< shrinks the parameter itself
  std::vector<Group> groups = {};
};
/// Chen et al. 2023: steps of one size in the direction of the sign. Half of Adam's state.
Optimizer lion(const LionOptions& options = {});

struct LambOptions {
  Schedule lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;  ///< added to the step before its length is measured
  std::vector<Group> groups = {};
};
/// You et al. 2019: Adam's step, as long as the parameter it changes. Where either length is 0, the
/// step is as long as it is.
Optimizer lamb(const LambOptions& options = {});

struct AdafactorOptions {
  Schedule lr = 0.01;
  double beta2_decay = -0.8;      ///< the second moment's memory is 1 - step^beta2_decay
  double epsilon = 1.1920929e-7;  ///< the least second moment, squared
  double least_scale = 1e-3;      ///< the least root mean square that a parameter counts with
  double clip = 1.0;              ///< the largest root mean square of a step
  double weight_decay = 0;        ///< shrinks the parameter itself
  std::vector<Group> groups = {};
};
/// Shazeer and Stern 2018, as PyTorch has it: of a matrix only the means of rows and of columns of
/// the second moment are kept, so that its state is next to nothing.
Optimizer adafactor(const AdafactorOptions& options = {});

/// AdamW whose moments are kept in 8 bits each, in blocks of 256 elements with an f32 scale
/// (Dettmers et al. 2021): 2.03 bytes for each element, about a quarter of adamw()'s 8. The first
/// moment is stored by the root of its size, the second by its fourth root, so that small elements
/// of a block keep a few digits; a step itself is computed in f32 from what it read. Parameters of
/// fewer than 4096 elements keep f32 moments. Steps differ from adamw()'s by the rounding of what
/// is kept.
Optimizer adamw_8bit(const AdamOptions& options = {.weight_decay = 0.01});

}  // namespace plimsoll::optim
