# How every target of this project is compiled: plimsoll_compile_options(<target>).

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(PLIMSOLL_CCACHE ccache)
mark_as_advanced(PLIMSOLL_CCACHE)
if(PLIMSOLL_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # One cache serves every clone, wherever it lies. The sloppiness is what ccache asks for to work
  # with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros "${PLIMSOLL_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()

set(plimsoll_warnings
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wnon-virtual-dtor
    -Woverloaded-virtual
    -Wcast-qual
    -Wformat=2
    -Wimplicit-fallthrough
    -Wundef
    -Wvla
    # Designated initializers name only what differs from the default.
    -Wno-missing-field-initializers)

# What gcc finds only after optimising, it sometimes finds in the standard library's own strings:
# shown, but no reason to stop. -Wrestrict of gcc 12 is wrong more often than right.
set(plimsoll_werror -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND plimsoll_werror -Wno-error=array-bounds -Wno-error=maybe-uninitialized
       -Wno-error=stringop-overflow -Wno-error=stringop-overread -Wno-error=dangling-pointer)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND plimsoll_warnings -Wno-restrict)
  endif()
endif()

set(plimsoll_sanitize_flags "")
if(PLIMSOLL_SANITIZE)
  set(plimsoll_sanitize_flags "-fsanitize=${PLIMSOLL_SANITIZE}" -fno-omit-frame-pointer)
  if(PLIMSOLL_SANITIZE MATCHES "undefined")
    list(APPEND plimsoll_sanitize_flags -fno-sanitize-recover=all)
  endif()
endif()

function(plimsoll_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(
    ${target}
    PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${plimsoll_warnings}>"
            "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PLIMSOLL_WERROR}>>:${plimsoll_werror}>"
            "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fpch-preprocess>")
  if(plimsoll_sanitize_flags)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${plimsoll_sanitize_flags}>")
    target_link_options(${target} PRIVATE ${plimsoll_sanitize_flags})
  endif()
endfunction()
