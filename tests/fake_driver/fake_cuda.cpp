// A driver with one device that can be listed and not opened, for machines without a GPU: what
// `plimsoll devices` says of a GPU is tested with it (tests/tools/devices_test.sh).

#include <cuda.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr std::size_t kTotal = 80ULL << 30;

void copy_text(char* to, int room, const char* text) {
  std::snprintf(to, static_cast<std::size_t>(room), "%s", text);
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) { return CUDA_SUCCESS; }

CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR_NOT_SUPPORTED";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "a fake device cannot do that";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int room, CUdevice) {
  copy_text(name, room, "Fake GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* id, int room, CUdevice) {
  copy_text(id, room, "00000000:7f:1f.0");
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = kTotal;
  return CUDA_SUCCESS;
}

}  // extern "C"
