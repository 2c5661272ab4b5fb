# Finds cuDNN and its C++ interface, which is headers alone: both or neither. Sets PLIMSOLL_HAS_CUDNN,
# 0 or 1 in every source of the CUDA module, and in the cache PLIMSOLL_NO_CUDNN_WHY: empty, or what is
# missing, which scripts read.
#
# The headers are sought in CUDNN_FRONTEND_DIR (of the cache or the environment), in
# .deps/cudnn-frontend, where `./dev deps` puts them, where compilers look, and in what python3 has
# installed: the wheels nvidia-cudnn-frontend and nvidia-cudnn, and PyTorch.

option(PLIMSOLL_CUDNN "Use cuDNN where it and its frontend are found" ON)
set(CUDNN_FRONTEND_DIR "$ENV{CUDNN_FRONTEND_DIR}" CACHE PATH
    "Folder of cuDNN's frontend: itself or its include/ has cudnn_frontend.h; empty: it is sought")
# Older ones have not been tried.
set(plimsoll_frontend_least 1.15.0)

# Folders in which Python's packages may have headers or libraries of cuDNN; asks python3 once.
function(plimsoll_python_folders result)
  find_program(PLIMSOLL_PYTHON3 python3)
  mark_as_advanced(PLIMSOLL_PYTHON3)
  set(folders "")
  if(PLIMSOLL_PYTHON3)
    execute_process(
      COMMAND "${PLIMSOLL_PYTHON3}" -c "import importlib.util as u, os, site, sysconfig
found = [sysconfig.get_path('purelib'), sysconfig.get_path('platlib'), site.getusersitepackages()]
torch = u.find_spec('torch')
found += [os.path.dirname(p) for p in (torch.submodule_search_locations if torch else [])]
print(';'.join(dict.fromkeys(found)))"
      OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${result} "${folders}" PARENT_SCOPE)
endfunction()

# The version of the headers in `folder`; 0 if they do not say.
function(plimsoll_frontend_version folder result)
  set(version 0)
  if(EXISTS "${folder}/cudnn_frontend_version.h")
    file(STRINGS "${folder}/cudnn_frontend_version.h" lines
         REGEX "define CUDNN_FRONTEND_(MAJOR|MINOR|PATCH)_VERSION +[0-9]+")
    string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
    string(JOIN "." version ${numbers})
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# Sets PLIMSOLL_CUDNN_FRONTEND, what compilers are given: the folder found, or one with links to the
# frontend's headers alone where others may lie beside them (a PyTorch has its own fmt).
function(plimsoll_frontend_alone)
  set(folder "${CUDNN_FRONTEND_INCLUDE}")
  if(NOT folder MATCHES "cudnn[-_]frontend")
    set(folder "${PROJECT_BINARY_DIR}/cudnn-frontend")
    file(REMOVE_RECURSE "${folder}")
    file(MAKE_DIRECTORY "${folder}")
    file(GLOB headers "${CUDNN_FRONTEND_INCLUDE}/cudnn_frontend*" "${CUDNN_FRONTEND_INCLUDE}/cudnn_backend*")
    foreach(header IN LISTS headers)
      get_filename_component(name "${header}" NAME)
      file(CREATE_LINK "${header}" "${folder}/${name}" SYMBOLIC)
    endforeach()
  endif()
  set(PLIMSOLL_CUDNN_FRONTEND "${folder}" PARENT_SCOPE)
endfunction()

set(PLIMSOLL_HAS_CUDNN 0)
set(plimsoll_why "")
if(NOT PLIMSOLL_HAS_CUDA)
  set(plimsoll_why "the build has no CUDA backend")
elseif(NOT PLIMSOLL_CUDNN)
  set(plimsoll_why "PLIMSOLL_CUDNN is OFF")
else()
  # Another folder is another search.
  if(NOT "${CUDNN_FRONTEND_DIR}" STREQUAL "${PLIMSOLL_FRONTEND_DIR_BEFORE}")
    unset(CUDNN_FRONTEND_INCLUDE CACHE)
    set(PLIMSOLL_FRONTEND_DIR_BEFORE "${CUDNN_FRONTEND_DIR}" CACHE INTERNAL "")
  endif()
  if(CUDNN_FRONTEND_DIR AND NOT EXISTS "${CUDNN_FRONTEND_DIR}/cudnn_frontend.h"
     AND NOT EXISTS "${CUDNN_FRONTEND_DIR}/include/cudnn_frontend.h")
    message(FATAL_ERROR "CUDNN_FRONTEND_DIR is ${CUDNN_FRONTEND_DIR}, and neither it nor its include/ has "
                        "cudnn_frontend.h; leave it empty to have it sought")
  endif()
  if(CUDNN_FRONTEND_INCLUDE AND NOT EXISTS "${CUDNN_FRONTEND_INCLUDE}/cudnn_frontend.h")
    unset(CUDNN_FRONTEND_INCLUDE CACHE)
  endif()
  if(NOT (CUDNN_INCLUDE AND CUDNN_LIBRARY AND CUDNN_FRONTEND_INCLUDE))
    plimsoll_python_folders(plimsoll_python)
  endif()
  find_path(CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${plimsoll_python}
            PATH_SUFFIXES nvidia/cudnn/include)
  # The wheel has no link without a version.
  find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS "${CUDAToolkit_LIBRARY_DIR}"
               PATHS ${plimsoll_python} PATH_SUFFIXES nvidia/cudnn/lib)
  find_path(
    CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
    HINTS ${CUDNN_FRONTEND_DIR} "${PROJECT_SOURCE_DIR}/.deps/cudnn-frontend"
    PATHS ${CUDAToolkit_INCLUDE_DIRS} ${plimsoll_python} /opt/pytorch/pytorch/third_party/cudnn_frontend
    PATH_SUFFIXES include cudnn_frontend/include nvidia/cudnn_frontend/include torch/include)
  mark_as_advanced(CUDNN_INCLUDE CUDNN_LIBRARY CUDNN_FRONTEND_INCLUDE)

  if(NOT CUDNN_INCLUDE OR NOT CUDNN_LIBRARY)
    set(plimsoll_why "cuDNN itself (cudnn.h, libcudnn) is not found")
  elseif(NOT CUDNN_FRONTEND_INCLUDE)
    set(plimsoll_why "the headers of cuDNN's frontend (cudnn_frontend.h) are not found")
  else()
    plimsoll_frontend_version("${CUDNN_FRONTEND_INCLUDE}" plimsoll_version)
    if(plimsoll_version VERSION_LESS plimsoll_frontend_least)
      set(plimsoll_why "the frontend in ${CUDNN_FRONTEND_INCLUDE} is ${plimsoll_version}, older than ${plimsoll_frontend_least}")
      unset(CUDNN_FRONTEND_INCLUDE CACHE)
    else()
      set(PLIMSOLL_HAS_CUDNN 1)
      plimsoll_frontend_alone()
      message(STATUS "cuDNN: ${CUDNN_LIBRARY}, frontend ${plimsoll_version} in ${CUDNN_FRONTEND_INCLUDE}")
    endif()
  endif()
  if(NOT PLIMSOLL_HAS_CUDNN)
    message(
      WARNING
        "cuDNN is not used: ${plimsoll_why}.\n"
        "Convolutions and attention to more than 256 tokens will run on plain kernels, many times "
        "slower. `./dev deps` brings the headers; without a network, copy .deps/cudnn-frontend here "
        "from a machine that has it, or set CUDNN_FRONTEND_DIR. cuDNN comes from NVIDIA's packages or "
        "with PyTorch. PLIMSOLL_CUDNN=OFF builds without it and says nothing.")
  endif()
endif()
set(PLIMSOLL_NO_CUDNN_WHY "${plimsoll_why}" CACHE INTERNAL "Why there is no cuDNN; empty: there is")
