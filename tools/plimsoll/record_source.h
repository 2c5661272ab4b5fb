#pragma once

#include <optional>
#include <string>
#include <vector>

#include <plimsoll/data/dataset.h>

namespace plimsoll::tools {

/// Files of records that `--data` or an argument names.
struct RecordSource {
  std::string kind;  ///< "tfrecord", "webdataset", "mds" or "csv"
  std::string path;  ///< as it was given
  std::vector<std::string> files;
  data::Features features;           ///< what the first records have
  std::vector<std::string> classes;  ///< names of the labels, where `data pack` has written them
};

/// What a file, a pattern or a folder has in the way of records, by names: *.tfrecord, *.tar,
/// *.csv, an index.json. nullopt where there are none. Throws DataError where they cannot be read.
std::optional<RecordSource> find_records(const std::string& path);

/// Whether a folder has files of records, by their names.
bool has_records(const std::string& folder);

/// How a file's name ends, in small letters: ".csv" of "TABLE.CSV".
std::string lower_extension(const std::string& name);

/// All features of the records.
data::Dataset all_records(const RecordSource& source);

/// (picture, label): the coded pictures and their classes. InvalidArgument naming the features
/// where no feature is a picture or none a label.
data::Dataset picture_records(const RecordSource& source);

/// As a whole where the records have an index; compressed ones within a window.
data::Dataset shuffled(const data::Dataset& records);

/// The names of the classes beside files that `data pack` wrote.
inline constexpr const char* kClassesFile = "classes.json";

}  // namespace plimsoll::tools
