#pragma once

// The interpreter around the library: its lock, its end, its forks, and objects of its that C++
// holds.

#include <functional>
#include <memory>

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace plimsoll::python {

/// Lets other Python threads run while this one computes or waits: every call that may take longer
/// than a few microseconds has one.
class Unlocked {
 public:
  Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked();

 private:
  bool before_;
  nb::gil_scoped_release release_;
};

/// The GIL for code of Python's that C++ calls, from any thread.
class Locked {
 public:
  Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked();

 private:
  nb::gil_scoped_acquire acquire_;
  bool before_;
};

/// While it lives, this thread is taken not to have the GIL, whatever it has: in functions that
/// other libraries call.
class AsIfUnlocked {
 public:
  AsIfUnlocked();
  AsIfUnlocked(const AsIfUnlocked&) = delete;
  AsIfUnlocked& operator=(const AsIfUnlocked&) = delete;
  ~AsIfUnlocked();

 private:
  bool before_;
};

/// Calls `release` with the GIL: at once if this thread has it; otherwise the main thread does so
/// before long, and nobody waits for the GIL. After the interpreter's end it is not called at all.
void release_with_gil(std::function<void()> release);

/// A reference to `object` that any thread may drop, also after the interpreter's end.
std::shared_ptr<PyObject> hold(nb::handle object);

/// An object of Python's that C++ uses and does not keep: the Python object that C++ works for has
/// the strong reference, where the garbage collector sees it.
class WeakObject {
 public:
  WeakObject() = default;
  explicit WeakObject(nb::handle object);
  /// Needs the GIL. Throws Error if it is gone.
  nb::object get() const;

 private:
  std::shared_ptr<PyObject> weak_;
};

/// A function of Python's that C++ calls, held as above. `cell` is a plimsoll._cell.Cell.
class Callable {
 public:
  Callable() = default;
  explicit Callable(nb::handle cell) : cell_(cell) {}
  nb::object get() const { return cell_.get().attr("call"); }

 private:
  WeakObject cell_;
};

/// Throws Error in a child that was forked after the library had been used: neither its threads nor
/// its locks are there.
void check_process();
/// The same; notes that from now on it is in use.
void use_process();

void bind_process(nb::module_& m);

}  // namespace plimsoll::python
