#include "plan/range_use.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;

class Follower {
 public:
  explicit Follower(const Plan& plan)
      : plan_(plan),
        graph_(*plan.graph),
        version_(graph_.values().size(), 0),
        first_read_(graph_.nodes().size()) {
    use_.written.resize(plan.tasks.size());
    use_.freed.resize(plan.tasks.size());
  }

  RangeUse run() {
    for (const Place& place : plan_.inputs) {
      if (!place.persistent) hold(place);
    }
    for (task_ = 0; task_ < static_cast<int>(plan_.tasks.size()); ++task_) {
      follow_copies();
      const PlannedTask& task = plan_.tasks[static_cast<std::size_t>(task_)];
      for (const Place& place : task.inputs) read(place);
      check_state(task);
      check_overlaps(task);
      // The workspace is written while the inputs are still read and the outputs already are.
      if (task.workspace != 0) clear({task.workspace_offset, task.workspace});
      auto& written = use_.written[static_cast<std::size_t>(task_)];
      if (task.workspace != 0) written.push_back({task.workspace_offset, task.workspace});
      for (const Place& place : task.outputs) {
        if (!place.persistent) {
          hold(place);
          written.push_back(piece_of(place));
          continue;
        }
        ++version_[static_cast<std::size_t>(graph_.value(place.value).memory)];
      }
      std::sort(written.begin(), written.end(),
                [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
    }
    follow_copies();
    if (next_copy_ != plan_.copies.size() || !flying_.empty()) fail("leaves a copy undone");
    for (const Place& place : plan_.outputs) read(place);
    for (const auto& [offset, held] : held_) free({offset, held.bytes}, held.last);
    return std::move(use_);
  }

 private:
  struct Held {
    Bytes bytes = 0;
    ValueId memory = graph::kNone;
    int last = -1;  ///< task that reads or writes it last so far
  };

  [[noreturn]] void fail(const std::string& what) const {
    const auto at = static_cast<std::size_t>(task_);
    throw InternalError(fmt::format(
        "[plan] task {} ({}) {}", task_,
        at < plan_.tasks.size() ? graph_.node(plan_.tasks[at].node).op->name : "the outputs",
        what));
  }

  static bool overlap(const Piece& a, const Piece& b) {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }

  /// Nobody may write what a copy reads, or touch what it writes.
  void check_flying(const Piece& piece, bool writes) const {
    for (const PlannedCopy* copy : flying_) {
      if ((writes || !copy->out) && overlap(piece, piece_of(copy->place))) {
        fail(fmt::format("touches bytes at {} while a copy of value %{} runs", piece.offset,
                         copy->place.value));
      }
    }
  }

  void begin_copy(const PlannedCopy& copy) {
    const ValueId memory = graph_.value(copy.place.value).memory;
    if (copy.out) {
      read(copy.place);
    } else {
      const auto home = homes_.find(copy.host_offset);
      if (!copy.state && (home == homes_.end() || home->second != memory)) {
        fail(fmt::format("fetches value %{}, which the host does not have", copy.place.value));
      }
      const Piece piece = piece_of(copy.place);
      check_flying(piece, true);
      clear(piece);
      if (static_cast<std::size_t>(task_) < plan_.tasks.size()) {
        use_.written[static_cast<std::size_t>(task_)].push_back(piece);
      }
    }
    flying_.push_back(&copy);
  }

  /// Waits for what this task needs of one direction.
  void end_copies(bool out) {
    std::vector<const PlannedCopy*> left;
    std::vector<const PlannedCopy*> done;
    for (const PlannedCopy* copy : flying_) {
      (copy->out == out && copy->needed <= task_ ? done : left).push_back(copy);
    }
    flying_ = std::move(left);
    for (const PlannedCopy* copy : done) {
      const ValueId memory = graph_.value(copy->place.value).memory;
      if (!copy->out) {
        held_[copy->place.offset] = {piece_of(copy->place).bytes, memory, task_};
        continue;
      }
      if (!copy->state) homes_[copy->host_offset] = memory;
      const auto it = held_.find(copy->place.offset);
      if (it != held_.end()) it->second.last = std::max(it->second.last, task_ - 1);
    }
  }

  /// In the order in which an executor gives them to the device.
  void follow_copies() {
    const auto begin = [&](bool out) {
      for (; next_copy_ < plan_.copies.size() && plan_.copies[next_copy_].begins == task_ &&
             plan_.copies[next_copy_].out == out;
           ++next_copy_) {
        begin_copy(plan_.copies[next_copy_]);
      }
    };
    begin(true);
    end_copies(true);
    begin(false);
    end_copies(false);
  }

  Piece piece_of(const Place& place) const {
    return {place.offset, graph_.value(place.value).type.bytes()};
  }

  void read(const Place& place) {
    if (place.persistent) return;
    const Piece piece = piece_of(place);
    if (piece.bytes == 0) return;
    const auto it = held_.find(place.offset);
    const ValueId memory = graph_.value(place.value).memory;
    if (it == held_.end() || it->second.memory != memory || it->second.bytes != piece.bytes) {
      fail(fmt::format("reads value %{} at {}, which is not there", place.value, place.offset));
    }
    check_flying(piece, false);
    it->second.last = task_;
  }

  /// Forgets whatever lies there.
  void clear(const Piece& piece) {
    if (piece.offset + piece.bytes > plan_.range) {
      fail(fmt::format("reaches {} bytes into a range of {}", piece.offset + piece.bytes,
                       plan_.range));
    }
    check_flying(piece, true);
    auto it = held_.upper_bound(piece.offset);
    if (it != held_.begin()) {
      const auto before = std::prev(it);
      if (before->first + before->second.bytes > piece.offset) it = before;
    }
    while (it != held_.end() && it->first < piece.offset + piece.bytes) {
      if (it->second.last < task_) free({it->first, it->second.bytes}, it->second.last);
      it = held_.erase(it);
    }
  }

  void hold(const Place& place) {
    const Piece piece = piece_of(place);
    if (piece.bytes == 0) return;
    clear(piece);
    held_[place.offset] = {piece.bytes, graph_.value(place.value).memory, task_};
  }

  void check_overlaps(const PlannedTask& task) const {
    const Node& node = graph_.node(task.node);
    const Piece workspace{task.workspace_offset, task.workspace};
    for (std::size_t o = 0; o < task.outputs.size(); ++o) {
      if (task.outputs[o].persistent) continue;
      const Piece out = piece_of(task.outputs[o]);
      if (overlap(out, workspace)) fail("has its workspace in an output");
      for (std::size_t other = 0; other < o; ++other) {
        if (!task.outputs[other].persistent && overlap(out, piece_of(task.outputs[other]))) {
          fail("has outputs that overlap");
        }
      }
      for (std::size_t i = 0; i < task.inputs.size(); ++i) {
        const Place& input = task.inputs[i];
        if (input.persistent || !overlap(out, piece_of(input))) continue;
        // State that was fetched is written where it is read.
        if (graph_.value(input.value).role != graph::Role::computed &&
            graph_.value(task.outputs[o].value).memory == graph_.value(input.value).memory) {
          continue;
        }
        const bool allowed = std::any_of(
            node.op->in_place.begin(), node.op->in_place.end(), [&](const ops::InPlace& pair) {
              if (static_cast<std::size_t>(pair.output) != o) return false;
              const auto from = static_cast<std::size_t>(pair.input);
              return from < task.inputs.size() && !task.inputs[from].persistent &&
                     task.inputs[from].offset == task.outputs[o].offset &&
                     input.offset == task.outputs[o].offset &&
                     piece_of(task.inputs[from]).bytes == out.bytes;
            });
        if (!allowed) fail(fmt::format("writes output {} over input {}", o, i));
      }
    }
    for (const Place& input : task.inputs) {
      if (!input.persistent && overlap(workspace, piece_of(input))) {
        fail("has its workspace in an input");
      }
    }
  }

  void check_state(const PlannedTask& task) {
    std::vector<int> now;
    for (const Place& place : task.inputs) {
      if (place.persistent) {
        now.push_back(version_[static_cast<std::size_t>(graph_.value(place.value).memory)]);
      }
    }
    std::vector<int>& first = first_read_[static_cast<std::size_t>(task.node)];
    if (!task.again) {
      first = std::move(now);
    } else if (first != now) {
      fail("computes again from state that was overwritten");
    }
  }

  void free(const Piece& piece, int after) {
    if (after >= 0 && after < static_cast<int>(plan_.tasks.size())) {
      use_.freed[static_cast<std::size_t>(after)].push_back(piece);
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  RangeUse use_;
  int task_ = -1;
  std::map<Bytes, Held> held_;              ///< what is intact, by offset
  std::map<Bytes, ValueId> homes_;          ///< what the host has, by offset
  std::vector<const PlannedCopy*> flying_;  ///< begun and not waited for yet
  std::size_t next_copy_ = 0;
  std::vector<int> version_;  ///< writes so far, by value id of persistent memory
  std::vector<std::vector<int>> first_read_;
};

}  // namespace

RangeUse follow_range(const Plan& plan) { return Follower(plan).run(); }

}  // namespace plimsoll::plan
