// A timeline as JSON: rows instead of objects and every name once, as plans have thousands of
// values.

#include <map>

#include <nlohmann/json.hpp>

#include <plimsoll/plan/timeline.h>

namespace plimsoll::plan {
namespace {

using Json = nlohmann::ordered_json;

class Names {
 public:
  std::size_t operator()(const std::string& name) {
    const auto [it, added] = index_.try_emplace(name, list_.size());
    if (added) list_.push_back(name);
    return it->second;
  }
  Json list() const { return list_; }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> list_;
};

}  // namespace

std::string to_json(const Timeline& timeline) {
  Names names;
  Json tasks = Json::array();
  for (const TimelineTask& task : timeline.tasks) {
    tasks.push_back({names(task.op), names(task.scope), task.seconds,
                     (task.backward ? 1 : 0) + (task.again ? 2 : 0)});
  }
  Json values = Json::array();
  for (const TimelineValue& value : timeline.values) {
    values.push_back({static_cast<int>(value.kind), static_cast<int>(value.tag), names(value.name),
                      value.offset, value.bytes, value.from, value.to, value.offloaded ? 1 : 0});
  }
  return Json{{"names", names.list()}, {"tasks", std::move(tasks)}, {"values", std::move(values)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::plan
