#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <plimsoll/data/element.h>
#include <plimsoll/data/map_function.h>
#include <plimsoll/data/program.h>
#include <plimsoll/data/records.h>
#include <plimsoll/data/spec.h>
#include <plimsoll/data/symbolic.h>
#include <plimsoll/device/device.h>

namespace plimsoll::data {

class Node;
using NodePtr = std::shared_ptr<const Node>;

/// Cardinalities that are not counts.
inline constexpr std::int64_t kInfinite = -1;
inline constexpr std::int64_t kUnknown = -2;

/// How many threads a stage may use, or how much it may hold, is the pipeline's choice.
inline constexpr int kAutotune = -1;

struct MapOptions {
  /// 1: in the thread that drives the pipeline. More: up to so many at a time in the pipeline's
  /// threads, results in order. kAutotune: as many as shorten the wait.
  int parallel = 1;
  /// False: results as they are done. The stream then depends on timing, and a pipeline with such a
  /// stage cannot be saved.
  bool ordered = true;
};

struct ShuffleOptions {
  /// The window: each element goes out at random among this many. kWholeSet draws a permutation
  /// of the whole set without a buffer, where elements have an index.
  std::int64_t elements = 0;
  /// The window in bytes of contents: as many elements as it takes to reach this. 0: no such bound.
  /// With `elements`, too, whichever is reached first. No budget changes the window.
  Bytes bytes = 0;
  /// Without one, the pipeline's seed and the stage's place decide.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// Another order in each epoch.
  bool reshuffle_each_iteration = true;
  /// What of the window does not fit in the budget goes to a file without a name, up to this many
  /// bytes of it; 0: nothing does. It never changes the stream.
  Bytes spill_limit = GiB(16);
  /// Where that file is; empty: the system's folder for temporary files. One that lies in memory
  /// (tmpfs) gains nothing.
  std::string spill_folder = {};
};
inline constexpr std::int64_t kWholeSet = 0;

struct BatchOptions {
  bool drop_remainder = false;
};

struct PaddedBatchOptions {
  /// What to pad each component to, one list of extents per component; kAnyExtent: to the longest
  /// in the batch. Empty: that everywhere.
  std::vector<std::vector<std::int64_t>> shapes = {};
  /// What to pad with: a scalar per component, or one for all, of the components' dtypes. Empty:
  /// zeros and empty byte strings.
  std::vector<Value> values = {};
  bool drop_remainder = false;
};

struct WindowOptions {
  /// Elements from the beginning of one window to that of the next; without one, `size`.
  std::optional<std::int64_t> shift = std::nullopt;
  /// Elements from one to the next within a window.
  std::int64_t stride = 1;
  bool drop_remainder = false;
};

struct ListFilesOptions {
  /// In a random order, another one in each epoch; without it sorted by name.
  bool shuffle = false;
  std::optional<std::uint64_t> seed = std::nullopt;
};

struct InterleaveOptions {
  /// Inputs open at a time.
  int cycle_length = 4;
  /// Elements taken from one before the next has its turn.
  int block_length = 1;
  /// Inputs that are run ahead at a time, each on a strand of its own; kAutotune: all that are
  /// open. The order is the same for any number.
  int parallel = 1;
};

struct CacheOptions {
  /// Bytes that this cache may take in its folder. What exceeds it is made again in each epoch.
  Bytes quota = kUnlimited;
  /// Elements are written in segments of about so many bytes; what a kill loses at most.
  Bytes segment = MiB(16);
};

struct SampleOptions {
  std::optional<std::uint64_t> seed = std::nullopt;
  /// True: ends with the first dataset that has ended. False: goes on with the others.
  bool stop_on_empty = false;
};

struct BucketOptions {
  bool drop_remainder = false;
  /// Pad to the bucket's boundary less one, instead of the longest of the batch. Elements of the
  /// last bucket must then be within the last boundary.
  bool pad_to_boundary = false;
};

/// Gives, for an element and the state so far, the new state and what goes out.
using ScanFunction =
    std::function<std::pair<Element, Element>(const Element& state, const Element& element)>;

/// A set that gives any element by its index. Called by one thread at a time; `get` must give the
/// same element for the same index every time.
struct Indexable {
  std::int64_t size = 0;
  std::function<Element(std::int64_t index)> get;
  ElementSpec spec = ElementSpec::unknown();
  /// Part of the signature.
  std::string name = "indexable";
};

/// Elements from a callable. `begin` gives a function that returns the elements one after the
/// other and nullopt at the end; it is called for each epoch, and again to replay after a restore,
/// and must give the same elements each time.
struct Generator {
  using Next = std::function<std::optional<Element>()>;
  std::function<Next()> begin;
  ElementSpec spec = ElementSpec::unknown();
  std::string name = "generator";
  /// May wait for something outside: it is called on a thread of its own, a few elements ahead.
  bool blocking = false;
};

/// A description of a stream of elements, with tf.data's names. Immutable: each method gives a new
/// one and leaves this as it is; copies are cheap. Nothing runs and nothing is allocated from any
/// budget before a Pipeline is made of it. Thread-safe.
///
/// Methods throw InvalidArgument for parameters that make no sense or do not fit the elements.
class Dataset {
 public:
  // Moving copies the handle: there are no empty datasets.
  Dataset(const Dataset&) = default;
  Dataset& operator=(const Dataset&) = default;

  // Sources.

  /// i64 scalars begin, begin + step, ... before `end`.
  static Dataset range(std::int64_t end) { return range(0, end); }
  static Dataset range(std::int64_t begin, std::int64_t end, std::int64_t step = 1);
  /// Slices along the first dimension, which all tensors share. Elements are views of them.
  static Dataset from_tensor_slices(std::vector<Tensor> tensors,
                                    std::vector<std::string> names = {});
  static Dataset from_indexable(Indexable set);
  static Dataset from_generator(Generator generator);
  /// Paths that match a glob pattern ("train/*.jpg"). Listed now; DataError if there is none.
  static Dataset list_files(const std::string& pattern, const ListFilesOptions& options = {});
  /// (image, label): the pictures of a folder per class as u8 [?,?,channels], classes numbered in
  /// the order of their names, files sorted. JPEG and PNG by name. Listed now; DataError if there
  /// is none.
  ///
  /// Pictures are decoded as late as can be: shuffle, split, take, skip and shard that follow
  /// choose among files, and maps by programs that follow are one with decoding, so that resizing
  /// and cropping read no more of a picture than they need. classes() tells the classes' names.
  static Dataset image_folder(const std::string& folder, const image::DecodeOptions& options = {});
  /// (path, label): the same files without decoding them.
  static Dataset image_paths(const std::string& folder);
  /// The lines of the files, one after the other, without their ends (\n or \r\n).
  static Dataset text_lines(std::vector<std::string> paths);
  /// Slices along the first dimension of arrays in NumPy's format, one file after the other, which
  /// have the same dtype and the same other dimensions. Headers are read now; slices when they are
  /// asked for, with pread into memory from the budget. Versions 1 to 3 of the format; numbers and
  /// booleans that have a DType, in either byte order, and fixed byte strings ("S8": DType::bytes
  /// without the zeros at their ends). DataError naming the file for all others (objects, records,
  /// Unicode, Fortran order, a file shorter than its header says).
  static Dataset from_npy(std::vector<std::string> paths);
  template <std::convertible_to<std::string> Path>
  static Dataset from_npy(const Path& path) {
    return from_npy(std::vector<std::string>{std::string(path)});
  }

  /// Records of TFRecord files, parsed as tf.train.Example into these features; without any, the
  /// records as they are, byte strings. Compressed files (GZIP, ZLIB) are recognised; they are read
  /// in order, so that the whole set cannot be shuffled. An index of all files is read or built
  /// now, see RecordOptions.
  static Dataset tfrecords(const Shards& files, Features features = {},
                           const RecordOptions& options = {});
  /// Samples of tar files, as WebDataset has them: adjacent members whose names agree up to the
  /// first dot of the last part. A feature is a suffix in lower case ("jpg", "cls", "seg.png"), or
  /// several ("jpg;jpeg;png"); "__key__" is the name. i64 and f32 scalars are read from text, `npy`
  /// as an array, all else is bytes. Without features, those of webdataset_features().
  static Dataset webdataset(const Shards& files, Features features = {},
                            const RecordOptions& options = {});
  /// Samples of a folder in the MDS format of MosaicML Streaming, which has an index.json; the
  /// columns named, or all.
  static Dataset mds(const std::string& folder, std::vector<std::string> columns = {},
                     const RecordOptions& options = {});
  /// Rows of CSV files (RFC 4180: quotes, also around line ends). With a header, columns are found
  /// by name and may be some of those there; without one the features are all columns in order.
  /// Without features, those of csv_columns(). i64, f32, f64, bool and bytes; an empty field is a
  /// missing one.
  static Dataset csv(const Shards& files, Features columns = {}, const CsvOptions& options = {});
  /// Records of one size: the features' bytes one after the other, of any dtype but bytes. A
  /// feature of u8 with its length reads raw bytes.
  static Dataset fixed_records(const Shards& files, Features layout,
                               const FixedRecordOptions& options = {});
  /// What save() wrote there. DataError naming what is broken.
  static Dataset load(const std::string& folder);

  // Stages.

  /// A program, which runs natively and is part of the signature. InvalidArgument unless it takes
  /// elements such as these. Maps by programs one after the other become one program.
  Dataset map(const Program& program, const MapOptions& options = {.parallel = kAutotune}) const;
  /// The program that `function` describes, see symbolic.h: it is called now, once, with symbolic
  /// components, `map([](Symbolic image, Symbolic label) { ... })`.
  template <TracedFunction F>
  Dataset map(F&& function, const MapOptions& options = {.parallel = kAutotune}) const {
    return map(trace_program(element_spec(), std::forward<F>(function)), options);
  }
  /// A function of one's own, called for each element: the escape where a program will not do. It
  /// is told apart by its name alone.
  Dataset map(MapFunction function, const MapOptions& options = {}) const;
  /// A plain function of the element: `map([](const Element& e) { ... })`.
  Dataset map(std::function<Element(const Element&)> function,
              const MapOptions& options = {}) const;
  Dataset filter(std::function<bool(const Element&)> predicate,
                 const std::string& name = "predicate") const;
  /// The elements of the dataset that `function` gives for each element, one after the other.
  Dataset flat_map(std::function<Dataset(const Element&)> function,
                   const std::string& name = "function") const;
  /// The same, from several at a time by turns, in tf.data's order.
  Dataset interleave(std::function<Dataset(const Element&)> function,
                     const InterleaveOptions& options = {},
                     const std::string& name = "function") const;
  /// Puts `size` elements together: each component gets a first dimension. Shapes must agree.
  Dataset batch(std::int64_t size, const BatchOptions& options = {}) const;
  /// The same for elements whose extents differ: shorter ones are padded at their ends. DataError
  /// naming an element that exceeds a given shape.
  Dataset padded_batch(std::int64_t size, const PaddedBatchOptions& options = {}) const;
  /// Windows of `size` elements, each put together as `batch` does: a sliding window has a shift
  /// below its size. The last ones are shorter, unless dropped. What tf.data writes
  /// `window(n, ...).flat_map(lambda w: w.batch(n))`; `flat_map(from_tensor_slices)` or unbatch()
  /// takes windows apart again.
  Dataset window(std::int64_t size, const WindowOptions& options = {}) const;
  /// The elements of each batch one by one.
  Dataset unbatch() const;
  /// The whole set in a random order, another one in each epoch, without a buffer; InvalidArgument
  /// where elements have no index. With a window, as tf.data does: `shuffle(1024)`.
  Dataset shuffle(const ShuffleOptions& options = {}) const;
  Dataset shuffle(std::int64_t window) const;
  /// Two parts that have no element in common, in any epoch, whatever is shuffled before or after:
  /// `auto [train, validation] = files.split(0.8)`. The seed decides which elements go to which
  /// part; the first has round(share * cardinality()) of them. Needs a source with an index, or
  /// one after which there are only maps, shuffles, caches and prefetches; split before a map, or
  /// both parts do its work for all elements. The parts have an index where the input has one.
  std::pair<Dataset, Dataset> split(double share, std::uint64_t seed = 0) const;
  /// `count` times over; without one, for ever.
  Dataset repeat(std::int64_t count = -1) const;
  /// The first `count` elements; -1: all. Of a set that is shuffled these are others in each epoch:
  /// for training and validation, use split().
  Dataset take(std::int64_t count) const;
  /// All but the first `count`; -1: none of them.
  Dataset skip(std::int64_t count) const;
  /// Elements whose position is `index` modulo `shards`.
  Dataset shard(std::int64_t shards, std::int64_t index) const;
  /// Puts an i64 position before the components.
  Dataset enumerate(std::int64_t start = 0) const;
  /// The components of all, side by side; ends with the shortest. Has an index if all have one.
  static Dataset zip(const std::vector<Dataset>& datasets);
  /// This, then `other`, whose elements are of the same kind.
  Dataset concatenate(const Dataset& other) const;
  /// Keeps the elements of the first epoch in memory and gives those in the later ones. Their
  /// tensors are read-only: write to a clone().
  Dataset cache() const;
  /// The same in files of `folder`, which later runs use: segments with checksums under a
  /// fingerprint of everything upstream and of the data's names, sizes and times; another pipeline
  /// or changed data has another. A run that was killed leaves whole segments, and the next one
  /// goes on from there; several may write at a time. A full disk or quota, told in a warning,
  /// leaves the rest to be made again in each epoch. InvalidArgument where upstream cannot be told
  /// apart by its description: an unordered map.
  Dataset cache(const std::string& folder, const CacheOptions& options = {}) const;
  /// Makes up to `count` elements ahead of the consumer, as far as the budget allows.
  Dataset prefetch(int count = kAutotune) const;
  /// The same with the numbers copied to `device`, of whose budget up to `count` elements are taken
  /// ahead as Tag::prefetch, and delivered ones as Tag::user; scalars and byte strings stay with
  /// the host. Where the device has no room, next() throws OutOfMemory naming its holders, and the
  /// same element comes once there is. BudgetTooSmall, from the pipeline, for a device that one
  /// element of the spec would exceed.
  Dataset prefetch_to(const Device& device, int count = 2) const;
  /// Leaves out elements that fail with a DataError: up to `most` in an epoch (-1: any number), and
  /// `rate` of the elements seen so far on top of that.
  Dataset ignore_errors(std::int64_t most = -1, double rate = 0) const;

  /// Elements of the datasets in a random order, from each with its share of `weights` (equal ones
  /// if empty). All have the same kind of elements.
  static Dataset sample_from_datasets(const std::vector<Dataset>& datasets,
                                      const std::vector<double>& weights = {},
                                      const SampleOptions& options = {});
  /// The next element of the dataset whose number `choice` gives, an i64 scalar; ends with it.
  static Dataset choose_from_datasets(const std::vector<Dataset>& datasets, const Dataset& choice,
                                      bool stop_on_empty = true);
  /// Elements of the whole set drawn with replacement, each with its weight, `count` of them in an
  /// epoch (-1: as many as there are); without a buffer. Needs elements with an index.
  Dataset sample_weighted(const std::vector<double>& weights, std::int64_t count = -1,
                          std::optional<std::uint64_t> seed = std::nullopt) const;
  /// The same with every class of an image_folder equally likely.
  Dataset balance_classes(std::int64_t count = -1,
                          std::optional<std::uint64_t> seed = std::nullopt) const;
  /// Collects elements of about the same length, and batches them as padded_batch does: bucket i
  /// has lengths below `boundaries[i]` and batches of `sizes[i]`; one more for all longer ones.
  Dataset bucket_by_sequence_length(std::function<std::int64_t(const Element&)> length,
                                    const std::vector<std::int64_t>& boundaries,
                                    const std::vector<std::int64_t>& sizes,
                                    const BucketOptions& options = {},
                                    const std::string& name = "length") const;
  /// Collects elements with the same key and gives the elements of the dataset that `reduce` makes
  /// of each `window` of them; what is left goes at the end, by key.
  Dataset group_by_window(
      std::function<std::int64_t(const Element&)> key,
      std::function<Dataset(std::int64_t key, const std::vector<Element>& window)> reduce,
      std::int64_t window, const std::string& name = "function") const;
  /// `function` over the elements in order, handing a state on. A position holds the state, which
  /// has inline scalars only.
  Dataset scan(Element state, ScanFunction function, const std::string& name = "function") const;
  /// Up to the first element for which `predicate` does not hold.
  Dataset take_while(std::function<bool(const Element&)> predicate,
                     const std::string& name = "predicate") const;
  /// The elements of batches in batches of another size.
  Dataset rebatch(std::int64_t size, const BatchOptions& options = {}) const;

  // What it is.

  /// Names of the classes of an image_folder (or image_paths), in the order of their labels; empty
  /// where this is not made of one.
  std::vector<std::string> classes() const;
  /// How many files each of classes() has. Parts (take, skip, shard, split) of the folder count
  /// theirs; filters, repetitions and skipped errors change nothing.
  std::vector<std::int64_t> class_counts() const;
  /// As far as the stages say it, without running.
  const ElementSpec& element_spec() const;
  /// Elements of one epoch, or kInfinite, or kUnknown.
  std::int64_t cardinality() const;
  /// One line per stage, inputs indented: names and what decides the stream, the same for the same
  /// pipeline. How it runs (`parallel`) is no part of it.
  std::string signature() const;

  /// For stages and pipelines.
  explicit Dataset(NodePtr node) : node_(std::move(node)) {}
  const NodePtr& node() const { return node_; }

 private:
  NodePtr node_;
};

/// Runs one epoch of `dataset` and writes its elements to `folder`, for Dataset::load(); returns
/// how many. Published by rename, in place of what was there. Throws as Pipeline::next(), and
/// StorageError where the disk is full.
std::int64_t save(const Dataset& dataset, const std::string& folder, const Device& device);

/// Throws InvalidArgument where the two are parts of one set that are not the same elements in each
/// epoch: `take` and `skip` of a set that is shuffled anew, parts of two different splits.
void require_disjoint(const Dataset& train, const Dataset& validation);

}  // namespace plimsoll::data
