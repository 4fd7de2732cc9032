# The Debian package: `cpack -G DEB` in a build folder that has libstc.so. In it are libstc.so with LLVM inside, a command of a few lines that
# calls it, the header, what CMake and pkg-config read, the manual, completion, the documentation, and the source of the module for several
# processes. It depends on libc alone. It has no Homepage: the project has none yet.
add_executable(stc_packaged driver/main.c)
target_include_directories(stc_packaged PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(stc_packaged PRIVATE libstc_shared)
set(package_folder ${CMAKE_BINARY_DIR}/package)
set_target_properties(stc_packaged PROPERTIES OUTPUT_NAME stc RUNTIME_OUTPUT_DIRECTORY ${package_folder} BUILD_WITH_INSTALL_RPATH ON)
target_link_options(stc_packaged PRIVATE ${STC_SHIPPED_LINK_OPTIONS})
find_program(STC_GZIP gzip REQUIRED)
file(MAKE_DIRECTORY ${package_folder})
add_custom_command(OUTPUT ${package_folder}/stc.1.gz ${package_folder}/changelog.gz VERBATIM
  DEPENDS ${CMAKE_BINARY_DIR}/habits/stc.1 ${CMAKE_CURRENT_LIST_DIR}/changelog
  COMMAND ${STC_GZIP} -9nc ${CMAKE_BINARY_DIR}/habits/stc.1 > ${package_folder}/stc.1.gz
  COMMAND ${STC_GZIP} -9nc ${CMAKE_CURRENT_LIST_DIR}/changelog > ${package_folder}/changelog.gz)
add_custom_target(stc_package_files ALL DEPENDS ${package_folder}/stc.1.gz stc_packaged)

install(TARGETS stc_packaged RUNTIME DESTINATION bin COMPONENT package EXCLUDE_FROM_ALL)
install(FILES ${package_folder}/stc.1.gz DESTINATION share/man/man1 COMPONENT package EXCLUDE_FROM_ALL)
install(FILES ${package_folder}/changelog.gz ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION share/doc/stc COMPONENT package EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/lintian-overrides DESTINATION share/lintian/overrides RENAME stc COMPONENT package EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_BINARY_DIR}/habits/_stc DESTINATION share/zsh/vendor-completions COMPONENT package EXCLUDE_FROM_ALL)

# The licences of what is inside libstc.so, in full, and its versions.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/packaging/licenses DESTINATION share/doc/stc COMPONENT package EXCLUDE_FROM_ALL
  PATTERN Apache-2.0.txt EXCLUDE PATTERN GPL-3.txt EXCLUDE)

install(FILES ${CMAKE_BINARY_DIR}/sbom.cdx.json DESTINATION share/doc/stc COMPONENT package EXCLUDE_FROM_ALL)

# stc-mpi.so is made from this for the MPI that there is.
install(FILES ${CMAKE_SOURCE_DIR}/driver/split/stc-mpi.c ${CMAKE_SOURCE_DIR}/driver/split/net.h DESTINATION share/stc COMPONENT package
  EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stc)
set(CPACK_PACKAGE_VENDOR "the stc authors")
set(CPACK_PACKAGE_CONTACT "the stc authors <noreply@github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler for stencil programs on GPUs and CPUs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "A stencil program says how each point of a grid follows from its neighbours.
stc turns such a program, a few lines of text, into code that makes several
time steps at once on tiles kept in fast memory: PTX for NVIDIA GPUs, code
objects for AMD GPUs, object files for this CPU. Or it runs it at once.

The package has the command, libstc.so for programs that compile and run
stencils themselves, its header, what CMake and pkg-config read, and the
documentation. LLVM 22 is inside the library, which exports its own functions
only.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.34)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "lld-22, gcc")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_STC_SOURCE ${CMAKE_SOURCE_DIR})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/date.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/size.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
configure_file(packaging/deb/shlibs.in ${package_folder}/shlibs @ONLY)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers ${package_folder}/shlibs)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL library habits doc package)
include(CPack)
