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

# The manual page and the shells' completion, as the program itself writes them.
set(habits ${CMAKE_BINARY_DIR}/habits)
file(MAKE_DIRECTORY ${habits})
add_custom_command(OUTPUT ${habits}/stc.1 ${habits}/stc.bash ${habits}/_stc ${habits}/stc.fish DEPENDS stc VERBATIM
  COMMAND stc man > ${habits}/stc.1
  COMMAND stc completion bash > ${habits}/stc.bash
  COMMAND stc completion zsh > ${habits}/_stc
  COMMAND stc completion fish > ${habits}/stc.fish)
add_custom_target(stc_habits ALL DEPENDS ${habits}/stc.1)
install(FILES ${habits}/stc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${habits}/stc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME stc)
install(FILES ${habits}/_stc DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${habits}/stc.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
