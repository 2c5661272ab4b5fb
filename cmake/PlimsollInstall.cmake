# `cmake --install`: libraries, headers, the command, and what find_package(plimsoll) reads.

include(CMakePackageConfigHelpers)

install(
  TARGETS plimsoll
  EXPORT plimsollTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET plimsoll_cuda)
  install(TARGETS plimsoll_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(TARGETS plimsoll_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY include/plimsoll DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h")

set(plimsoll_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll")
configure_package_config_file(cmake/plimsollConfig.cmake.in
                              "${PROJECT_BINARY_DIR}/plimsollConfig.cmake"
                              INSTALL_DESTINATION "${plimsoll_config_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/plimsollConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT plimsollTargets NAMESPACE plimsoll:: DESTINATION "${plimsoll_config_dir}")
install(FILES "${PROJECT_BINARY_DIR}/plimsollConfig.cmake"
              "${PROJECT_BINARY_DIR}/plimsollConfigVersion.cmake"
        DESTINATION "${plimsoll_config_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
