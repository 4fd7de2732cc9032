# What `cmake --install` puts where: the program, the libraries with their header, and what find_package and pkg-config read.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(STC_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/stc)
file(RELATIVE_PATH STC_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)

install(TARGETS stc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS libstc ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES driver/stc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
set(pc_files)
if(STC_SHARED)
  install(TARGETS libstc_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  list(APPEND pc_files stc)
  # For the Python package: one file, for wheels have no links.
  install(FILES $<TARGET_FILE:libstc_shared> DESTINATION stc RENAME libstc.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    COMPONENT python EXCLUDE_FROM_ALL)
endif()
if(NOT STC_LLVM_STATIC)
  list(APPEND pc_files stc-static)
endif()
foreach(pc ${pc_files})
  configure_file(driver/shared/${pc}.pc.in ${pc}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${pc}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

configure_package_config_file(driver/shared/stc-config.cmake.in ${CMAKE_BINARY_DIR}/stc-config.cmake
  INSTALL_DESTINATION ${STC_CMAKE_DIR} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/stc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/stc-config.cmake ${CMAKE_BINARY_DIR}/stc-config-version.cmake driver/shared/stc-add-program.cmake
  DESTINATION ${STC_CMAKE_DIR})
