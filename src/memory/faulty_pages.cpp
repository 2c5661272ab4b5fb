#include <plimsoll/memory/faulty_pages.h>

#include <string>

namespace plimsoll {

void FaultyPages::fail_at(std::uint64_t n, std::uint64_t count) {
  fail_from_ = 0;  // disarmed while the two numbers do not belong together
  if (n == 0 || count == 0) return;
  const std::uint64_t from = calls_ + n;
  fail_to_ = count > ~from ? ~std::uint64_t{0} : from + count;
  fail_from_ = from;
}

void FaultyPages::count(const char* call) {
  const std::uint64_t number = ++calls_;
  const std::uint64_t from = fail_from_;
  if (from == 0 || number < from || number >= fail_to_) return;
  ++faults_;
  throw OutOfPages("[" + std::string(call) + "] " + name() + ": call " + std::to_string(number) +
                   " was made to fail");
}

AddressRange FaultyPages::reserve(Bytes bytes) {
  count("reserve");
  return upstream_->reserve(bytes);
}

void FaultyPages::release(AddressRange range) {
  count("release");
  upstream_->release(range);
}

void FaultyPages::map(AddressRange range, Bytes chunk) {
  count("map");
  upstream_->map(range, chunk);
}

void FaultyPages::unmap(AddressRange range) {
  count("unmap");
  upstream_->unmap(range);
}

void FaultyPages::move(AddressRange from, AddressRange to) {
  count("move");
  upstream_->move(from, to);
}

}  // namespace plimsoll
