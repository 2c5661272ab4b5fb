# Each examples/<name>.cpp is a program of that name, built against the public headers only.

add_custom_target(examples)
file(GLOB plimsoll_examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
foreach(source IN LISTS plimsoll_examples)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example_${name} "${source}")
  plimsoll_compile_options(example_${name})
  target_link_libraries(example_${name} PRIVATE plimsoll::plimsoll fmt::fmt Threads::Threads)
  set_target_properties(
    example_${name} PROPERTIES OUTPUT_NAME ${name}
                               RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  if(name STREQUAL "make_pictures")
    target_link_libraries(example_${name} PRIVATE JPEG::JPEG)
  endif()
  add_dependencies(examples example_${name})
endforeach()
