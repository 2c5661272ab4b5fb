#pragma once

namespace plimsoll::data {

/// Chooses how many calls of a stage may run at a time, between 1 and a most, from how long the
/// consumer waits for the pipeline and how often the stage has nothing ready when it is asked.
///
/// It begins with the most. A stage that is not what the consumer waits for has ever fewer calls,
/// which hold less memory and leave the cores to others, but never so few that they would have next
/// to nothing but work to do: then the consumer would wait. As soon as it waits for the stage, the
/// calls double, and the number that was too small is not tried again for a while. Elements and
/// their order do not depend on it.
class ThreadTuner {
 public:
  explicit ThreadTuner(int most) : most_(most), now_(most) {}

  int threads() const { return now_; }
  int most() const { return most_; }

  /// The stage was asked for an element and had none made.
  void note_empty() { ++empty_; }
  /// The stage was asked for an element, or for several.
  void note_asked() { ++asked_; }
  /// A call has taken that long.
  void note_busy(double seconds) { busy_s_ += seconds; }
  /// A call could not begin for want of memory: more at a time would not help.
  void note_no_memory() { no_memory_ = true; }

  /// Looks at what was noted since the last look, if that is long enough ago. `now_s` is a clock;
  /// `waited_s` is how long the consumer has waited since the beginning, on the same clock.
  void look(double now_s, double waited_s);

 private:
  void grow();
  void shrink(double at_work);

  const int most_;
  int now_;
  int least_ = 1;       ///< fewer were too few, for now
  int remembered_ = 0;  ///< looks until that is forgotten
  int calm_ = 0;        ///< looks in a row at which fewer seemed to do
  int asked_ = 0;
  int empty_ = 0;
  double busy_s_ = 0;
  bool no_memory_ = false;
  bool begun_ = false;
  double last_s_ = 0;
  double last_waited_s_ = 0;
};

}  // namespace plimsoll::data
