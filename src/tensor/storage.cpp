#include <plimsoll/tensor/storage.h>

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll {

std::shared_ptr<Storage> Storage::allocate(const Device& device, Bytes bytes, Tag tag,
                                           std::string_view label, StreamId stream,
                                           const Account& account) {
  auto storage = std::make_shared<Storage>(Key{}, device, label, tag, bytes);
  storage->block_ = account.valid() ? device.arena().allocate(bytes, account, stream)
                                    : device.allocate(bytes, tag, label, stream);
  return storage;
}

std::shared_ptr<Storage> Storage::adopt(const Device& device, void* data, Bytes bytes,
                                        std::function<void()> release, bool read_only,
                                        std::string_view label) {
  if (data == nullptr && bytes != 0) {
    throw InvalidArgument(
        fmt::format("[Storage::adopt] {} at a null address", format_bytes(bytes)));
  }
  auto storage = std::make_shared<Storage>(Key{}, device, label, Tag::user, bytes);
  storage->foreign_ = true;
  storage->address_ = data;
  storage->read_only_ = read_only;
  storage->release_ = std::move(release);
  return storage;
}

std::shared_ptr<Storage> Storage::read_only_view(std::shared_ptr<Storage> of) {
  if (of == nullptr) throw InvalidArgument("[Storage::read_only_view] no storage");
  auto storage = std::make_shared<Storage>(Key{}, of->device(), of->label(), of->tag(), of->size());
  storage->foreign_ = of->foreign_;
  storage->read_only_ = true;
  storage->viewed_ = std::move(of);
  return storage;
}

Storage::~Storage() {
  if (release_) release_();
}

bool Storage::alive() const {
  if (viewed_) return viewed_->alive();
  return foreign_ || size_ == 0 || block_.data() != nullptr;
}

void* Storage::data() const {
  if (viewed_) return viewed_->data();
  if (arrival_) arrival_->wait();
  return address();
}

void* Storage::data_on(StreamId stream) const {
  if (viewed_) return viewed_->data_on(stream);
  void* const data = address();
  if (arrival_ && !arrival_->done()) device_.wait(stream, arrival_);
  if (block_) block_.record_use(stream);
  return data;
}

void* Storage::address() const {
  if (foreign_) return address_;
  void* address = block_.data();
  if (address == nullptr && size_ != 0) {
    throw Error(fmt::format(
        "[Tensor] the memory of \"{}\" went with session {}, which is closed; copy what "
        "must outlive a session to another device before closing it",
        label_, device_.name()));
  }
  return address;
}

}  // namespace plimsoll
