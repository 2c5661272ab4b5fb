#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/data/dataset.h>
#include <plimsoll/device/device.h>
#include <plimsoll/nn/model.h>

#include "augment_option.h"

namespace plimsoll::tools {

/// What `--data` stands for: single elements (input, target), not yet batched.
struct TrainingData {
  std::optional<data::Dataset> train;
  std::optional<data::Dataset> validation;  ///< none: there is none
  std::int64_t train_count = 0;
  std::int64_t validation_count = 0;
  Bytes decode = 0;         ///< what a file and its decoding may take
  std::string decode_file;  ///< the file that takes it, where the headers said so
  Bytes held = 0;           ///< what the elements are made of and described by, in no arena
  std::string summary;      ///< classes and counts for a reader, with line ends; may be empty
  std::vector<std::string> names;  ///< of the classes, where a table has names for labels
  std::string class_folders;       ///< the folder with a folder per class, where there is one
};

/// What the data says about the model before there is one.
nn::ModelOptions model_options_for(const std::string& data, const std::string& model,
                                   nn::ModelOptions given);

/// The model called `model` for the data: with its classes and channels, and, of an mlp for a
/// table, with its features, one that tells numbers where the targets are. InvalidArgument for a
/// model that cannot learn from the data.
nn::Model training_model(const std::string& data, const std::string& model,
                         const nn::ModelOptions& given);

/// Classes that the model tells apart: the extent that its output has and its target has not.
std::int64_t classes_of(const nn::Model& model);

/// What a model was made with, kept beside its checkpoints.
struct ModelShape {
  std::int64_t classes = 0;         ///< or tokens
  std::vector<std::int64_t> input;  ///< of one element
  bool values = false;              ///< tells a number, not a class
  std::vector<std::string> names;   ///< of the classes, where they were named in a table
};
ModelShape shape_of(const nn::Model& model);
/// The model called `name` with that shape.
nn::Model shaped_model(const std::string& name, const ModelShape& shape, bool channels_last);

/// What decides over the data besides its name.
struct TrainingDataOptions {
  std::int64_t elements = 0;  ///< the size of a synthetic set
  std::uint64_t seed = 0;
  /// For a trained model: not shuffled, and validation data that lies apart is looked for in any
  /// case.
  bool in_order = false;
  /// Whether there is to be a part for validation, for which a table and a text are divided.
  bool validates = true;
  /// Whether rows of a table may come without labels; those are then 0.
  bool unlabelled = false;
  /// Of the classes, for a trained model: labels of a table are looked up there.
  std::vector<std::string> names;
  Augmentation augment;  ///< of pictures for training
};

/// "digits", "synthetic", a text file, a table (find_table), records of pictures with labels
/// (find_records), or a folder: of a folder per class, or with `train` and `val` or `validation` in
/// it that are. Throws InvalidArgument for folders that are not that.
TrainingData training_data(const std::string& name, const nn::Model& model,
                           const TrainingDataOptions& options);

/// `--data` as it is remembered for a resumed run: a folder with its whole path.
std::string absolute_data(const std::string& name);

}  // namespace plimsoll::tools
