#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/device.h>

namespace plimsoll {

Limit Limit::share(double share) {
  if (!(share > 0) || !(share <= 1)) {
    throw InvalidArgument(
        fmt::format("[Limit::share] {} is not a share; give one above 0 and at most 1", share));
  }
  Limit limit;
  limit.share_ = share;
  return limit;
}

Limit Limit::parse(std::string_view text, std::string_view what) {
  if (!text.ends_with('%')) return Limit(parse_bytes(text, what));
  const std::string_view number = text.substr(0, text.size() - 1);
  double percent = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent,
                                            std::chars_format::fixed);
  const bool is_number = error == std::errc{} && end == number.data() + number.size() &&
                         number.front() >= '0' && number.front() <= '9';
  if (!is_number || !(percent > 0) || !(percent <= 100)) {
    throw InvalidArgument(fmt::format(
        "{}: \"{}\" is not a share of a device; write one above 0% and up to 100%, or a "
        "size like 8GiB",
        what, text.substr(0, 64)));
  }
  return share(percent / 100);
}

std::optional<Bytes> Limit::resolve(Bytes total) const {
  if (bytes_) return bytes_;
  if (share_ <= 0) return std::nullopt;
  if (share_ == 1) return total;
  const double bytes = std::floor(static_cast<double>(total) * share_);
  return std::min(static_cast<Bytes>(bytes), total);
}

}  // namespace plimsoll
