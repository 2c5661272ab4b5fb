#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include <plimsoll/device/device.h>
#include <plimsoll/memory/ledger.h>
#include <plimsoll/report/live.h>

#include "report/loopback_server.h"

namespace plimsoll::report {
namespace {

struct Figures {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t elements = 0;
  double seconds = 0;
  double loss = 0;
  double rate = 0;
  train::Metrics metrics;
};

/// A label's value: quotes, backslashes and line ends escaped.
std::string label(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\' || c == '"') safe += '\\';
    safe += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return safe;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

struct MetricsServer::State {
  std::mutex mutex;
  Figures figures;
  std::optional<Device> device;
  std::optional<LoopbackServer> server;

  void note(const train::Run& run) {
    const std::lock_guard lock(mutex);
    figures.step = run.step();
    figures.epoch = run.epoch();
    figures.elements = run.elements();
    figures.seconds = run.seconds();
    figures.loss = static_cast<double>(run.loss());
    figures.rate = run.rate();
  }
};

MetricsServer::MetricsServer(int port) : state_(std::make_unique<State>()) {
  state_->server.emplace(port, [this](const HttpRequest& request) -> HttpResponse {
    if (request.other_origin) return {.status = 403, .body = "other pages are not answered\n"};
    if (request.path != "/metrics") return {.status = 404, .body = "metrics are at /metrics\n"};
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = text()};
  });
}

MetricsServer::~MetricsServer() = default;

int MetricsServer::port() const { return state_->server->port(); }

train::Callback MetricsServer::callback() {
  State* const state = state_.get();
  return {.on_begin =
              [state](train::Run& run) {
                state->note(run);
                const std::lock_guard lock(state->mutex);
                state->device = run.device();
              },
          .on_step = [state](train::Run& run) { state->note(run); },
          .on_epoch =
              [state](train::Run& run) {
                state->note(run);
                const std::lock_guard lock(state->mutex);
                state->figures.metrics = run.metrics();
              },
          .numbers_only = true};
}

std::string MetricsServer::text() const {
  Figures figures;
  std::optional<Device> device;
  {
    const std::lock_guard lock(state_->mutex);
    figures = state_->figures;
    device = state_->device;
  }
  std::string text;
  const auto head = [&](const char* name, const char* kind, const char* help) {
    text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, kind, help);
  };
  const auto one = [&](const char* name, const char* kind, const char* help, double value) {
    head(name, kind, help);
    text += fmt::format("{} {}\n", name, number_text(value));
  };
  one("plimsoll_steps_total", "counter", "Steps finished, resumed parts included.",
      static_cast<double>(figures.step));
  one("plimsoll_epochs_total", "counter", "Epochs finished.", static_cast<double>(figures.epoch));
  one("plimsoll_elements_total", "counter", "Elements trained on since the run began.",
      static_cast<double>(figures.elements));
  one("plimsoll_training_seconds_total", "counter", "Seconds since the run began.",
      figures.seconds);
  one("plimsoll_loss", "gauge", "Loss of the last step.", figures.loss);
  one("plimsoll_learning_rate", "gauge", "Learning rate of the next step.", figures.rate);
  if (!figures.metrics.empty()) {
    head("plimsoll_epoch_metric", "gauge", "Metrics of the last epoch, by name.");
    for (const auto& [name, value] : figures.metrics) {
      text +=
          fmt::format("plimsoll_epoch_metric{{name=\"{}\"}} {}\n", label(name), number_text(value));
    }
  }
  if (!device) return text;
  const Budget budget = device->budget();
  const std::string on = fmt::format("device=\"{}\"", label(device->name()));
  const auto memory = [&](const char* name, const char* help, Bytes bytes) {
    head(name, "gauge", help);
    text += fmt::format("{}{{{}}} {}\n", name, on, bytes);
  };
  memory("plimsoll_memory_used_bytes", "Charged to the device's budget.", budget.used());
  if (budget.limit() != kUnlimited) {
    memory("plimsoll_memory_limit_bytes", "Limit of the device's budget.", budget.limit());
  }
  memory("plimsoll_memory_peak_bytes", "The most that was charged so far.", budget.peak());
  const MemoryUse use = device->use();
  if (use.source != UsageSource::unknown) {
    memory("plimsoll_memory_system_bytes", "By the count of the system or the driver.", use.bytes);
  }
  head("plimsoll_memory_tag_bytes", "gauge", "Bytes that holders have, by tag.");
  for (const Holder& holder : by_tag(budget.ledger().holders())) {
    text += fmt::format("plimsoll_memory_tag_bytes{{{},tag=\"{}\"}} {}\n", on, tag_name(holder.tag),
                        holder.bytes);
  }
  return text;
}

}  // namespace plimsoll::report
