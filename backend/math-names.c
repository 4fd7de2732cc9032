/* backend/math-names.c: what mathematical functions are called in the libraries that have them. */
#include "backend/emit.h"

#include <string.h>

/* The C name of op `code` without a type. */
static const char *base_name(Opcode code) { return code == OP_REM ? "fmod" : op_info[code].name; }

const char *libclc_name(Arena *a, Opcode code, Type t) {
  const char *name = base_name(code), *arg = t == TY_F32 ? "f" : "d";
  return arena_printf(a, "_Z%d%s%s%s", (int)strlen(name), name, arg, op_info[code].noperands == 2 ? arg : "");
}

const char *libm_name(Arena *a, Opcode code, Type t) {
  return arena_printf(a, "%s%s", base_name(code), t == TY_F32 ? "f" : "");
}
