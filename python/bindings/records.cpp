// Files of records: reading, writing, and what is in them. plimsoll/data.py has what people use.
#include <plimsoll/data/records.h>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/data/dataset.h>
#include <plimsoll/data/disk_cache.h>
#include <plimsoll/data/record_writer.h>

#include "bind_parts.h"
#include "elements.h"
#include "given.h"
#include "interrupt.h"
#include "train.h"

namespace plimsoll::python {
namespace {

using data::Dataset;

#define PLIMSOLL_FILES                                                                  \
  "files: str | os.PathLike[str] | typing.Sequence[str | os.PathLike[str]], features: " \
  "typing.Mapping[str, typing.Any] | None = None, *, "
#define PLIMSOLL_RECORDS                                                                  \
  "verify: bool = True, index_folder: str | os.PathLike[str] | None = None, index_from: " \
  "int | str = '1MiB'"

data::Shards shards(const Given& given) {
  return {as_paths(given.value("files"), given.where("files"))};
}

data::RecordOptions options(const Given& given) {
  data::RecordOptions options;
  options.verify = given.flag("verify");
  if (!given.is_none("index_folder")) options.index_folder = given.path("index_folder");
  options.index_from = as_bytes(given.value("index_from"), given.where("index_from"));
  return options;
}

/// {"label": pm.i64, "box": (pm.f32, (4,)), "ids": (pm.i64, (None,)), "weight": (pm.f32, (), 1.0)}
data::Features features(const Given& given, const char* name = "features") {
  data::Features all;
  if (given.is_none(name)) return all;
  const nb::object value = given.value(name);
  if (PyDict_Check(value.ptr()) == 0) {
    wrong_type(given.where(name), value,
               "it must be a dict of names: {\"image\": \"bytes\", \"box\": (pm.f32, (4,))}");
  }
  for (const auto& [key, what] : nb::borrow<nb::dict>(value)) {
    const std::string called = as_text(key, given.where(name));
    std::vector<std::int64_t> dims;
    std::optional<data::Value> missing;
    nb::object dtype = nb::borrow(what);
    if (PyTuple_Check(what.ptr()) != 0 && length(what) > 0) {
      dtype = what[0];
      if (length(what) > 1) {
        for (nb::handle extent : nb::object(what[1])) {
          dims.push_back(extent.is_none() ? data::kAnyExtent : as_int(extent, given.where(name)));
        }
      }
      if (length(what) > 2) missing = to_value(what[2], nullptr, given.where(name));
    }
    all.emplace_back(called, as_dtype(dtype, given.where(name)), dims, missing);
  }
  return all;
}

nb::object as_dict(const data::Features& features) {
  nb::dict dict;
  for (const data::Feature& each : features) {
    nb::list dims;
    if (each.spec.dims) {
      for (const std::int64_t extent : *each.spec.dims) {
        dims.append(extent == data::kAnyExtent ? nb::none() : nb::object(nb::int_(extent)));
      }
    }
    dict[nb::cast(each.name)] = nb::make_tuple(each.spec.dtype, nb::tuple(dims));
  }
  return dict;
}

data::CsvOptions csv_options(const Given& given) {
  const std::string delimiter = given.text("delimiter");
  if (delimiter.size() != 1) {
    wrong_value(given.where("delimiter"), given.value("delimiter"), "it must be one character");
  }
  return {delimiter.front(), given.flag("header"), options(given)};
}

#define PLIMSOLL_CSV "delimiter: str = ',', header: bool = True, " PLIMSOLL_RECORDS
#define PLIMSOLL_FILES_ONLY \
  "files: str | os.PathLike[str] | typing.Sequence[str | os.PathLike[str]], *, "

void bind_readers(nb::module_& m) {
  define(m, "tfrecords", PLIMSOLL_FILES PLIMSOLL_RECORDS, "_Dataset",
         "Records of TFRecord files, parsed as tf.train.Example.", [](const Given& given) {
           const data::Shards files = shards(given);
           data::Features wanted = features(given);
           const data::RecordOptions how = options(given);
           return computed([&] { return Dataset::tfrecords(files, std::move(wanted), how); });
         });
  define(m, "webdataset", PLIMSOLL_FILES PLIMSOLL_RECORDS, "_Dataset",
         "Samples of tar files, as WebDataset has them.", [](const Given& given) {
           const data::Shards files = shards(given);
           data::Features wanted = features(given);
           const data::RecordOptions how = options(given);
           return computed([&] { return Dataset::webdataset(files, std::move(wanted), how); });
         });
  define(m, "mds",
         "folder: str | os.PathLike[str], columns: typing.Sequence[str] = (), *, " PLIMSOLL_RECORDS,
         "_Dataset", "Samples of a folder in the MDS format.", [](const Given& given) {
           const std::string folder = given.path("folder");
           std::vector<std::string> columns =
               as_texts(given.value("columns"), given.where("columns"));
           const data::RecordOptions how = options(given);
           return computed([&] { return Dataset::mds(folder, std::move(columns), how); });
         });
  define(m, "csv", PLIMSOLL_FILES PLIMSOLL_CSV, "_Dataset", "Rows of CSV files.",
         [](const Given& given) {
           const data::Shards files = shards(given);
           data::Features wanted = features(given);
           const data::CsvOptions how = csv_options(given);
           return computed([&] { return Dataset::csv(files, std::move(wanted), how); });
         });
  define(
      m, "fixed_records",
      PLIMSOLL_FILES_ONLY
      "layout: typing.Mapping[str, typing.Any], header_bytes: int | str = 0, footer_bytes: int | "
      "str = 0, big_endian: bool = False, " PLIMSOLL_RECORDS,
      "_Dataset", "Records of one size.", [](const Given& given) {
        const data::Shards files = shards(given);
        data::Features layout = features(given, "layout");
        const data::FixedRecordOptions how{
            as_bytes(given.value("header_bytes"), given.where("header_bytes")),
            as_bytes(given.value("footer_bytes"), given.where("footer_bytes")),
            given.flag("big_endian"), options(given)};
        return computed([&] { return Dataset::fixed_records(files, std::move(layout), how); });
      });
  define(m, "load", "folder: str | os.PathLike[str]", "_Dataset", "What save() wrote.",
         [](const Given& given) {
           const std::string folder = given.path("folder");
           return computed([&] { return Dataset::load(folder); });
         });
}

void bind_features(nb::module_& m) {
  define(m, "tfrecord_features", PLIMSOLL_FILES_ONLY PLIMSOLL_RECORDS,
         "dict[str, tuple[DType, tuple[int | None, ...]]]",
         "The features that the first records of TFRecord files have.", [](const Given& given) {
           return as_dict(data::tfrecord_features(shards(given), options(given)));
         });
  define(m, "webdataset_features", PLIMSOLL_FILES_ONLY PLIMSOLL_RECORDS,
         "dict[str, tuple[DType, tuple[int | None, ...]]]",
         "The members that the first sample of WebDataset shards has.", [](const Given& given) {
           return as_dict(data::webdataset_features(shards(given), options(given)));
         });
  define(m, "mds_columns", "folder: str | os.PathLike[str]",
         "dict[str, tuple[DType, tuple[int | None, ...]]]", "The columns of an MDS folder.",
         [](const Given& given) { return as_dict(data::mds_columns(given.path("folder"))); });
  define(m, "csv_columns", PLIMSOLL_FILES_ONLY PLIMSOLL_CSV,
         "dict[str, tuple[DType, tuple[int | None, ...]]]",
         "The columns of CSV files, by their first 1,000 rows.", [](const Given& given) {
           return as_dict(data::csv_columns(shards(given), csv_options(given)));
         });
}

void bind_writers(nb::module_& m) {
  define(
      m, "write_records",
      "dataset: typing.Any, folder: str | os.PathLike[str], *, format: str = 'tfrecord', shards: "
      "int = 0, shard_bytes: int | str = '256MiB', compression: str = 'none', device: Device | "
      "Session | str | None = None",
      "tuple[int, int, list[str]]",
      "Runs one epoch of `dataset` and writes its elements to files in `folder`: \"tfrecord\", "
      "\"webdataset\" or \"mds\". Gives records, bytes and files.\n\n"
      ">>> pm.data.write_records(dataset, \"shards\", format=\"webdataset\", shards=4)",
      [](const Given& given) {
        const Dataset set = as_dataset(given.value("dataset"), given.where("dataset"));
        const std::string folder = given.path("folder");
        const Device device = as_device(given.value("device"), given.where("device"));
        data::WriteOptions options;
        options.format = static_cast<data::RecordKind>(
            given.choice("format", {"tfrecord", "webdataset", "mds"}));
        options.shards = given.integer("shards");
        options.shard_bytes = as_bytes(given.value("shard_bytes"), given.where("shard_bytes"));
        options.compression =
            static_cast<data::Compression>(given.choice("compression", {"none", "gzip", "zlib"}));
        const data::WrittenRecords written =
            run_interruptibly([&] { return data::write_records(set, folder, device, options); });
        return nb::object(nb::make_tuple(written.records, written.bytes, written.files));
      });
  define(m, "save",
         "dataset: typing.Any, folder: str | os.PathLike[str], *, device: Device | Session | str | "
         "None = None",
         "int", "Runs one epoch and writes its elements to `folder`, for load(); gives how many.",
         [](const Given& given) {
           const Dataset set = as_dataset(given.value("dataset"), given.where("dataset"));
           const std::string folder = given.path("folder");
           const Device device = as_device(given.value("device"), given.where("device"));
           return nb::cast(run_interruptibly([&] { return data::save(set, folder, device); }));
         });
  define(m, "list_cache", "folder: str | os.PathLike[str], *, verify: bool = False",
         "list[dict[str, typing.Any]]",
         "What cache(folder) has kept: name, pipeline, segments, elements, bytes, complete and "
         "broken of each. With `verify` every checksum is checked.",
         [](const Given& given) {
           nb::list list;
           for (const auto& each : data::list_cache(given.path("folder"), given.flag("verify"))) {
             nb::dict entry;
             entry["name"] = each.name;
             entry["pipeline"] = each.pipeline;
             entry["segments"] = each.segments;
             entry["elements"] = each.elements;
             entry["bytes"] = each.bytes;
             entry["complete"] = each.complete;
             entry["broken"] = each.broken;
             list.append(entry);
           }
           return nb::object(list);
         });
  define(m, "clear_cache", "folder: str | os.PathLike[str], name: str = ''", "int",
         "Removes the cache of that name, or all; returns how many bytes that freed.",
         [](const Given& given) {
           return nb::cast(data::clear_cache(given.path("folder"), given.text("name")));
         });
}

}  // namespace

void bind_records(nb::module_& records) {
  bind_readers(records);
  bind_features(records);
  bind_writers(records);
}

}  // namespace plimsoll::python
