# Sources that are compiled together: most of what one costs is the headers that its neighbours include
# as well, and the templates that they instantiate alike.

option(PLIMSOLL_UNITY "Compile the sources of a folder several at a time" ON)

# Sets `result` to what is compiled for SOURCES of `target`: a file that includes up to 8 sources of a
# folder, and alone those that
#   - lie in a folder of ALONE, or not below `root`;
#   - have flags of their own;
#   - change how whatever follows them is compiled (pragmas, macros, instruction sets);
#   - have a main(), which a program that has another must be able to leave in its library.
# Folders of COLD describe, log and draw, and leave the work to others: they are optimised less, which takes
# a quarter off their time.
# What is included is named as seen from `root`, a folder of the target's include path, so that clones
# share a compiler cache.
function(plimsoll_units result target root)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "SOURCES;ALONE;COLD")
  if(NOT PLIMSOLL_UNITY)
    set(${result} "${arg_SOURCES}" PARENT_SCOPE)
    return()
  endif()

  set(compiled "")
  set(folders "")
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${root}" OUTPUT_VARIABLE name)
    cmake_path(GET name PARENT_PATH folder)
    file(STRINGS "${source}" own_ways LIMIT_COUNT 1
         REGEX "^#pragma|^#define|^#undef|^HWY_|__attribute__\\(\\(target|^int main\\(")
    foreach(property IN ITEMS COMPILE_DEFINITIONS COMPILE_OPTIONS)
      get_source_file_property(flags "${source}" ${property})
      if(flags)
        set(own_ways "${flags}")
      endif()
    endforeach()
    if(name MATCHES "^\\.\\./" OR folder IN_LIST arg_ALONE OR own_ways)
      list(APPEND compiled "${source}")
    else()
      string(MAKE_C_IDENTIFIER "${folder}" key)
      list(APPEND folders "${key}")
      if(folder IN_LIST arg_COLD)
        set(cold_${key} "$<$<CONFIG:Release>:-O1>")
      endif()
      list(APPEND names_${key} "${name}")
    endif()
  endforeach()

  list(REMOVE_DUPLICATES folders)
  foreach(key IN LISTS folders)
    list(LENGTH names_${key} all)
    math(EXPR units "(${all} + 7) / 8")
    set(begin 0)
    foreach(unit RANGE 1 ${units})
      # As even as can be: the longest is what a build waits for.
      math(EXPR end "${all} * ${unit} / ${units}")
      math(EXPR count "${end} - ${begin}")
      list(SUBLIST names_${key} ${begin} ${count} names)
      set(begin ${end})
      list(TRANSFORM names REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN names "" includes)
      set(file "${PROJECT_BINARY_DIR}/generated/units/${target}/${key}_${unit}.cpp")
      file(CONFIGURE OUTPUT "${file}" CONTENT "@includes@" @ONLY)
      if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # To gcc an included source is a header, where types of anonymous namespaces are suspect.
        set_source_files_properties("${file}" PROPERTIES COMPILE_OPTIONS
                                                         "-Wno-subobject-linkage;${cold_${key}}")
      endif()
      list(APPEND compiled "${file}")
    endforeach()
  endforeach()
  set(${result} "${compiled}" PARENT_SCOPE)
endfunction()
