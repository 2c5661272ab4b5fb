#include <plimsoll/ops/switches.h>

namespace plimsoll::ops {
namespace {

thread_local SwitchReads* innermost = nullptr;

}  // namespace

SwitchReads::SwitchReads() : around_(innermost) { innermost = this; }
SwitchReads::~SwitchReads() { innermost = around_; }

SwitchReads* SwitchReads::current() { return innermost; }

void SwitchReads::note(const std::shared_ptr<const bool>& flag) {
  if (around_ != nullptr) around_->note(flag);
  reads_.try_emplace(flag.get(), Read{flag, *flag});
}

std::vector<SwitchReads::Read> SwitchReads::settled() const {
  std::vector<Read> found;
  for (const auto& [at, read] : reads_) {
    if (read.holds()) found.push_back(read);
  }
  return found;
}

}  // namespace plimsoll::ops
