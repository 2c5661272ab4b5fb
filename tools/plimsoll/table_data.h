#pragma once

#include <optional>
#include <string>

#include "training_data.h"

namespace plimsoll::tools {

/// Rows of numbers with a label each.
struct Table {
  std::string path;
  data::Dataset records;  ///< with an index
  data::Program to_row;   ///< of a record: (f32 of the row's shape, i64)
  Shape row;
  std::string summary;
};

/// What `--data` names, if that is a table: a CSV file of numbers, where the column called label,
/// class, target or y (else the last) is the label; or a folder with x.npy and y.npy. A CSV file
/// whose first row has numbers only has no header. One with exactly `unlabelled` columns, none of
/// them called like a label, has no labels. nullopt for anything else. DataError naming a cell that
/// does not fit.
std::optional<Table> find_table(const std::string& path, std::int64_t unlabelled = 0);

/// The largest label and 1 more: reads all of the table. DataError for labels that do not count
/// classes.
std::int64_t count_classes(const Table& table);

/// The rows as the model reads them; a tenth, drawn by seed 0, is for validation. InvalidArgument
/// where the model wants another number of features.
TrainingData table_data(const Table& table, const nn::Model& model, std::int64_t classes,
                        const TrainingDataOptions& options);

}  // namespace plimsoll::tools
