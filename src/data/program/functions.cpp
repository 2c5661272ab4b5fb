// Functions of one's own that programs call.
#include <plimsoll/data/program_function.h>

#include <map>
#include <mutex>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/program_ops.h>

namespace plimsoll::data {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const ProgramFunction>> functions;
};
Registry& registry() {
  static auto* const all = new Registry;  // NOLINT: programs may outlive everything
  return *all;
}

}  // namespace

RegisteredFunction::RegisteredFunction(ProgramFunction function) {
  auto made = std::make_shared<const ProgramFunction>(std::move(function));
  const std::lock_guard lock(registry().mutex);
  key_ = made->name;
  for (int number = 2; registry().functions.contains(key_); ++number) {
    key_ = fmt::format("{}#{}", made->name, number);
  }
  registry().functions.emplace(key_, std::move(made));
}

RegisteredFunction::~RegisteredFunction() {
  const std::lock_guard lock(registry().mutex);
  registry().functions.erase(key_);
}

std::vector<Symbolic> call_function(const RegisteredFunction& function,
                                    const std::vector<Symbolic>& inputs) {
  if (inputs.empty()) {
    throw InvalidArgument(fmt::format(
        "[call_function] the function \"{}\" is called without inputs; give it at least one, which "
        "says what program it is called in",
        function.key()));
  }
  return call_like(inputs.front(), "call_function", inputs, {{"function", function.key()}});
}

std::shared_ptr<const ProgramFunction> find_program_function(const std::string& key) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().functions.find(key);
  if (found == registry().functions.end()) {
    throw InvalidArgument(
        fmt::format("[call_function] the function \"{}\" is gone; keep what registered it as long "
                    "as programs that call it",
                    key));
  }
  return found->second;
}

}  // namespace plimsoll::data
