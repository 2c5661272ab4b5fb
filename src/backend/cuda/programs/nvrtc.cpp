#include "backend/cuda/programs/nvrtc.h"

#include <dlfcn.h>

#include <array>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::cuda {

Nvrtc Nvrtc::open(int major, int minor) {
  Nvrtc nvrtc;
  const std::string name = fmt::format("libnvrtc.so.{}", major);
  // Never closed: others may use it as well.
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    nvrtc.why_ = name + " is not found";
    return nvrtc;
  }
  const auto look_up = [&](auto& call, const char* symbol) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, symbol));
    if (call == nullptr) nvrtc.why_ = fmt::format("{} has no {}", name, symbol);
  };
  look_up(nvrtc.calls_.version, "nvrtcVersion");
  look_up(nvrtc.calls_.create, "nvrtcCreateProgram");
  look_up(nvrtc.calls_.compile, "nvrtcCompileProgram");
  look_up(nvrtc.calls_.destroy, "nvrtcDestroyProgram");
  look_up(nvrtc.calls_.log_size, "nvrtcGetProgramLogSize");
  look_up(nvrtc.calls_.log, "nvrtcGetProgramLog");
  look_up(nvrtc.calls_.cubin_size, "nvrtcGetCUBINSize");
  look_up(nvrtc.calls_.cubin, "nvrtcGetCUBIN");
  if (!nvrtc.why_.empty()) return nvrtc;
  int found_major = 0;
  int found_minor = 0;
  if (nvrtc.calls_.version(&found_major, &found_minor) != 0) {
    nvrtc.why_ = name + " does not tell its version";
    return nvrtc;
  }
  nvrtc.version_ = fmt::format("{}.{}", found_major, found_minor);
  if (found_major != major || found_minor != minor) {
    nvrtc.why_ = fmt::format("{} is {}, but the library was built with {}.{}", name, nvrtc.version_,
                             major, minor);
  }
  return nvrtc;
}

const Nvrtc* Nvrtc::load(int major, int minor, std::string* why) {
  static const Nvrtc nvrtc = open(major, minor);
  if (nvrtc.why_.empty()) return &nvrtc;
  if (why != nullptr) *why = nvrtc.why_;
  return nullptr;
}

std::string Nvrtc::log_of(void* program) const {
  std::size_t size = 0;
  if (calls_.log_size(program, &size) != 0 || size < 2) return "it says nothing";
  std::string log(size, '\0');
  if (calls_.log(program, log.data()) != 0) return "it says nothing";
  log.resize(size - 1);
  return log;
}

std::string Nvrtc::compile(const std::string& source, std::span<const RtcHeader> headers,
                           const std::string& architecture) const {
  // C strings end in a zero, which the texts need not have.
  std::vector<std::string> texts;
  std::vector<std::string> names;
  for (const RtcHeader& header : headers) {
    texts.emplace_back(header.text);
    names.emplace_back(header.name);
  }
  std::vector<const char*> text_pointers;
  std::vector<const char*> name_pointers;
  for (const std::string& text : texts) text_pointers.push_back(text.c_str());
  for (const std::string& name : names) name_pointers.push_back(name.c_str());

  struct Program {
    const Calls& calls;
    void* handle = nullptr;
    ~Program() {
      if (handle != nullptr) (void)calls.destroy(&handle);
    }
  } program{calls_};
  if (calls_.create(&program.handle, source.c_str(), "pointwise.cu", static_cast<int>(texts.size()),
                    text_pointers.data(), name_pointers.data()) != 0) {
    throw DeviceError("[NVRTC] cannot make a program");
  }
  const std::string target = "--gpu-architecture=" + architecture;
  const std::array<const char*, 4> options = {target.c_str(), "--std=c++20", "--fmad=false",
                                              "--generate-line-info"};
  if (calls_.compile(program.handle, static_cast<int>(options.size()), options.data()) != 0) {
    throw DeviceError("[NVRTC] " + log_of(program.handle));
  }
  std::size_t size = 0;
  if (calls_.cubin_size(program.handle, &size) != 0 || size == 0) {
    throw DeviceError("[NVRTC] no machine code for " + architecture);
  }
  std::string cubin(size, '\0');
  if (calls_.cubin(program.handle, cubin.data()) != 0) {
    throw DeviceError("[NVRTC] no machine code for " + architecture);
  }
  return cubin;
}

}  // namespace plimsoll::cuda
