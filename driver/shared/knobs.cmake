# What is installed of the table of knobs (ir/knobs.def), made when CMake configures: stc.h with StcOptions' members written out, and for
# the Python package the types of stc.compile's arguments, for type checkers. In the tree stc.h includes the table, and Python asks the
# library. tests/habits/knobs_test.py compares them.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ir/knobs.def driver/stc.h)
set(members)
set(arguments)
file(READ ir/knobs.def rows)
while(rows MATCHES "\nKNOB\\([A-Z0-9_]+, ([A-Za-z0-9_]+), ([A-Z]+),[ \n]+\"[^\"]*\",[ \n]+\"([^\"]*)\",(.*)")
  set(rows "${CMAKE_MATCH_4}")
  if(CMAKE_MATCH_2 STREQUAL NUMBER)
    string(APPEND members "  int ${CMAKE_MATCH_1}; /* ${CMAKE_MATCH_3} */\n")
    string(APPEND arguments "    ${CMAKE_MATCH_1}: Optional[int]\n")
  elseif(CMAKE_MATCH_2 STREQUAL SHAPE)
    string(APPEND members "  int ${CMAKE_MATCH_1}[3]; /* ${CMAKE_MATCH_3} */\n")
    string(APPEND arguments "    ${CMAKE_MATCH_1}: Union[int, Sequence[int], None]\n")
  else()
    string(APPEND members "  const char *${CMAKE_MATCH_1}; /* ${CMAKE_MATCH_3} */\n")
    string(APPEND arguments "    ${CMAKE_MATCH_1}: Optional[str]\n")
  endif()
endwhile()

file(READ driver/stc.h header)
string(REGEX MATCH "(.*)#define STC_KNOB_OF_NUMBER.*#undef STC_KNOB_OF_TEXT\n(.*)" header "${header}")
string(REPLACE "; ir/knobs.def has what they mean:" ":" before "${CMAKE_MATCH_1}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/stc.h CONTENT "${before}${members}${CMAKE_MATCH_2}" @ONLY)

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/python/_knob_types.pyi @ONLY CONTENT "from typing import Optional, Sequence, TypedDict, Union

class Knobs(TypedDict, total=False):
${arguments}")
install(FILES ${CMAKE_BINARY_DIR}/python/_knob_types.pyi DESTINATION stc COMPONENT python EXCLUDE_FROM_ALL)
