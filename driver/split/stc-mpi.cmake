# The module is made by the compiler of the MPI at hand, beside stc; without one there is none, and stc is the same.
find_program(STC_MPICC mpicc DOC "The C compiler of the MPI that stc-mpi.so is for")

# stc_mpi_module(TARGET MPICC FOLDER): FOLDER/stc-mpi.so.
function(stc_mpi_module target mpicc folder)
  set(source ${CMAKE_SOURCE_DIR}/driver/split/stc-mpi.c)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/stc-mpi.so DEPENDS ${source} ${CMAKE_SOURCE_DIR}/driver/split/net.h VERBATIM
    COMMAND ${mpicc} -std=c11 -O2 -Wno-stringop-overflow -shared -fPIC -Wl,-z,relro,-z,now -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -o ${folder}/stc-mpi.so ${source})
  add_custom_target(${target} ALL DEPENDS ${folder}/stc-mpi.so)
endfunction()

if(STC_MPICC)
  stc_mpi_module(stc_mpi ${STC_MPICC} ${CMAKE_BINARY_DIR})
endif()
