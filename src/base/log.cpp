#include <plimsoll/base/log.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <plimsoll/base/log_sink.h>

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

struct Sink {
  std::mutex mutex;
  LogSink function;
};
Sink& sink() {
  static auto* const only = new Sink;  // NOLINT: messages come until the process ends
  return *only;
}

bool write_to_sink(LogLevel level, std::string_view message) {
  const std::lock_guard lock(sink().mutex);
  if (sink().function == nullptr) return false;
  sink().function(level, message);
  return true;
}

void write(spdlog::level::level_enum level, LogLevel ours, std::string_view message) noexcept {
  try {
    if (write_to_sink(ours, message)) return;
    static const std::shared_ptr<spdlog::logger> kLogger = make_logger();
    kLogger->log(level, spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {  // NOLINT(bugprone-empty-catch): a lost line is no reason to end the work
  }
}

}  // namespace

void log_warning(std::string_view message) noexcept {
  write(spdlog::level::warn, LogLevel::warning, message);
}
void log_info(std::string_view message) noexcept {
  write(spdlog::level::info, LogLevel::info, message);
}
void log_debug(std::string_view message) noexcept {
  write(spdlog::level::debug, LogLevel::debug, message);
}

void set_log_sink(LogSink function) {
  const std::lock_guard lock(sink().mutex);
  sink().function = std::move(function);
}

}  // namespace plimsoll
