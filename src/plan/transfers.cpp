#include "plan/transfers.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plimsoll::plan {
namespace {

/// A copy from the host begins earlier than it must by this share of its time.
constexpr double kEarly = 0.25;

class TransferPlan {
 public:
  TransferPlan(const StepModel& model, bool tight, Schedule& schedule)
      : model_(model),
        tight_(tight),
        schedule_(schedule),
        count_(static_cast<int>(schedule.tasks.size())) {
    start_.reserve(schedule.tasks.size() + 1);
    double time = 0;
    for (std::size_t t = 0; t < schedule.tasks.size(); ++t) {
      start_.push_back(time);
      time += seconds_of(t);
    }
    start_.push_back(time);
    // The first task that reads each instance.
    first_.assign(schedule.instances.size(), count_);
    for (int t = count_; t-- > 0;) {
      const Task& task = schedule.tasks[static_cast<std::size_t>(t)];
      const std::size_t inputs = model.work[static_cast<std::size_t>(task.work)].inputs.size();
      for (std::size_t i = 0; i < inputs; ++i) {
        const int read = schedule.reads[static_cast<std::size_t>(task.first_instance) + i];
        first_[static_cast<std::size_t>(read)] = t;
      }
    }
  }

  void run(const std::vector<int>& stored, const std::vector<int>& fetched) {
    available_.assign(model_.roots.size(), 0);
    plan_stores(stored, fetched);
    plan_fetches(fetched);
    std::stable_sort(schedule_.transfers.begin(), schedule_.transfers.end(),
                     [](const Transfer& a, const Transfer& b) {
                       if (a.begins != b.begins) return a.begins < b.begins;
                       if (a.out != b.out) return a.out;
                       return !a.out && a.needed < b.needed;
                     });
    simulate();
  }

 private:
  Instance& instance(int i) { return schedule_.instances[static_cast<std::size_t>(i)]; }
  const Root& root_of(int i) { return model_.roots[static_cast<std::size_t>(instance(i).root)]; }
  int first_of(int i) const { return first_[static_cast<std::size_t>(i)]; }
  double seconds_of(std::size_t task) const {
    if (!schedule_.task_seconds.empty()) return schedule_.task_seconds[task];
    return model_.work[static_cast<std::size_t>(schedule_.tasks[task].work)].seconds;
  }

  /// The first task from `least` on that begins after `time`; at most `most`.
  int task_after(double time, int least, int most) const {
    const auto from = start_.begin() + std::min(least, most);
    const auto it = std::lower_bound(from, start_.begin() + most, time);
    return static_cast<int>(it - start_.begin());
  }

  void plan_stores(const std::vector<int>& stored, const std::vector<int>& fetched) {
    struct Store {
      int instance;
      int ready;
      int least;  ///< its memory cannot go before this task
      int most;
    };
    std::vector<Store> stores;
    std::vector<int> needed_again(model_.roots.size(), count_);
    for (const int i : fetched) {
      int& again = needed_again[static_cast<std::size_t>(instance(i).root)];
      again = std::min(again, first_of(i));
      if (!root_of(i).state) continue;
      const int ready = instance(i).last + 1;
      stores.push_back({i, ready, std::min(ready + 1, count_), count_});
    }
    for (std::size_t r = 0; r < stored.size(); ++r) {
      if (stored[r] < 0 || needed_again[r] == count_) continue;
      const Instance& kept = instance(stored[r]);
      const int ready = kept.born + 1;
      const int most = needed_again[r];
      stores.push_back({stored[r], ready, std::min(std::max(kept.last, ready) + 1, most), most});
      schedule_.host_bytes += model_.roots[r].bytes;
    }
    std::sort(stores.begin(), stores.end(), [](const Store& a, const Store& b) {
      return a.ready != b.ready ? a.ready < b.ready : a.instance < b.instance;
    });
    double free = 0;
    for (const Store& store : stores) {
      free = std::max(free, start_[static_cast<std::size_t>(store.ready)]) +
             model_.copy_seconds(root_of(store.instance).bytes, tight_);
      const int needed = tight_ ? store.least : task_after(free, store.least, store.most);
      Instance& kept = instance(store.instance);
      kept.last = std::max(kept.last, needed - 1);
      kept.stored = true;
      available_[static_cast<std::size_t>(kept.root)] = root_of(store.instance).state ? 0 : needed;
      schedule_.transfers.push_back({store.instance, true, store.ready, needed});
    }
    if (schedule_.host_bytes > model_.host_room) schedule_.feasible = false;
  }

  void plan_fetches(const std::vector<int>& fetched) {
    std::vector<int> order = fetched;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return first_of(a) < first_of(b); });
    double next = std::numeric_limits<double>::max();
    int latest = count_;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      Instance& comes = instance(*it);
      const int use = first_of(*it);
      const double seconds = model_.copy_seconds(root_of(*it).bytes, tight_);
      next = std::min(next, start_[static_cast<std::size_t>(use)]) - seconds * (1 + kEarly);
      int begins = use;
      while (!tight_ && begins > 0 && start_[static_cast<std::size_t>(begins)] > next) --begins;
      // In the order of their needs, or the first would wait behind the second.
      begins = std::min(begins, latest);
      begins = std::max(begins, available_[static_cast<std::size_t>(comes.root)]);
      latest = begins;
      comes.born = begins;
      schedule_.transfers.push_back({*it, false, begins, use});
    }
  }

  /// Tasks and both queues by the clock.
  void simulate() {
    std::vector<double> done(schedule_.transfers.size(), 0);
    // Those to the host before those from it, as they are waited for.
    std::vector<std::size_t> needed(schedule_.transfers.size());
    std::iota(needed.begin(), needed.end(), std::size_t{0});
    std::sort(needed.begin(), needed.end(), [&](std::size_t a, std::size_t b) {
      const Transfer& x = schedule_.transfers[a];
      const Transfer& y = schedule_.transfers[b];
      return x.needed != y.needed ? x.needed < y.needed : x.out > y.out;
    });
    std::size_t next_needed = 0;
    double clock = 0;
    double waits = 0;
    double out_free = 0;
    double in_free = 0;
    std::size_t next = 0;
    const auto wait = [&](int t, bool out) {
      for (; next_needed < needed.size(); ++next_needed) {
        const std::size_t at = needed[next_needed];
        if (schedule_.transfers[at].needed != t || schedule_.transfers[at].out != out) return;
        if (done[at] <= clock) continue;
        waits += done[at] - clock;
        clock = done[at];
      }
    };
    for (int t = 0; t <= count_; ++t) {
      const auto begin = [&](bool out, double& free) {
        for (; next < schedule_.transfers.size() && schedule_.transfers[next].begins == t &&
               schedule_.transfers[next].out == out;
             ++next) {
          free = std::max(free, clock) +
                 model_.copy_seconds(root_of(schedule_.transfers[next].instance).bytes, tight_);
          done[next] = free;
        }
      };
      begin(true, out_free);
      wait(t, true);
      begin(false, in_free);
      wait(t, false);
      if (t == count_) break;
      clock += seconds_of(static_cast<std::size_t>(t));
    }
    // Copies take their share of the memory's bandwidth from the tasks they run beside.
    for (const Transfer& transfer : schedule_.transfers) {
      waits += static_cast<double>(root_of(transfer.instance).bytes) / model_.bytes_per_second;
    }
    schedule_.wait_seconds = waits;
    schedule_.seconds += waits;
  }

  const StepModel& model_;
  const bool tight_;
  Schedule& schedule_;
  const int count_;
  std::vector<double> start_;   ///< of each task, if none waits
  std::vector<int> first_;      ///< by instance: the first task that reads it
  std::vector<int> available_;  ///< by root: from this task on the host has it
};

}  // namespace

void plan_transfers(const StepModel& model, const std::vector<int>& stored,
                    const std::vector<int>& fetched, bool tight, Schedule& schedule) {
  TransferPlan(model, tight, schedule).run(stored, fetched);
}

}  // namespace plimsoll::plan
