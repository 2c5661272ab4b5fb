#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <plimsoll/data/dataset.h>
#include <plimsoll/device/device.h>
#include <plimsoll/nn/model.h>

namespace plimsoll::tools {

/// What `--data` stands for: single elements (input, target), not yet batched.
struct TrainingData {
  std::optional<data::Dataset> train;
  std::optional<data::Dataset> validation;  ///< none: there is none
  std::int64_t train_count = 0;
  std::int64_t validation_count = 0;
  Bytes decode = 0;         ///< what a file and its decoding may take
  std::string decode_file;  ///< the file that takes it, where the headers said so
  Bytes held = 0;           ///< bytes that the elements are made of, outside any arena
  std::string summary;      ///< classes and counts for a reader, with line ends; may be empty
};

/// What the data says about the model before there is one.
nn::ModelOptions model_options_for(const std::string& data, const std::string& model,
                                   nn::ModelOptions given);

/// "digits", "synthetic", records of pictures with labels (find_records), or a folder: of a folder
/// per class, or with `train` and `val` or `validation` in it that are. `elements` is the size of a
/// synthetic set; without `validates` nothing for validation is looked at. Throws InvalidArgument
/// for folders that are not that.
TrainingData training_data(const std::string& name, const nn::Model& model, std::int64_t elements,
                           std::uint64_t seed, bool validates);

/// `--data` as it is remembered for a resumed run: a folder with its whole path.
std::string absolute_data(const std::string& name);

}  // namespace plimsoll::tools
