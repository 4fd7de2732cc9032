/* driver/program/callers.c: rewrites messages for callers of libstc. */
#include "driver/program/program.h"

#include <string.h>

/* Options of the command that messages name, and their counterparts in libstc: members of StcOptions, arguments of
 * calls, calls. A row of which another row is a prefix stands before that row. */
static const char *const members[][2] = {{"-schedule", "schedule"},
                                         {"-plan", "schedule"},
#define KNOB(ID, name, ...) {"-" #name, #name},
#include "ir/knobs.def"
                                         {"-march", "march"},
                                         {"-mcpu", "mcpu"},
                                         {"-freal", "real"},
                                         {"-passes", "passes"},
                                         {"-load-pass", "load_passes"},
                                         {"-for-grid", "grid"},
                                         {"-members", "members"},
                                         {"-fno-contract", "no_contract"},
                                         {"-ffast-math", "fast_math"},
                                         {"-fno-hoist", "no_hoist"},
                                         {"-fno-cache", "no_cache"},
                                         {"-fcheck=finite", "check_finite"},
                                         {"-fcheck=bounds", "check_bounds"},
                                         {"-fcheck", "check_finite or check_bounds"},
                                         {"-O0", "opt_level 1"},
                                         {"-O1", "opt_level 2"},
                                         {"-O2", "opt_level 3"},
                                         {"-O3", "opt_level 4"},
                                         {"-print-before", "print_before"},
                                         {"-print-after-all", "print_all"},
                                         {"-print-after", "print_after"},
                                         {"-verify-each", "verify_each"},
                                         {"-time-passes", "time_passes"},
                                         {"-stats", "stats"},
                                         {"-Rpass", "remarks"},
                                         {"-emit=header", "stc_program_header"},
                                         {"-emit=manifest", "stc_program_manifest"},
                                         {"-emit=plan", "stc_program_plan"},
                                         {"-emit=ast", "STC_EMIT_AST"},
                                         {"-emit=sir", "STC_EMIT_SIR"},
                                         {"-emit=kir", "STC_EMIT_KIR"},
                                         {"-emit=llvm", "STC_EMIT_LLVM"},
                                         {"-emit=asm", "STC_EMIT_ASM"},
                                         {"-emit=obj", "STC_EMIT_OBJ"},
                                         {"--device", "device"},
                                         {"--split", "split"},
                                         {"--mpi", "STC_MPI"},
                                         {"--first-step", "stc_plan_first_step"},
                                         {"--time=kernels", "stc_plan_time_kernels"}};

/* The row of the option with which `s` begins; -1: none. */
static int find_member(const char *s) {
  for (int i = 0; i < (int)(sizeof members / sizeof members[0]); i++) {
    size_t n = strlen(members[i][0]);
    if (strncmp(s, members[i][0], n) == 0 && !strchr("abcdefghijklmnopqrstuvwxyz-_", s[n] ? s[n] : ' '))
      return i;
  }
  return -1;
}

const char *words_for_callers(Arena *a, const char *text) {
  Str s = {.arena = a};
  str_add(&s, "");
  bool quoted = false;
  for (const char *c = text; *c; c++) {
    quoted ^= *c == '"';
    int i = !quoted && (c == text || strchr(" (", c[-1])) ? find_member(c) : -1;
    str_addf(&s, i < 0 ? "%.1s" : "%s", i < 0 ? c : members[i][1]);
    c += i < 0 ? 0 : strlen(members[i][0]) - 1;
  }
  return s.s;
}
