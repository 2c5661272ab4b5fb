#include <plimsoll/base/log.h>

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace plimsoll {
namespace {

std::shared_ptr<spdlog::logger> make_logger() {
  // Not registered with spdlog: a program that uses spdlog itself keeps its own settings.
  auto logger = std::make_shared<spdlog::logger>("plimsoll",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("plimsoll: %l: %v");
  logger->set_level(spdlog::level::warn);
  logger->flush_on(spdlog::level::trace);
  const char* wanted = std::getenv("PLIMSOLL_LOG");
  if (wanted == nullptr || *wanted == '\0') return logger;
  const std::string name = wanted;
  const auto level = spdlog::level::from_str(name);
  if (level == spdlog::level::off && name != "off") {
    logger->warn("PLIMSOLL_LOG is \"{}\"; it takes off, error, warning, info or debug", name);
  } else {
    logger->set_level(level);
  }
  return logger;
}

void write(spdlog::level::level_enum level, std::string_view message) noexcept {
  try {
    static const std::shared_ptr<spdlog::logger> kLogger = make_logger();
    kLogger->log(level, spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {  // NOLINT(bugprone-empty-catch): a lost line is no reason to end the work
  }
}

}  // namespace

void log_warning(std::string_view message) noexcept { write(spdlog::level::warn, message); }
void log_info(std::string_view message) noexcept { write(spdlog::level::info, message); }
void log_debug(std::string_view message) noexcept { write(spdlog::level::debug, message); }

}  // namespace plimsoll
