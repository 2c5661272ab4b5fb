#include "process.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include <plimsoll/base/error.h>

#include "pipeline.h"

namespace plimsoll::python {
namespace {

thread_local bool unlocked = false;

// The process's, as the interpreter is.
std::atomic<bool> ended{false};   // NOLINT: see above
std::atomic<bool> used{false};    // NOLINT: see above
std::atomic<bool> forked{false};  // NOLINT: see above

struct Waiting {
  std::mutex mutex;
  std::vector<std::function<void()>> releases;
  bool asked = false;  ///< the main thread will come for them
};
Waiting& waiting() {
  static auto* const all = new Waiting;  // NOLINT: threads may outlive everything
  return *all;
}

int release_waiting(void* /*unused*/) {
  std::vector<std::function<void()>> releases;
  {
    const std::lock_guard lock(waiting().mutex);
    releases.swap(waiting().releases);
    waiting().asked = false;
  }
  for (const auto& each : releases) each();
  return 0;
}

bool has_gil() { return !unlocked && PyGILState_GetThisThreadState() != nullptr; }

}  // namespace

Unlocked::Unlocked() : before_(std::exchange(unlocked, true)) {}
Unlocked::~Unlocked() { unlocked = before_; }

Locked::Locked() : before_(std::exchange(unlocked, false)) {}
Locked::~Locked() { unlocked = before_; }

AsIfUnlocked::AsIfUnlocked() : before_(std::exchange(unlocked, true)) {}
AsIfUnlocked::~AsIfUnlocked() { unlocked = before_; }

void release_with_gil(std::function<void()> release) {
  if (ended) return;
  if (has_gil()) {
    release();
    return;
  }
  const std::lock_guard lock(waiting().mutex);
  waiting().releases.push_back(std::move(release));
  // The interpreter's queue may be full; whoever comes next asks again.
  if (!waiting().asked) waiting().asked = Py_AddPendingCall(release_waiting, nullptr) == 0;
}

std::shared_ptr<PyObject> hold(nb::handle object) {
  return {object.inc_ref().ptr(),
          [](PyObject* held) { release_with_gil([held] { Py_DECREF(held); }); }};
}

WeakObject::WeakObject(nb::handle object) {
  const nb::object weak = nb::steal(PyWeakref_NewRef(object.ptr(), nullptr));
  if (!weak.is_valid()) throw nb::python_error();
  weak_ = hold(weak);
}

nb::object WeakObject::get() const {
  const nb::object object = weak_ == nullptr ? nb::none() : nb::borrow(nb::handle(weak_.get()))();
  if (object.is_none()) {
    throw Error(
        "a Python object that is used here is gone: keep the dataset, trainer or module that it "
        "was given to");
  }
  return object;
}

void check_process() {
  if (!forked) return;
  throw Error(
      "this process was forked from one that uses plimsoll, whose threads and locks are not here; "
      "start processes with multiprocessing.get_context(\"spawn\")");
}

void use_process() {
  check_process();
  used = true;
}

void bind_process(nb::module_& m) {
  m.def("_after_fork", [] { forked = used.load(); });
  m.def("_at_exit", [] {
    stop_all_pipelines();
    release_waiting(nullptr);
    ended = true;
  });
  m.def("_drop_waiting", [] { release_waiting(nullptr); });
}

}  // namespace plimsoll::python
