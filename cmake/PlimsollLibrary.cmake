# The library `plimsoll` and, with CUDA, the module `plimsoll_cuda` that it loads at run time.
# Sources are found by folder, so that adding one touches no build file.

set(plimsoll_folders
    base memory device tensor ops math graph plan function distributed data nn optim train report
    backend/cpu)
if(PLIMSOLL_HAS_CUDA)
  list(APPEND plimsoll_folders backend/cuda_loader)
else()
  list(APPEND plimsoll_folders backend/no_cuda)
endif()
list(TRANSFORM plimsoll_folders PREPEND "${PROJECT_SOURCE_DIR}/src/")
list(TRANSFORM plimsoll_folders APPEND "/*.cpp")
file(GLOB_RECURSE plimsoll_sources CONFIGURE_DEPENDS ${plimsoll_folders})

configure_file("${PROJECT_SOURCE_DIR}/src/base/version.cpp.in"
               "${PROJECT_BINARY_DIR}/generated/base/version.cpp" @ONLY)

# data/digits.bin.zst as an array, so that it is there wherever the library is.
set(digits_file "${PROJECT_SOURCE_DIR}/data/digits.bin.zst")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${digits_file}")
file(READ "${digits_file}" digits_bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," digits_bytes "${digits_bytes}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/data/digits_data.cpp" @ONLY CONTENT [[
#include "data/sources/digits_data.h"

namespace plimsoll::data {
namespace {
constexpr unsigned char kBytes[] = {@digits_bytes@};
}  // namespace

std::span<const unsigned char> digits_data() { return kBytes; }

}  // namespace plimsoll::data
]])

add_library(
  plimsoll SHARED ${plimsoll_sources} "${PROJECT_BINARY_DIR}/generated/base/version.cpp"
                  "${PROJECT_BINARY_DIR}/generated/data/digits_data.cpp")
add_library(plimsoll::plimsoll ALIAS plimsoll)
plimsoll_compile_options(plimsoll)
target_include_directories(
  plimsoll
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
         "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(plimsoll PRIVATE plimsoll_dependencies)
# Kernels read neither errno nor the floating-point flags; without that, square roots and
# conditions can be vectors.
file(GLOB plimsoll_cpu_kernels CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/backend/cpu/*.cpp")
set_source_files_properties(${plimsoll_cpu_kernels} PROPERTIES COMPILE_OPTIONS
                                                               "-fno-math-errno;-fno-trapping-math")
# Calls within the library go straight to their target: an allocation makes several.
target_compile_options(plimsoll PRIVATE -fno-semantic-interposition)
# Threads of its pool may be asleep in it, so it is never unloaded.
target_link_options(plimsoll PRIVATE -Wl,-Bsymbolic-functions -Wl,-z,nodelete)
set_target_properties(
  plimsoll PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                      INSTALL_RPATH "$ORIGIN")

if(PLIMSOLL_HAS_CUDA)
  file(GLOB_RECURSE plimsoll_cuda_sources CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cpp" "${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cu")
  if(plimsoll_cuda_sources)
    # Never linked against libcuda.so: the driver is opened at run time, so that the module's
    # absence and the driver's are both ordinary answers.
    add_library(plimsoll_cuda MODULE ${plimsoll_cuda_sources})
    plimsoll_compile_options(plimsoll_cuda)
    target_include_directories(plimsoll_cuda PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_include_directories(plimsoll_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(plimsoll_cuda PRIVATE plimsoll plimsoll_dependencies CUDA::cublasLt)
    target_compile_definitions(plimsoll_cuda PRIVATE PLIMSOLL_HAS_CUDNN=${PLIMSOLL_HAS_CUDNN})
    if(PLIMSOLL_HAS_CUDNN)
      target_include_directories(plimsoll_cuda SYSTEM PRIVATE "${CUDNN_INCLUDE}"
                                                              "${PLIMSOLL_CUDNN_FRONTEND}")
      target_link_libraries(plimsoll_cuda PRIVATE "${CUDNN_LIBRARY}")
    endif()
    if(plimsoll_cuda_kernels)
      target_link_libraries(plimsoll_cuda PRIVATE CUDA::cudart_static)
      set_target_properties(plimsoll_cuda PROPERTIES CUDA_STANDARD 20 CUDA_RUNTIME_LIBRARY Static)
      # By hand as well: CMake 3.25 leaves the standard out for this compiler. Contractions are for
      # the compiler alone to choose, and never differ between two runs of one binary.
      target_compile_options(
        plimsoll_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--std=c++20;--expt-relaxed-constexpr;--extended-lambda;-Xcompiler=-Wall,-Wextra>")
    endif()
    # The libraries of CUDA may be where only the linker looked.
    set_target_properties(plimsoll_cuda PROPERTIES INSTALL_RPATH "$ORIGIN"
                                                   INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endif()
