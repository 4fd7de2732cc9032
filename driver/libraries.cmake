# stc_llvm: LLVM. stc_data: jansson, libpng, zlib and HDF5 with its dimension scales. With STC_LLVM_STATIC both are archives and the program needs libc and libm only.
# stc_llvm_archives, stc_data_archives: the same always as archives, for libstc.so; made where something asks for them.
add_library(stc_llvm INTERFACE)
add_library(stc_data INTERFACE)

# stc_make_archives(): makes the targets stc_llvm_archives and stc_data_archives.
function(stc_make_archives)
  # The archives that take part in the components' order, found by llvm-config: it knows the system libraries too.
  find_program(STC_LLVM_CONFIG NAMES llvm-config-22 llvm-config HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
  set(components nvptx amdgpu x86 orcjit passes linker bitreader irreader)
  execute_process(COMMAND ${STC_LLVM_CONFIG} --link-static --libfiles ${components} OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(archives UNIX_COMMAND "${archives}")
  foreach(name zstd z stdc++)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${name}.a OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT IS_ABSOLUTE "${file}")
      message(FATAL_ERROR "STC_LLVM_STATIC and STC_SHARED need lib${name}.a; on Debian: apt-get install libzstd-dev zlib1g-dev g++. "
        "-DSTC_SHARED=OFF builds without libstc.so")
    endif()
    list(APPEND system ${file})
  endforeach()
  add_library(stc_llvm_archives INTERFACE)
  target_link_libraries(stc_llvm_archives INTERFACE ${archives} ${system} -static-libgcc rt ${CMAKE_DL_LIBS} m)
  find_library(STC_JANSSON_ARCHIVE libjansson.a REQUIRED)
  find_library(STC_PNG_ARCHIVE libpng.a REQUIRED)
  find_library(STC_Z_ARCHIVE libz.a REQUIRED)
  # Debian's HDF5 knows of web servers and of szip: nothing of the first is used, so curl is not needed; szip is libaec's.
  find_library(STC_HDF5_ARCHIVE libhdf5.a REQUIRED HINTS ${HDF5_LIBRARY_DIRS})
  find_library(STC_HDF5_HL_ARCHIVE libhdf5_hl.a REQUIRED HINTS ${HDF5_LIBRARY_DIRS})
  find_library(STC_SZ_ARCHIVE libsz.a REQUIRED)
  find_library(STC_AEC_ARCHIVE libaec.a REQUIRED)
  add_library(stc_data_archives INTERFACE)
  target_include_directories(stc_data_archives INTERFACE ${JANSSON_INCLUDE_DIRS} ${PNG_INCLUDE_DIRS} ${HDF5_INCLUDE_DIRS})
  target_link_libraries(stc_data_archives INTERFACE ${STC_JANSSON_ARCHIVE} ${STC_PNG_ARCHIVE} ${STC_HDF5_HL_ARCHIVE} ${STC_HDF5_ARCHIVE}
    ${STC_SZ_ARCHIVE} ${STC_AEC_ARCHIVE} ${STC_Z_ARCHIVE} ${CMAKE_DL_LIBS} m)
endfunction()

if(STC_LLVM_STATIC OR STC_SHARED)
  stc_make_archives()
endif()
if(STC_LLVM_STATIC)
  target_link_libraries(stc_llvm INTERFACE stc_llvm_archives)
  target_link_libraries(stc_data INTERFACE stc_data_archives)
else()
  target_link_libraries(stc_llvm INTERFACE LLVM)
  find_library(STC_HDF5_HL NAMES hdf5_hl hdf5_serial_hl REQUIRED HINTS ${HDF5_LIBRARY_DIRS})
  get_filename_component(STC_HDF5_FOLDER ${STC_HDF5_HL} DIRECTORY)
  target_link_libraries(stc_data INTERFACE PkgConfig::JANSSON PNG::PNG ${STC_HDF5_HL} PkgConfig::HDF5 ZLIB::ZLIB)
endif()
