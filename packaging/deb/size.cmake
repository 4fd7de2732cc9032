# After CPack has made the package.
foreach(package ${CPACK_PACKAGE_FILES})
  execute_process(COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/size.sh ${package} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
