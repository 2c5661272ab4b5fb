# The library `plimsoll` and, with CUDA, the module `plimsoll_cuda` that it loads at run time.
# Sources are found by folder, so that adding one touches no build file.

set(plimsoll_folders
    base memory device tensor ops math graph plan function distributed data nn optim train report)
# Every folder of src/backend is a backend that the core links, but for what they share and what is
# a library of its own. Where CUDA is not built and not installed apart from the core, its stand-in is
# linked instead of its loader.
file(GLOB plimsoll_backends CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/src"
     "${PROJECT_SOURCE_DIR}/src/backend/*")
list(REMOVE_ITEM plimsoll_backends backend/common backend/shared backend/cuda)
if(PLIMSOLL_HAS_CUDA OR PLIMSOLL_CUDA_LOADER)
  list(REMOVE_ITEM plimsoll_backends backend/no_cuda)
else()
  list(REMOVE_ITEM plimsoll_backends backend/cuda_loader)
endif()
list(APPEND plimsoll_folders ${plimsoll_backends})
list(TRANSFORM plimsoll_folders PREPEND "${PROJECT_SOURCE_DIR}/src/")
list(TRANSFORM plimsoll_folders APPEND "/*.cpp")
file(GLOB_RECURSE plimsoll_sources CONFIGURE_DEPENDS ${plimsoll_folders})

# Kernels that are written once: a source of `backend` (cpu or cuda) for each file of src/backend/shared
# below `root`. Its path under the build folder has `prefix` in it.
function(plimsoll_shared_kernels result root prefix backend)
  set(header backend/cpu/shared.h)
  set(extension cpp)
  if(backend STREQUAL "cuda")
    set(header backend/cuda/kernels/shared.cuh)
    set(extension cu)
  endif()
  set(sources "")
  file(GLOB shared CONFIGURE_DEPENDS "${root}/src/backend/shared/*.h")
  foreach(file IN LISTS shared)
    get_filename_component(name "${file}" NAME_WE)
    set(source "${PROJECT_BINARY_DIR}/generated/${prefix}/${backend}/${name}.${extension}")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
#define PLIMSOLL_BACKEND @backend@
#include "@header@"
#include "backend/shared/@name@.h"
]])
    list(APPEND sources "${source}")
  endforeach()
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()
plimsoll_shared_kernels(plimsoll_shared_cpu "${PROJECT_SOURCE_DIR}" backend cpu)
list(APPEND plimsoll_sources ${plimsoll_shared_cpu})

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

# Program ops: each file of the folder has a function of its name that gives them.
file(GLOB program_op_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/data/program/ops/*.cpp")
set(program_op_declarations "")
set(program_op_functions "")
foreach(file IN LISTS program_op_files)
  get_filename_component(stem "${file}" NAME_WE)
  string(APPEND program_op_declarations "std::span<const ProgramOp> ${stem}();\n")
  string(APPEND program_op_functions "    program_ops::${stem},\n")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/data/program_op_files.cpp" @ONLY CONTENT [[
#include "data/program/op_files.h"

namespace plimsoll::data {
namespace program_ops {
@program_op_declarations@}  // namespace program_ops

std::span<std::span<const ProgramOp> (*const)()> program_op_files() {
  static constexpr std::span<const ProgramOp> (*kFiles[])() = {
@program_op_functions@  };
  return kFiles;
}

}  // namespace plimsoll::data
]])

# The page of reports, from its parts in src/report/page; scripts in the order in which they use one
# another.
set(page_folder "${PROJECT_SOURCE_DIR}/src/report/page")
set(page_scripts base chart events memory plan pipeline curves refusal overview main)
foreach(part IN ITEMS html style script)
  set(page_files "${page_folder}/page.html")
  if(part STREQUAL style)
    set(page_files "${page_folder}/page.css")
  elseif(part STREQUAL script)
    list(TRANSFORM page_scripts PREPEND "${page_folder}/" OUTPUT_VARIABLE page_files)
    list(TRANSFORM page_files APPEND ".js")
  endif()
  set(page_${part} "")
  foreach(file IN LISTS page_files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" bytes HEX)
    string(APPEND page_${part} "${bytes}")
  endforeach()
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," page_${part} "${page_${part}}")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/report/page_parts.cpp" @ONLY CONTENT [[
#include "report/page_parts.h"

namespace plimsoll::report {
namespace {
constexpr char kHtml[] = {@page_html@};
constexpr char kStyle[] = {@page_style@};
constexpr char kScript[] = {@page_script@};
}  // namespace

std::string_view page_html() { return {kHtml, sizeof kHtml}; }
std::string_view page_style() { return {kStyle, sizeof kStyle}; }
std::string_view page_script() { return {kScript, sizeof kScript}; }

}  // namespace plimsoll::report
]])

# Kernels are tuned file by file, so each is compiled by itself.
plimsoll_units(plimsoll_units plimsoll "${PROJECT_SOURCE_DIR}/src" SOURCES ${plimsoll_sources}
               ALONE backend/cpu data/image COLD nn nn/models optim report train)
add_library(
  plimsoll SHARED ${plimsoll_units} "${PROJECT_BINARY_DIR}/generated/base/version.cpp"
                  "${PROJECT_BINARY_DIR}/generated/data/digits_data.cpp"
                  "${PROJECT_BINARY_DIR}/generated/data/program_op_files.cpp"
                  "${PROJECT_BINARY_DIR}/generated/report/page_parts.cpp")
add_library(plimsoll::plimsoll ALIAS plimsoll)
plimsoll_compile_options(plimsoll)
target_include_directories(
  plimsoll
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
         "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(plimsoll PRIVATE plimsoll_dependencies)
# Nothing here reads errno or the floating-point flags after arithmetic; without that, square roots
# and conditions can be vectors. For all sources alike, so that one precompiled header serves them.
target_compile_options(plimsoll PRIVATE -fno-math-errno -fno-trapping-math)
# More than half of the time that a source takes is spent on these. Headers of our own are not among
# them: a change to one would compile everything again.
target_precompile_headers(
  plimsoll PRIVATE
  <fmt/format.h> <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <functional> <map>
  <memory> <mutex> <numeric> <optional> <span> <string> <string_view> <thread> <unordered_map> <variant>
  <vector>)
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
  plimsoll_shared_kernels(plimsoll_shared_cuda "${PROJECT_SOURCE_DIR}" backend cuda)
  list(APPEND plimsoll_cuda_sources ${plimsoll_shared_cuda})
  # Headers that programs compiled at run time include, as text; rtc_std.h stands for what NVRTC lacks.
  set(rtc_files
      "backend/cuda/programs/pointwise.cuh=src/backend/cuda/programs/pointwise.cuh"
      "backend/cuda/kernels/element.cuh=src/backend/cuda/kernels/element.cuh"
      "backend/cuda/kernels/math.cuh=src/backend/cuda/kernels/math.cuh"
      "backend/cuda/kernels/rounded.cuh=src/backend/cuda/kernels/rounded.cuh"
      "plimsoll/backend/common/convert.h=include/plimsoll/backend/common/convert.h"
      "plimsoll/backend/common/inline.h=include/plimsoll/backend/common/inline.h"
      "cstdint=src/backend/cuda/programs/rtc_std.h"
      "limits=src/backend/cuda/programs/rtc_std.h"
      "type_traits=src/backend/cuda/programs/rtc_std.h"
      "cuda_runtime.h=src/backend/cuda/programs/rtc_std.h")
  set(rtc_arrays "")
  set(rtc_entries "")
  set(rtc_number 0)
  foreach(entry IN LISTS rtc_files)
    string(REGEX REPLACE "=.*" "" name "${entry}")
    string(REGEX REPLACE ".*=" "${PROJECT_SOURCE_DIR}/" file "${entry}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" bytes HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
    string(APPEND rtc_arrays "constexpr char kText${rtc_number}[] = {${bytes}};\n")
    string(APPEND rtc_entries "      {\"${name}\", {kText${rtc_number}, sizeof kText${rtc_number}}},\n")
    math(EXPR rtc_number "${rtc_number} + 1")
  endforeach()
  set(rtc_source "${PROJECT_BINARY_DIR}/generated/backend/cuda/rtc_headers.cpp")
  file(CONFIGURE OUTPUT "${rtc_source}" @ONLY CONTENT [[
#include "backend/cuda/programs/rtc_headers.h"

namespace plimsoll::cuda {
namespace {
@rtc_arrays@}  // namespace

std::span<const RtcHeader> rtc_headers() {
  static constexpr RtcHeader kHeaders[] = {
@rtc_entries@  };
  return kHeaders;
}

}  // namespace plimsoll::cuda
]])
  list(APPEND plimsoll_cuda_sources "${rtc_source}")
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
      # Not for kernels, which do not use it: nvcc gets the path in a form that the compiler cache
      # does not make relative, so that no two clones would share a kernel.
      target_include_directories(
        plimsoll_cuda SYSTEM PRIVATE "${CUDNN_INCLUDE}"
                                     "$<$<COMPILE_LANGUAGE:CXX>:${PLIMSOLL_CUDNN_FRONTEND}>")
      target_link_libraries(plimsoll_cuda PRIVATE "${CUDNN_LIBRARY}")
    endif()
    if(plimsoll_cuda_kernels)
      target_link_libraries(plimsoll_cuda PRIVATE CUDA::cudart_static)
      set_target_properties(plimsoll_cuda PROPERTIES CUDA_STANDARD 20 CUDA_RUNTIME_LIBRARY Static)
      # By hand as well: CMake 3.25 leaves the standard out for this compiler. Contractions are for
      # the compiler alone to choose, and never differ between two runs of one binary.
      target_compile_options(
        plimsoll_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--std=c++20;--expt-relaxed-constexpr;--extended-lambda;-Xcompiler=-Wall,-Wextra>")
      # But where a kernel that is compiled at run time must give the same bits, there are none.
      foreach(name IN ITEMS elementwise elementwise_math elementwise_activation cast compare)
        set_source_files_properties("${PROJECT_SOURCE_DIR}/src/backend/cuda/kernels/${name}.cu"
                                    PROPERTIES COMPILE_OPTIONS "--fmad=false")
      endforeach()
    endif()
    # Of what the core links, this needs little.
    target_link_options(plimsoll_cuda PRIVATE -Wl,--as-needed)
    # The libraries of CUDA may be where only the linker looked.
    set_target_properties(plimsoll_cuda PROPERTIES INSTALL_RPATH "$ORIGIN"
                                                   INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endif()
