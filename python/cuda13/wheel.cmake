# What the wheel plimsoll-cuda13 has: the CUDA library. It finds the core by its name, as that is
# loaded already, and NVIDIA's libraries in their wheels, or else where the system has them.

if(NOT TARGET plimsoll_cuda OR NOT SKBUILD)
  return()
endif()

# A library may not be older than the headers that were compiled with: what the wheel asks for must be
# at least that. The header has #define <prefix>_MAJOR 9 and <prefix>_MINOR 19.
function(plimsoll_check_bound package header prefix)
  file(STRINGS "${header}" lines REGEX "define ${prefix}_(MAJOR|MINOR) +[0-9]+")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  string(JOIN "." version ${numbers})
  file(STRINGS "${CMAKE_CURRENT_SOURCE_DIR}/cuda13/pyproject.toml" line REGEX "^nvidia = ")
  string(REGEX MATCH "${package}>=([0-9.]+)" bound "${line}")
  if(NOT version OR NOT bound OR version VERSION_GREATER CMAKE_MATCH_1)
    message(FATAL_ERROR "plimsoll-cuda13 is compiled with ${header} of version '${version}', and asks for "
                        "'${bound}': write ${package}>=${version} into python/cuda13/pyproject.toml")
  endif()
endfunction()

if(SKBUILD_PROJECT_NAME STREQUAL "plimsoll-cuda13")
  if(NOT CUDAToolkit_VERSION_MAJOR EQUAL 13)
    message(FATAL_ERROR "plimsoll-cuda13 needs the toolkit of CUDA 13, and this is "
                        "${CUDAToolkit_VERSION}; set CUDAToolkit_ROOT to another")
  endif()
  if(NOT PLIMSOLL_HAS_CUDNN)
    message(FATAL_ERROR "plimsoll-cuda13 needs cuDNN: ${PLIMSOLL_NO_CUDNN_WHY}")
  endif()
  get_filename_component(cuda_include "${PLIMSOLL_CUDA_H}" DIRECTORY)
  plimsoll_check_bound(nvidia-cublas "${cuda_include}/cublas_api.h" CUBLAS_VER)
  plimsoll_check_bound(nvidia-cudnn-cu13 "${CUDNN_INCLUDE}/cudnn_version.h" CUDNN)
endif()

set_target_properties(
  plimsoll_cuda PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH OFF
                           INSTALL_RPATH "$ORIGIN/../nvidia/cu13/lib;$ORIGIN/../nvidia/cudnn/lib")
# With the version in its name, so that another version of the core does not load it.
install(FILES $<TARGET_FILE:plimsoll_cuda> RENAME $<TARGET_FILE_NAME:plimsoll_cuda>.${PROJECT_VERSION}
        DESTINATION plimsoll_cuda13 COMPONENT cuda13 EXCLUDE_FROM_ALL)
