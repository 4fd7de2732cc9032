# sbom.cdx.json: what is inside libstc.so, and stc under STC_LLVM_STATIC, with the versions found, as CycloneDX 1.6; made when CMake configures. It
# has no date and no number of its own: the same libraries give the same file. Where the libraries are Debian's, their packages are told, too,
# whose versions say which mistakes were mended.
pkg_check_modules(ZSTD QUIET libzstd)
find_program(STC_DPKG_QUERY dpkg-query)
set(sbom_parts)

# sbom_part(NAME VERSION LICENCE DEBIAN-PACKAGE CPE): adds a part. VERSION may be empty, which leaves Debian's; CPE is vendor:product, or empty.
function(sbom_part name version licence package cpe)
  set(debian)
  if(STC_DPKG_QUERY)
    execute_process(COMMAND ${STC_DPKG_QUERY} -W -f "\${source:Package} \${source:Version}\n" ${package} OUTPUT_VARIABLE debian ERROR_QUIET)
  endif()
  set(purl "pkg:generic/${name}@${version}")
  if(debian MATCHES "^([^ ]+) ([^\n]+)\n")
    set(source ${CMAKE_MATCH_1})
    set(debian "${CMAKE_MATCH_2}")
    if(NOT version)
      string(REGEX REPLACE "^[0-9]+:|-[^-]*$" "" version "${debian}")
    endif()
    string(REPLACE ":" "%3A" debian "${debian}")
    string(REPLACE "+" "%2B" debian "${debian}")
    set(purl "pkg:deb/debian/${source}@${debian}?arch=source")
  endif()
  set(known)
  if(cpe)
    set(known "\"cpe\": \"cpe:2.3:a:${cpe}:${version}:*:*:*:*:*:*:*\", ")
  endif()
  set(part "    {\"type\": \"library\", \"bom-ref\": \"${name}\", \"name\": \"${name}\", \"version\": \"${version}\", ${known}\"purl\": \"${purl}\",
     \"licenses\": [{\"expression\": \"${licence}\"}]}")
  set(sbom_parts ${sbom_parts} "${part}" PARENT_SCOPE)
endfunction()

sbom_part(llvm "${LLVM_VERSION}" "Apache-2.0 WITH LLVM-exception AND NCSA AND Apache-2.0 AND Unicode-DFS-2015 AND Spencer-94 AND BSD-2-Clause" llvm-22-dev llvm:llvm)
sbom_part(libclc "${LLVM_VERSION}" "Apache-2.0 WITH LLVM-exception" libclc-22 "")
sbom_part(libstdc++ "${CMAKE_CXX_COMPILER_VERSION}" "GPL-3.0-or-later WITH GCC-exception-3.1" libstdc++6 gnu:gcc)
sbom_part(hdf5 "${HDF5_VERSION}" "BSD-3-Clause AND BSD-3-Clause-LBNL" libhdf5-dev hdfgroup:hdf5)
sbom_part(libaec "" "BSD-2-Clause" libaec-dev "")
sbom_part(libpng "${PNG_VERSION_STRING}" "libpng-2.0" libpng-dev libpng:libpng)
sbom_part(zlib "${ZLIB_VERSION_STRING}" "Zlib" zlib1g-dev zlib:zlib)
sbom_part(zstd "${ZSTD_VERSION}" "BSD-3-Clause" libzstd-dev facebook:zstandard)
sbom_part(jansson "${JANSSON_VERSION}" "MIT" libjansson-dev jansson_project:jansson)
if(MICROHTTPD_FOUND)
  sbom_part(libmicrohttpd "${MICROHTTPD_VERSION}" "LGPL-2.1-or-later" libmicrohttpd-dev gnu:libmicrohttpd)
endif()
list(JOIN sbom_parts ",\n" parts)
set(refs)
foreach(part IN LISTS sbom_parts)
  string(REGEX MATCH "\"bom-ref\": (\"[^\"]+\")" part "${part}")
  list(APPEND refs "${CMAKE_MATCH_1}")
endforeach()
list(JOIN refs ", " refs)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/sbom.cdx.json @ONLY CONTENT "{
  \"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.6\", \"version\": 1,
  \"metadata\": {\"component\": {\"type\": \"library\", \"bom-ref\": \"stc\", \"name\": \"stc\", \"version\": \"${PROJECT_VERSION}\",
    \"licenses\": [{\"expression\": \"MIT\"}]}},
  \"components\": [
${parts}
  ],
  \"dependencies\": [{\"ref\": \"stc\", \"dependsOn\": [${refs}]}]
}
")
