# libstc.so: all parts, LLVM, the C++ runtime, jansson, libpng, zlib, HDF5, libmicrohttpd and libclc's bitcode in one file that needs libc and libm only.
# Nothing but stc.h's functions is seen from outside (libstc.map), so it goes with any other LLVM in a process. docs/api.md has the ABI's rules.
set(shared_objects)
foreach(part ir frontend passes backend driver)
  list(APPEND shared_objects $<FILTER:$<TARGET_OBJECTS:stc_${part}>,EXCLUDE,/libclc[-a-z]*\\.c\\.o$>)
endforeach()
add_library(libstc_shared SHARED ${shared_objects} $<TARGET_OBJECTS:stc_commit> backend/libclc.c backend/libclc-embedded.c driver/shared/streams.c driver/shared/old-libc.c
  driver/shared/libstc.map)
set_property(SOURCE backend/libclc-embedded.c APPEND PROPERTY OBJECT_DEPENDS
  "${STC_LIBCLC_DIR}/nvptx64--.bc;${STC_LIBCLC_DIR}/amdgcn-amd-amdhsa.bc")
target_include_directories(libstc_shared PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(libstc_shared SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(libstc_shared PRIVATE STC_LIBCLC_DIR="${STC_LIBCLC_DIR}" STC_LIBCLC_EMBEDDED _GNU_SOURCE)
# While the major version is 0 each minor version may break the interface, and has a SONAME of its own.
set_target_properties(libstc_shared PROPERTIES OUTPUT_NAME stc LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${CMAKE_SOURCE_DIR}/driver/shared/libstc.map)
target_link_libraries(libstc_shared PRIVATE stc_llvm_archives stc_data_archives Threads::Threads)
target_link_options(libstc_shared PRIVATE LINKER:--version-script=${CMAKE_SOURCE_DIR}/driver/shared/libstc.map LINKER:--gc-sections
  LINKER:--no-undefined LINKER:-O1 ${STC_SHIPPED_LINK_OPTIONS} LINKER:--wrap=stdin LINKER:--wrap=stdout LINKER:--wrap=stderr)
target_link_libraries(libstc_shared PRIVATE stc_lld)
