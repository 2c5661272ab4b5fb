#include "plan/schedule.h"

#include <algorithm>

#include "plan/launch_seconds.h"
#include "plan/shared_launches.h"
#include "plan/transfers.h"

namespace plimsoll::plan {

Scheduler::Scheduler(const StepModel& model)
    : model_(model),
      live_(model.roots.size()),
      written_at_(model.graph->values().size()),
      stored_(model.roots.size()) {}

void Scheduler::begin() {
  schedule_.feasible = true;
  schedule_.tasks.clear();
  schedule_.instances.clear();
  schedule_.reads.clear();
  schedule_.transfers.clear();
  schedule_.host_bytes = 0;
  schedule_.wait_seconds = 0;
  fetched_.clear();
  std::fill(stored_.begin(), stored_.end(), -1);
  schedule_.seconds = 0;
  schedule_.again_seconds = 0;
  std::fill(live_.begin(), live_.end(), -1);
  std::fill(written_at_.begin(), written_at_.end(), -1);
  for (std::size_t r = 0; r < model_.roots.size(); ++r) {
    if (model_.roots[r].producer >= 0 || model_.roots[r].state) continue;
    live_[r] = static_cast<int>(schedule_.instances.size());
    schedule_.instances.push_back({.root = static_cast<int>(r), .born = -1, .last = -1});
  }
}

const Schedule& Scheduler::run(const std::vector<Run>& runs) {
  begin();
  std::vector<char> ran(model_.work.size(), 0);
  for (const Run& run : runs) {
    add_task(run.work, ran[static_cast<std::size_t>(run.work)] != 0);
    ran[static_cast<std::size_t>(run.work)] = 1;
    const Work& work = model_.work[static_cast<std::size_t>(run.work)];
    for (std::size_t o = 0; o < work.outputs.size(); ++o) {
      if ((run.taken >> o & 1U) == 0) continue;
      live_[static_cast<std::size_t>(work.outputs[o])] =
          schedule_.tasks.back().first_output + static_cast<int>(o);
    }
  }
  finish();
  return schedule_;
}

const Schedule& Scheduler::run(const std::vector<char>& keep) {
  keep_ = &keep;
  begin();
  for (position_ = 0; position_ < static_cast<int>(model_.work.size()); ++position_) {
    compute(position_, false);
    for (const int root : passing_) live_[static_cast<std::size_t>(root)] = -1;
    passing_.clear();
    const Work& work = model_.work[static_cast<std::size_t>(position_)];
    for (const std::vector<int>* roots : {&work.inputs, &work.outputs}) {
      for (const int r : *roots) {
        const Root& root = model_.roots[static_cast<std::size_t>(r)];
        const auto at = static_cast<std::size_t>(r);
        const bool away = keep[at] == kAway;
        const bool kept = keep[at] == kKept || (!root.droppable && !away);
        if (!kept && !root.output && (root.drop_after == position_ || root.last_use == position_)) {
          if (away && root.drop_after == position_ && stored_[at] < 0) stored_[at] = live_[at];
          live_[at] = -1;
        }
      }
    }
  }
  finish();
  return schedule_;
}

void Scheduler::require(int root) {
  if (live_[static_cast<std::size_t>(root)] >= 0) return;
  if (stored_[static_cast<std::size_t>(root)] >= 0 ||
      model_.roots[static_cast<std::size_t>(root)].state) {
    fetch(root);
    return;
  }
  compute(model_.roots[static_cast<std::size_t>(root)].producer, true);
}

void Scheduler::fetch(int root) {
  const auto at = static_cast<std::size_t>(root);
  live_[at] = static_cast<int>(schedule_.instances.size());
  fetched_.push_back(live_[at]);
  schedule_.instances.push_back({.root = root, .born = 0, .last = -1});
  if (model_.roots[at].last_use <= position_) passing_.push_back(root);
}

void Scheduler::compute(int index, bool again) {
  const Work& work = model_.work[static_cast<std::size_t>(index)];
  for (const int root : work.inputs) require(root);
  add_task(index, again);
  int instance = schedule_.tasks.back().first_output;
  for (const int r : work.outputs) {
    const auto at = static_cast<std::size_t>(r);
    const int made = instance++;
    if (live_[at] >= 0) continue;  // only another output was missing: this one is thrown away
    live_[at] = made;
    if (!again) continue;
    // What was computed again stays while the base order still needs it.
    if ((*keep_)[at] == kFleeting ||
        (model_.roots[at].last_use <= position_ && (*keep_)[at] == kDropped)) {
      passing_.push_back(r);
    }
  }
}

void Scheduler::add_task(int index, bool again) {
  const Work& work = model_.work[static_cast<std::size_t>(index)];
  for (const int state : work.reads_state) {
    if (again && written_at_[static_cast<std::size_t>(state)] >= index) schedule_.feasible = false;
  }
  const int task = static_cast<int>(schedule_.tasks.size());
  Task entry{
      .work = index, .again = again, .first_instance = static_cast<int>(schedule_.reads.size())};
  for (const int root : work.inputs) {
    const int instance = live_[static_cast<std::size_t>(root)];
    schedule_.reads.push_back(instance);
    schedule_.instances[static_cast<std::size_t>(instance)].last = task;
  }
  entry.first_output = static_cast<int>(schedule_.instances.size());
  for (const int r : work.outputs) {
    schedule_.instances.push_back({.root = r, .born = task, .last = task});
  }
  for (const int state : work.writes_state) written_at_[static_cast<std::size_t>(state)] = index;
  schedule_.seconds += work.seconds;
  if (again) schedule_.again_seconds += work.seconds;
  schedule_.tasks.push_back(entry);
}

void Scheduler::finish() {
  const int count = static_cast<int>(schedule_.tasks.size());
  for (std::size_t r = 0; r < model_.roots.size(); ++r) {
    if (model_.roots[r].output && live_[r] >= 0) {
      // Beyond the last task, which may not be written over them.
      schedule_.instances[static_cast<std::size_t>(live_[r])].last = count;
    }
  }
  if (fuses(model_.device)) share_launches(model_, stored_, schedule_);
  if (!fetched_.empty()) plan_transfers(model_, stored_, fetched_, tight_, schedule_);
  change_.assign(static_cast<std::size_t>(count) + 2, 0);
  for (const Instance& instance : schedule_.instances) {
    if (instance.last < 0) continue;  // an input that nobody reads
    const Bytes bytes = model_.roots[static_cast<std::size_t>(instance.root)].bytes;
    change_[static_cast<std::size_t>(std::max(instance.born, 0))] += bytes;
    change_[static_cast<std::size_t>(instance.last) + 1] -= bytes;  // wraps, and back again
  }
  schedule_.peak = 0;
  schedule_.peak_task = 0;
  Bytes live = 0;
  for (int t = 0; t < count; ++t) {
    live += change_[static_cast<std::size_t>(t)];
    const Task& task = schedule_.tasks[static_cast<std::size_t>(t)];
    const Work& work = model_.work[static_cast<std::size_t>(task.work)];
    Bytes shared = 0;
    for (std::size_t o = 0; o < work.outputs.size() && !work.in_place.empty(); ++o) {
      const auto made = static_cast<std::size_t>(task.first_output) + o;
      for (const auto& [to, from] : work.in_place) {
        if (to != work.outputs[o] || schedule_.instances[made].over >= 0) continue;
        const auto it = std::find(work.inputs.begin(), work.inputs.end(), from);
        const int read = schedule_.reads[static_cast<std::size_t>(task.first_instance) +
                                         static_cast<std::size_t>(it - work.inputs.begin())];
        const Instance& from_instance = schedule_.instances[static_cast<std::size_t>(read)];
        if (from_instance.last != t || from_instance.stored) continue;
        bool taken = false;
        for (std::size_t other = 0; other < o; ++other) {
          taken =
              taken ||
              schedule_.instances[static_cast<std::size_t>(task.first_output) + other].over == read;
        }
        if (taken) continue;
        schedule_.instances[made].over = read;
        shared += model_.roots[static_cast<std::size_t>(to)].bytes;
      }
    }
    const Bytes now = live - shared + work.workspace;
    if (now > schedule_.peak) {
      schedule_.peak = now;
      schedule_.peak_task = t;
    }
  }
}

}  // namespace plimsoll::plan
