#include <plimsoll/nn/published_names.h>

#include <array>

namespace plimsoll::nn {
namespace {

constexpr std::array<std::string_view, 3> kBases = {"transformer.", "model.", "bert."};

/// Whether the last parts of a dotted name are these.
bool ends_in(std::string_view name, std::string_view parts) {
  if (!name.ends_with(parts)) return false;
  return name.size() == parts.size() || name[name.size() - parts.size() - 1] == '.';
}

}  // namespace

bool is_left_out(std::string_view name, const Shape& shape) {
  if (ends_in(name, "attn.bias")) {
    // A causal mask; a bias of a layer has one dimension.
    return shape.rank() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3];
  }
  return ends_in(name, "num_batches_tracked") || ends_in(name, "attn.masked_bias") ||
         ends_in(name, "embeddings.position_ids") || ends_in(name, "rotary_emb.inv_freq");
}

std::string_view lacking_prefix(std::span<const std::string> names,
                                const std::function<bool(const std::string& name)>& has) {
  for (const std::string_view base : kBases) {
    bool begun = false;
    bool fits = true;
    for (const std::string& name : names) {
      if (!name.starts_with(base)) continue;
      begun = true;
      if (has(name) || !has(name.substr(base.size()))) fits = false;
    }
    if (begun && fits) return base;
  }
  return {};
}

}  // namespace plimsoll::nn
