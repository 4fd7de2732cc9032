# Read as cpack begins: files in the package have the date of SOURCE_DATE_EPOCH, or else the commit's, so that another build of it has the same bytes.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git -C ${CPACK_STC_SOURCE} log -1 --format=%ct OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE none ERROR_QUIET)
  if(NOT none)
    set(ENV{SOURCE_DATE_EPOCH} ${date})
  endif()
endif()
