#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <plimsoll/base/dtype.h>
#include <plimsoll/base/shape.h>
#include <plimsoll/device/device.h>
#include <plimsoll/memory/tag.h>
#include <plimsoll/tensor/storage.h>
#include <plimsoll/tensor/symbol.h>
#include <plimsoll/tensor/tensor_type.h>

namespace plimsoll {

/// How a new tensor's memory is accounted, and on which stream it will be used.
struct TensorOptions {
  Tag tag = Tag::user;
  std::string_view label = "tensor";
  StreamId stream = kHostStream;
  /// Where valid, the line that is charged, in the device's budget or one below it; `tag` and
  /// `label` are then only what the storage says of itself.
  Account account = {};
};

struct PrintOptions {
  std::int64_t threshold = 1000;  ///< with more elements only the edges are shown
  std::int64_t edge = 3;          ///< elements shown at each end of a dimension
  int precision = 8;              ///< digits after the point, at most
  int width = 75;                 ///< columns
};

/// An n-dimensional array: shared storage, a dtype, a shape, and strides in elements.
///
/// A Tensor is a handle. Copies and views share the storage, which goes with the last of them and
/// keeps its device open. Views never copy. Distinct handles may be used from distinct threads;
/// who writes into storage that others read must synchronize with them.
///
/// All functions but those that say otherwise throw InvalidArgument for arguments that do not fit,
/// for an undefined tensor, and Error (naming session and label) when they need the data of a
/// tensor whose session was closed. Dimensions and indices below zero count from the end.
class Tensor {
 public:
  /// Undefined: has no shape, no dtype, no data.
  Tensor() = default;
  bool defined() const { return rep_ != nullptr; }

  // Making one. Throws OutOfMemory. Contents are written on TensorOptions::stream, after what was
  // submitted to it before, so that memory which that work still uses is not written early.

  /// Contents are unspecified. DType::bytes has from_strings instead.
  static Tensor empty(const Shape& shape, DType dtype, const Device& device,
                      const TensorOptions& options = {});
  static Tensor zeros(const Shape& shape, DType dtype, const Device& device,
                      const TensorOptions& options = {});
  /// A copy of `values`, in row-major order; there must be as many as `shape` has elements. They
  /// have been read on return.
  template <typename T>
  static Tensor from_values(std::span<const T> values, const Shape& shape, const Device& device,
                            const TensorOptions& options = {}) {
    return from_host(values.data(), values.size(), dtype_of<T>, shape, device, options);
  }
  template <typename T>
  static Tensor from_values(std::initializer_list<T> values, const Shape& shape,
                            const Device& device, const TensorOptions& options = {}) {
    return from_host(values.begin(), values.size(), dtype_of<T>, shape, device, options);
  }
  /// DType::bytes: byte strings of any length, in one block of a host device.
  static Tensor from_strings(std::span<const std::string_view> values, const Shape& shape,
                             const Device& device, const TensorOptions& options = {});
  static Tensor from_strings(std::span<const std::string> values, const Shape& shape,
                             const Device& device, const TensorOptions& options = {});
  static Tensor from_strings(std::initializer_list<std::string_view> values, const Shape& shape,
                             const Device& device, const TensorOptions& options = {});
  /// A tensor on storage that exists. `offset` is in bytes and a multiple of the dtype's size,
  /// `strides` in elements, one per dimension; empty means row-major. All elements must lie within
  /// the storage.
  static Tensor from_storage(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape,
                             std::span<const std::int64_t> strides = {}, Bytes offset = 0);

  /// A tensor without data, of a trace or not yet allocated. It has a dtype and a shape; whatever
  /// needs data or a device throws InvalidArgument naming `symbol`.
  static Tensor symbolic(const TensorType& type, std::shared_ptr<const Symbol> symbol);

  // What it is.

  /// Names this value in this process: copies of the handle share it, views and clones do not.
  std::uint64_t id() const;
  /// True if it has no data; symbol() then says what it stands for, else it is null.
  bool is_symbolic() const { return symbol() != nullptr; }
  const std::shared_ptr<const Symbol>& symbol() const;
  TensorType type() const { return {dtype(), shape()}; }
  DType dtype() const;
  const Shape& shape() const;
  int rank() const { return shape().rank(); }
  std::int64_t dim(int dim) const { return shape().dim(dim); }
  std::int64_t elements() const { return shape().elements(); }
  std::span<const std::int64_t> strides() const;
  /// Bytes of the elements: those of a view count only once each is part of it. For DType::bytes
  /// the sum of the lengths.
  Bytes nbytes() const;
  const Device& device() const;
  const std::shared_ptr<Storage>& storage() const;
  /// Where the first element is in the storage, in bytes.
  Bytes offset() const;
  /// True if the elements lie in row-major order without gaps.
  bool is_contiguous() const;

  // Its data.

  /// Address of the first element, on the tensor's device; the others lie by strides(). Null if
  /// there are no elements. For DType::bytes the table of offsets, which is not promised.
  const void* raw_data() const;
  /// The same for writing. InvalidArgument if the storage is read-only.
  void* raw_mutable_data();
  /// raw_data() for work that is submitted to `stream` of the tensor's device from now on, see
  /// Storage::data_on: the host waits for nothing.
  const void* raw_data_on(StreamId stream) const;
  /// The same for a tensor in the host's memory with elements of type T.
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(host_data(dtype_of<T>));
  }
  template <typename T>
  T* mutable_data() {
    return static_cast<T*>(host_mutable_data(dtype_of<T>));
  }
  /// The value of a tensor with one element of type T, on any device.
  template <typename T>
  T item() const {
    T value{};
    copy_one(&value, dtype_of<T>);
    return value;
  }
  /// Copies all elements, in row-major order, to or from the host; from and to any device and any
  /// strides. `values` must have exactly as many.
  template <typename T>
  void copy_to(std::span<T> values) const {
    copy_to_host(values.data(), values.size(), dtype_of<T>);
  }
  template <typename T>
  void copy_from(std::span<const T> values) {
    copy_from_host(values.data(), values.size(), dtype_of<T>);
  }
  template <typename T>
  requires(!std::is_same_v<T, bool>) std::vector<T> to_vector()
  const {
    std::vector<T> values(static_cast<std::size_t>(elements()));
    copy_to(std::span<T>(values));
    return values;
  }
  /// Element `index`, in row-major order, of a tensor of DType::bytes; valid as long as the
  /// storage is.
  std::string_view string_at(std::int64_t index) const;

  // Views: same storage, no copy.

  /// The same elements in the same order under another shape. InvalidArgument where the strides do
  /// not allow it; then use contiguous() first.
  Tensor reshape(const Shape& shape) const;
  /// Elements begin, begin + step, ... before `end` of dimension `dim`; the default is its end.
  /// Throws if they are not within the dimension.
  Tensor slice(int dim, std::int64_t begin, std::int64_t end = kToEnd, std::int64_t step = 1) const;
  /// Element `index` of dimension `dim`, which goes away.
  Tensor select(int dim, std::int64_t index) const;
  Tensor transpose(int dim0, int dim1) const;
  /// Dimension i of the result is dimension `order[i]` of this.
  Tensor permute(std::span<const int> order) const;
  Tensor permute(std::initializer_list<int> order) const {
    return permute(std::span<const int>(order.begin(), order.size()));
  }
  /// Takes out dimension `dim`, which must have extent 1; without argument all such.
  Tensor squeeze(int dim) const;
  Tensor squeeze() const;
  /// Puts a dimension of extent 1 in at `dim`, 0 to rank().
  Tensor unsqueeze(int dim) const;
  /// The same elements in storage that refuses to be written through this view and its views;
  /// through others it is as before.
  Tensor read_only() const;

  static constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

  // Copies, finished on return. Gradients flow through them. Throws OutOfMemory.

  /// Itself if it is contiguous or has no data, else a copy on the same device with the same tag
  /// and label.
  Tensor contiguous() const;
  /// Itself if it is on `device` already, else a contiguous copy there.
  Tensor to(const Device& device) const;
  Tensor to(const Device& device, const TensorOptions& options) const;
  /// A contiguous copy on `device` in any case; without arguments on the same device with the same
  /// tag and label.
  Tensor clone(const Device& device, const TensorOptions& options) const;
  Tensor clone() const;

  /// The values as NumPy writes them, then dtype, shape and device: "f32 [2,3] on cpu:0". Does not
  /// throw for an undefined tensor or one whose session was closed, but says so.
  std::string to_string(const PrintOptions& options = {}) const;

 private:
  struct Rep;
  explicit Tensor(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}

  static Tensor from_host(const void* values, std::size_t count, DType dtype, const Shape& shape,
                          const Device& device, const TensorOptions& options);
  /// What this tensor is; throws InvalidArgument naming the function `who` if it is undefined or
  /// has no data.
  const Rep& rep(const char* who) const;
  /// The same for what needs no data.
  const Rep& type_rep(const char* who) const;
  /// What takes the place of a view, by the ViewListener of this thread; undefined if nothing does.
  Tensor recorded_view(const ViewOf& view) const;
  /// True for a value that is computed later, by that listener.
  bool is_computed_later() const;
  Tensor view(const Shape& shape, std::span<const std::int64_t> strides, Bytes offset) const;
  template <typename At>
  static Tensor make_strings(std::size_t count, At at, const Shape& shape, const Device& device,
                             const TensorOptions& options);
  Tensor clone_strings(const Device& device, const TensorOptions& options) const;
  const void* host_data(DType dtype) const;
  void* host_mutable_data(DType dtype);
  void copy_one(void* to, DType dtype) const;
  void copy_to_host(void* to, std::size_t count, DType dtype) const;
  void copy_from_host(const void* from, std::size_t count, DType dtype);

  std::shared_ptr<const Rep> rep_;
};

}  // namespace plimsoll
