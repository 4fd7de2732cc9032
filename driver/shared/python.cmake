# stc_install_python_library(LIBRARY SBOM): for the Python package. LIBRARY, libstc.so, becomes one file, for wheels have no links, stripped where
# the installation is to be (scikit-build-core's install.strip); SBOM, the list of what is inside it, goes where PEP 770 wants it, if there is
# one: a library that somebody else built may have none beside it.
function(stc_install_python_library library sbom)
  set(name stc/libstc.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  install(FILES ${library} DESTINATION stc RENAME libstc.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} COMPONENT python EXCLUDE_FROM_ALL)
  install(CODE "if(CMAKE_INSTALL_DO_STRIP)
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${name}\" COMMAND_ERROR_IS_FATAL ANY)
  endif()" COMPONENT python EXCLUDE_FROM_ALL)
  if(SKBUILD)
    install(FILES ${sbom} DESTINATION ${SKBUILD_METADATA_DIR}/sboms RENAME stc.cdx.json COMPONENT python OPTIONAL)
  endif()
endfunction()
