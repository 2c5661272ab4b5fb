# Third-party libraries. None of them appears in a public header, so none is asked of a user of
# the installed package.

# What is needed and not here is named all at once, with the line that installs it.
set(plimsoll_missing "")
foreach(name IN ITEMS fmt nlohmann_json CLI11 JPEG PNG ZLIB PkgConfig)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    list(APPEND plimsoll_missing ${name})
  endif()
endforeach()
if(PkgConfig_FOUND)
  pkg_check_modules(ZSTD QUIET IMPORTED_TARGET libzstd)
  if(NOT ZSTD_FOUND)
    list(APPEND plimsoll_missing zstd)
  endif()
endif()
if(plimsoll_missing)
  list(JOIN plimsoll_missing ", " plimsoll_missing)
  message(FATAL_ERROR "Plimsoll needs ${plimsoll_missing}. On Debian and Ubuntu:\n"
          "  sudo apt-get install -y g++ cmake ninja-build pkg-config libfmt-dev libspdlog-dev "
          "libcli11-dev nlohmann-json3-dev libjpeg-dev libpng-dev zlib1g-dev libzstd-dev libhwy-dev "
          "libdnnl-dev libopenblas-openmp-dev python3-dev")
endif()
find_package(Threads REQUIRED)
find_package(spdlog QUIET)

add_library(plimsoll_dependencies INTERFACE)
target_link_libraries(plimsoll_dependencies INTERFACE Threads::Threads fmt::fmt
                                                      nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
if(spdlog_FOUND)
  target_link_libraries(plimsoll_dependencies INTERFACE spdlog::spdlog)
endif()

# The input pipeline's codecs, needed once it has sources.
file(GLOB_RECURSE plimsoll_data_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/data/*.cpp")
if(plimsoll_data_sources)
  target_link_libraries(plimsoll_dependencies INTERFACE JPEG::JPEG PNG::PNG ZLIB::ZLIB
                                                        PkgConfig::ZSTD)
endif()

# Highway (SIMD) is optional: PLIMSOLL_HAS_HIGHWAY is 0 or 1 in every source of the library.
set(plimsoll_has_highway 0)
if(PkgConfig_FOUND)
  pkg_check_modules(HIGHWAY QUIET IMPORTED_TARGET libhwy)
  if(HIGHWAY_FOUND)
    set(plimsoll_has_highway 1)
    target_link_libraries(plimsoll_dependencies INTERFACE PkgConfig::HIGHWAY)
  endif()
endif()
target_compile_definitions(plimsoll_dependencies
                           INTERFACE PLIMSOLL_HAS_HIGHWAY=${plimsoll_has_highway})

# Threads for our own loops, the same that the mathematical libraries use.
find_package(OpenMP QUIET COMPONENTS CXX)
if(OpenMP_CXX_FOUND)
  target_link_libraries(plimsoll_dependencies INTERFACE OpenMP::OpenMP_CXX)
endif()

# BLAS and oneDNN do the heavy mathematics of the CPU; without them our own kernels do.
# PLIMSOLL_HAS_BLAS and PLIMSOLL_HAS_ONEDNN are 0 or 1 in every source of the library.
option(PLIMSOLL_ONEDNN "Use oneDNN where it is found" ON)
option(PLIMSOLL_BLAS "Use OpenBLAS where it is found" ON)
set(plimsoll_has_blas 0)
set(plimsoll_has_onednn 0)
if(PLIMSOLL_BLAS AND PkgConfig_FOUND)
  pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
  if(OPENBLAS_FOUND)
    set(plimsoll_has_blas 1)
    target_link_libraries(plimsoll_dependencies INTERFACE PkgConfig::OPENBLAS)
  endif()
endif()
if(PLIMSOLL_ONEDNN)
  # Not by its package file: Debian's asks for OpenCL's headers, which nothing here needs.
  find_path(ONEDNN_INCLUDE dnnl.hpp)
  find_library(ONEDNN_LIBRARY dnnl)
  mark_as_advanced(ONEDNN_INCLUDE ONEDNN_LIBRARY)
  if(ONEDNN_INCLUDE AND ONEDNN_LIBRARY)
    set(plimsoll_has_onednn 1)
    target_link_libraries(plimsoll_dependencies INTERFACE "${ONEDNN_LIBRARY}")
  endif()
endif()
target_compile_definitions(
  plimsoll_dependencies INTERFACE PLIMSOLL_HAS_BLAS=${plimsoll_has_blas}
                                  PLIMSOLL_HAS_ONEDNN=${plimsoll_has_onednn})
