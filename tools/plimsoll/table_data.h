#pragma once

#include <optional>
#include <string>

#include <plimsoll/data/map_function.h>

#include "training_data.h"

namespace plimsoll::tools {

/// Rows of numbers with a label each.
struct Table {
  enum class Labels : std::uint8_t {
    none,     ///< there are none: 0
    numbers,  ///< of classes, from 0 on
    names,    ///< of classes
    values,   ///< numbers that are to be told, no classes
  };

  std::string path;
  data::Dataset records;  ///< with an index
  data::Program to_row;   ///< of a record: (f32 of the row's shape, its label)
  Shape row;
  std::string summary;
  Labels labels = Labels::numbers;
  std::optional<data::MapFunction> gather;  ///< what comes before to_row, if anything
  std::string label = {};                   ///< the column of the labels, if columns have names

  data::Dataset rows_of(const data::Dataset& some) const {
    return (gather ? some.map(*gather) : some).map(to_row);
  }
};

/// What `--data` names, if that is a table: a CSV file of numbers, where the column called label,
/// class, target or y (else the last) is the label: a whole number, a name, or, where it has
/// fractions, a value; a folder with x.npy and y.npy; or records of numbers, one of them called
/// like a label. A CSV file whose first row looks like the
/// second has no header. One with exactly `unlabelled` columns, none of them called like a label,
/// has no labels. nullopt for anything else. DataError naming a cell that does not fit.
std::optional<Table> find_table(const std::string& path, std::int64_t unlabelled = 0);

/// The largest label and 1 more, or the number of names: reads all of the table. 0 for values.
/// DataError for labels that do not count classes.
std::int64_t count_classes(const Table& table);

/// A model that tells one number of `features`, as an mlp does classes, and minimises the mean
/// squared error.
nn::Model value_model(std::int64_t features);

/// The rows as the model reads them; a tenth, drawn by seed 0, is for validation. `classes` is 0
/// for a model that tells values. InvalidArgument where the model wants another number of features
/// or another kind of label.
TrainingData table_data(const Table& table, const nn::Model& model, std::int64_t classes,
                        const TrainingDataOptions& options);

}  // namespace plimsoll::tools
