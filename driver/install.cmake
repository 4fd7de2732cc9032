# Components: command, archive, library, license (with the SBOM), doc (pages and examples), manual, habits (completion), mpi; python is the Python package's, package that of packaging/deb.
# What `cmake --install` puts where: the program, the libraries with their header, and what find_package and pkg-config read.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(driver/shared/pc.cmake)
set(STC_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/stc)
file(RELATIVE_PATH STC_CMAKE_TO_PREFIX /${STC_CMAKE_DIR} /)

install(TARGETS stc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
install(TARGETS libstc ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT archive)
install(FILES ${CMAKE_BINARY_DIR}/include/stc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
if(STC_SHARED OR STC_LLVM_STATIC)
  # The licences of what is inside, and its versions.
  include(packaging/sbom.cmake)
  install(FILES ${CMAKE_BINARY_DIR}/sbom.cdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
  install(DIRECTORY packaging/licenses DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
endif()
# The documentation: README.md beside docs/ and examples/, as links have it; what they say of stc's own sources is not there.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc PATTERN __pycache__ EXCLUDE)
install(CODE "set(STC_DOC \"${CMAKE_INSTALL_DOCDIR}\")" COMPONENT doc)
install(SCRIPT packaging/doc-links.cmake COMPONENT doc)
set(pc_files)
if(STC_SHARED)
  install(TARGETS libstc_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  list(APPEND pc_files stc)
  stc_install_python_library($<TARGET_FILE:libstc_shared> ${CMAKE_BINARY_DIR}/sbom.cdx.json)
endif()
if(NOT STC_LLVM_STATIC)
  list(APPEND pc_files stc-static)
endif()
foreach(pc ${pc_files})
  configure_file(driver/shared/${pc}.pc.in ${pc}.pc @ONLY)
  set(component library)
  if(pc STREQUAL stc-static)
    set(component archive)
  endif()
  install(FILES ${CMAKE_BINARY_DIR}/${pc}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endforeach()

configure_package_config_file(driver/shared/stc-config.cmake.in ${CMAKE_BINARY_DIR}/stc-config.cmake
  INSTALL_DESTINATION ${STC_CMAKE_DIR} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/stc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/stc-config.cmake ${CMAKE_BINARY_DIR}/stc-config-version.cmake driver/shared/stc-add-program.cmake
  DESTINATION ${STC_CMAKE_DIR} COMPONENT library)

# The manual page and the shells' completion, as the program itself writes them.
set(habits ${CMAKE_BINARY_DIR}/habits)
file(MAKE_DIRECTORY ${habits})
add_custom_command(OUTPUT ${habits}/stc.1 ${habits}/stc.bash ${habits}/_stc ${habits}/stc.fish DEPENDS stc VERBATIM
  COMMAND stc man > ${habits}/stc.1
  COMMAND stc completion bash > ${habits}/stc.bash
  COMMAND stc completion zsh > ${habits}/_stc
  COMMAND stc completion fish > ${habits}/stc.fish)
add_custom_target(stc_habits ALL DEPENDS ${habits}/stc.1)
install(FILES ${habits}/stc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT manual)
install(FILES ${habits}/stc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME stc COMPONENT habits)
install(FILES ${habits}/_stc DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT manual)
install(FILES ${habits}/stc.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT habits)

if(STC_SHARED)
  include(packaging/deb/package.cmake)
endif()

# The module for several processes, and its source, from which it is made for another MPI.
if(TARGET stc_mpi)
  install(PROGRAMS ${CMAKE_BINARY_DIR}/stc-mpi.so DESTINATION ${CMAKE_INSTALL_LIBDIR}/stc COMPONENT mpi)
endif()
install(FILES driver/split/stc-mpi.c driver/split/net.h DESTINATION ${CMAKE_INSTALL_DATADIR}/stc COMPONENT mpi)
