# Decides whether the CUDA backend is built: sets PLIMSOLL_HAS_CUDA and, when there are kernels to
# compile, enables the CUDA language.

set(PLIMSOLL_HAS_CUDA OFF)
if(NOT PLIMSOLL_CUDA STREQUAL "OFF")
  if(PLIMSOLL_CUDA STREQUAL "ON")
    find_package(CUDAToolkit REQUIRED)
  else()
    find_package(CUDAToolkit QUIET)
  endif()
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    find_file(PLIMSOLL_CUDA_H cuda.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
    mark_as_advanced(PLIMSOLL_CUDA_H)
  endif()
  if(PLIMSOLL_CUDA_H AND TARGET CUDA::cublasLt)
    set(PLIMSOLL_HAS_CUDA ON)
  elseif(PLIMSOLL_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PLIMSOLL_CUDA=ON needs nvcc, cuda.h and cuBLASLt; set CUDAToolkit_ROOT to "
                        "the toolkit, or PLIMSOLL_CUDA=OFF")
  endif()
endif()

include(PlimsollCudnn)

if(PLIMSOLL_HAS_CUDA)
  file(GLOB_RECURSE plimsoll_cuda_kernels CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cu")
  if(plimsoll_cuda_kernels)
    set(CMAKE_CUDA_ARCHITECTURES "${PLIMSOLL_CUDA_ARCHITECTURES}")
    if(PLIMSOLL_CUDA_ARCHITECTURES STREQUAL "all-supported")
      # Machine code for each architecture this nvcc knows, and PTX of the newest for those to come.
      execute_process(COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" --list-gpu-arch
                      OUTPUT_VARIABLE plimsoll_nvcc_list COMMAND_ERROR_IS_FATAL ANY)
      string(REGEX MATCHALL "[0-9]+" plimsoll_architectures "${plimsoll_nvcc_list}")
      list(SORT plimsoll_architectures COMPARE NATURAL)
      list(GET plimsoll_architectures -1 plimsoll_newest)
      list(TRANSFORM plimsoll_architectures APPEND "-real")
      set(CMAKE_CUDA_ARCHITECTURES ${plimsoll_architectures} ${plimsoll_newest}-virtual)
    endif()
    if(NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}")
    endif()
    enable_language(CUDA)
  endif()
  message(STATUS "CUDA backend: toolkit ${CUDAToolkit_VERSION}")
else()
  message(STATUS "CUDA backend: not built (PLIMSOLL_CUDA=${PLIMSOLL_CUDA})")
endif()
