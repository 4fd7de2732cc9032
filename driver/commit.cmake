# cmake -DSOURCE=FOLDER -DOUT=FILE [-DGIT=PROGRAM] -P commit.cmake: writes a header that defines STC_COMMIT: the first 12 digits of the commit
# that FOLDER is at, with "-dirty" behind them if files differ from it; "" if FOLDER is not the top of a git checkout (a tarball, also one
# unpacked in somebody's own repository). The file is left alone where it says so already.
set(commit "")
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} describe --always --dirty --abbrev=12 "--exclude=*"
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit "")
  endif()
endif()
set(text "#define STC_COMMIT \"${commit}\"\n")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUT} "${text}")
endif()
