/* driver/cli/options/options-table.c: the tables of commands and options, and the functions that store the values of
 * options. Most rows give a member of Command and bounds; the others have a function. */
#include "driver/cli/options/options.h"
#include "driver/view/address.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- values */

/* Parses an integer in [least, most]; false if `s` is not one. */
static bool parse_int(const char *s, int64_t least, int64_t most, int64_t *out) {
  char *end;
  errno = 0;
  long long n = strtoll(s, &end, 10);
  *out = n;
  return end != s && !*end && !errno && n >= least && n <= most;
}

/* Parses "8x32" or "8,32" into up to `most` numbers from 1 on. */
static bool parse_shape(const char *s, int most, int *out) {
  for (int d = 0; d < most; d++) {
    char *end;
    errno = 0;
    long n = strtol(s, &end, 10);
    if (end == s || errno || n < 1 || n > 1 << 30)
      return false;
    out[d] = (int)n;
    if (!*end)
      return true;
    if (*end != 'x' && *end != ',')
      return false;
    s = end + 1;
  }
  return false;
}

/* Appends a word to a list of them. */
static void add_word(Command *c, const char ***list, int *n, const char *value) {
  ARENA_PUSH(c->arena, *list, *n, value);
}

/* Appends "F=VALUE" to a list of field options. */
static const char *add_field(Command *c, FieldOption **list, int *n, const char *value) {
  const char *equals = strchr(value, '=');
  if (!equals || equals == value || !equals[1])
    return equals || !strchr(value, '.') ? "FIELD=VALUE"
                                         : arena_printf(c->arena, "FIELD=VALUE, such as u=%s for field u", value);
  FieldOption o = {.field = arena_strndup(c->arena, value, (size_t)(equals - value)), .value = equals + 1};
  ARENA_PUSH(c->arena, *list, *n, o);
  return NULL;
}

const char *option_store(Command *c, const OptionSlot *s, const char *v) {
  char *at = (char *)c + s->at;
  int64_t n;
  switch (s->kind) {
  case SLOT_TEXT: *(const char **)at = v; return NULL;
  case SLOT_FLAG: *(bool *)at = true; return NULL;
  case SLOT_NUMBER:
    if (!parse_int(v, s->least, s->most, &n))
      return s->right;
    *(int *)at = (int)n;
    return NULL;
  case SLOT_COUNT: return parse_int(v, s->least, INT64_MAX, (int64_t *)at) ? NULL : s->right;
  case SLOT_SHAPE: return parse_shape(v, GRID_RANK, (int *)at) ? NULL : s->right;
  case SLOT_WORDS: add_word(c, (const char ***)at, (int *)((char *)c + s->number), v); return NULL;
  case SLOT_FIELDS: return add_field(c, (FieldOption **)at, (int *)((char *)c + s->number), v);
  default: return s->set(c, v);
  }
}

/* -v. */
static const char *set_verbose(Command *c, const char *v) { return (void)v, c->context->verbose = true, NULL; }

/* -Rpass, or -Rpass=plan, which also lists candidates of schedules. */
static const char *set_remarks(Command *c, const char *v) {
  bool plan = v && strcmp(v, "plan") == 0;
  if (v && *v && !plan)
    return "plan, which lists the best candidates of schedules among all remarks, or nothing";
  c->options.remarks = true;
  c->context->candidates = plan;
  return NULL;
}

/* -fcheck=finite[=N],bounds. */
static const char *set_fcheck(Command *c, const char *v) {
  static const char right[] =
      "finite, finite=N with a number of steps from 1, bounds, or two of these with a comma between them";
  while (*v) {
    size_t n = strcspn(v, ",");
    const char *word = arena_strndup(c->arena, v, n);
    if (strcmp(word, "bounds") == 0)
      c->options.check_bounds = true;
    else if (strcmp(word, "finite") == 0)
      c->options.check_finite = 1;
    else if (strncmp(word, "finite=", 7) != 0 || !parse_int(word + 7, 1, INT64_MAX, &c->options.check_finite))
      return right;
    v += n + (v[n] == ',' && v[n + 1]);
    if (*v == ',')
      return right;
  }
  return NULL;
}

/* -for-grid=AxBxC. */
static const char *set_grid(Command *c, const char *v) {
  int n[MAX_RANK] = {0};
  if (!parse_shape(v, MAX_RANK, n))
    return "an extent for each dimension, such as 512x512";
  for (int d = 0; d < MAX_RANK; d++)
    c->options.grid[d] = n[d];
  return NULL;
}

static const char *set_help(Command *c, const char *v) {
  c->topic = c->kind == CMD_COMPILE ? NULL : command_row(c->kind)->word;
  return (void)v, c->kind = CMD_HELP, NULL;
}
/* --stdio, which clients in editors pass; there is no other way. */
static const char *set_stdio(Command *c, const char *v) { return (void)c, (void)v, NULL; }
static const char *set_version(Command *c, const char *v) { return (void)v, c->kind = CMD_VERSION, NULL; }

/* -DNAME=VALUE. */
static const char *set_define(Command *c, const char *v) {
  Define d;
  if (!define_parse(c->arena, v, &d))
    return "NAME=VALUE";
  ARENA_PUSH(c->arena, c->defines, c->ndefines, v);
  return NULL;
}

/* -O0 .. -O3. */
static const char *set_level(Command *c, const char *v) {
  int64_t n;
  if (!parse_int(v, 0, 3, &n))
    return "0, 1, 2 or 3";
  c->options.opt_level = (int)n + 1;
  return NULL;
}

/* Parses one to MAX_RANK numbers separated by commas; false if `s` has another form. */
static bool parse_numbers(const char *s, double out[MAX_RANK], int *n) {
  for (*n = 0; *n < MAX_RANK;) {
    char *end;
    double v = strtod(s, &end);
    if (end == s || !isfinite(v))
      return false;
    out[(*n)++] = v;
    if (!*end)
      return true;
    if (*end != ',')
      return false;
    s = end + 1;
  }
  return false;
}

/* --spacing=A,B,C, --origin=A,B,C. */
static const char *set_spacing(Command *c, const char *v) {
  bool ok = parse_numbers(v, c->spacing, &c->nspacing);
  for (int d = 0; d < c->nspacing; d++)
    ok = ok && c->spacing[d] > 0;
  return ok ? NULL : "one number above 0, or one for each dimension, such as 0.1,0.2";
}
static const char *set_origin(Command *c, const char *v) {
  return parse_numbers(v, c->origin, &c->norigin) ? NULL : "a number for each dimension, such as 0,-1.5";
}
/* --limits=LO,HI, --slice=D:PLACE: how pictures are drawn. */
static const char *set_limits(Command *c, const char *v) {
  double limits[MAX_RANK] = {0};
  int n;
  c->limited = parse_numbers(v, limits, &n) && n == 2 && limits[0] < limits[1];
  c->limits[0] = limits[0];
  c->limits[1] = limits[1];
  return c->limited ? NULL : "the least value and a greater one, such as -1,1";
}
static const char *set_slice(Command *c, const char *v) {
  int64_t n;
  bool ok = v[0] >= '0' && v[0] <= '2' && v[1] == ':' && parse_int(v + 2, INT64_MIN, INT64_MAX, &n);
  return ok ? (c->slice = v, NULL) : "a dimension from 0, the slowest, to 2, and a place there, such as 0:32";
}

/* --time[=kernels]. */
static const char *set_time(Command *c, const char *v) {
  c->time = true;
  c->time_kernels = v != NULL;
  return !v || strcmp(v, "kernels") == 0 ? NULL : "kernels, or nothing";
}

/* --check[=TOL]. */
static const char *set_check(Command *c, const char *v) {
  char *end;
  c->check = true;
  c->tolerance = v;
  return !v || (strtod(v, &end) >= 0 && isfinite(strtod(v, NULL)) && end != v && !*end)
             ? NULL
             : "a relative error from 0, such as 1e-6";
}

/* --view, --view=ADDRESS:PORT. */
static const char *set_view(Command *c, const char *v) {
  struct sockaddr_storage at;
  socklen_t size;
  c->view = v ? v : "";
  return address_read(c->view, &at, &size)
             ? NULL
             : "a port, or ADDRESS:PORT with an address in digits, such as 127.0.0.1:8000";
}

/* --mpi, --mpi=FILE. */
static const char *set_mpi(Command *c, const char *v) { return c->mpi = v ? v : "", NULL; }

/* ---------------------------------------------------------------- the tables */

const CommandRow command_rows[] = {
    {"", CMD_COMPILE, "[options] FILE", "compile to .ptx, .hsaco or .o, and write a manifest (.json)"},
    {"run", CMD_RUN, "[options] FILE", "compile and run (`stc help run`)"},
    {"tune", CMD_TUNE, "[options] FILE", "find the fastest schedule on a device (`stc help tune`)"},
    {"explain", CMD_EXPLAIN, "[options] FILE", "describe the schedule and predict its speed (`stc help explain`)"},
    {"bench", CMD_BENCH, "[options]", "measure the bench programs on a device (`stc help bench`)"},
    {"fmt", CMD_FORMAT, "[--check] FILE..", "format programs (`stc help fmt`)"},
    {"lsp", CMD_LSP, "", "start a language server, for editors (`stc help lsp`)"},
    {"devices", CMD_DEVICES, "", "list the devices that programs can run on"},
    {"cache", CMD_CACHE, "[--clear]", "show or clear the cache of compiled kernels (`stc help cache`)"},
    {"completion", CMD_COMPLETION, "SHELL", "print completions for bash, zsh or fish; `stc man`: the manual page"},
    {"man", CMD_MAN, NULL, "print the manual page in the format of man(1)"},
    {"help", CMD_HELP, "[COMMAND]", "print this text, or the help of a command"},
    {NULL, 0, NULL, NULL},
};

const CommandRow *command_row(CommandKind kind) {
  const CommandRow *row = command_rows;
  while (row->word && row->kind != kind)
    row++;
  return row;
}

/* The values of -schedule: the families of families.def. */
static const char schedules[] = "auto"
#define FAMILY(id, name, ...) ", " name
#include "ir/families.def"
#undef FAMILY
    ;

/* Macros for the destination of a value: a member of Command; with bounds, and the description of a valid value; with
 * the number of elements of a list. */
#define TEXT(m) {.kind = SLOT_TEXT, .at = offsetof(Command, m)}
#define FLAG(m) {.kind = SLOT_FLAG, .at = offsetof(Command, m)}
#define NUMBER(m, lo, hi, text) \
  {.kind = SLOT_NUMBER, .at = offsetof(Command, m), .least = lo, .most = hi, .right = text}
#define COUNT(m, lo, text) {.kind = SLOT_COUNT, .at = offsetof(Command, m), .least = lo, .right = text}
#define SHAPE(m, text) {.kind = SLOT_SHAPE, .at = offsetof(Command, m), .right = text}
#define WORDS(m, n) {.kind = SLOT_WORDS, .at = offsetof(Command, m), .number = offsetof(Command, n)}
#define FIELDS(m, n) {.kind = SLOT_FIELDS, .at = offsetof(Command, m), .number = offsetof(Command, n)}
#define BY(fn) {.kind = SLOT_BY, .set = fn}
/* The same for the knobs of schedules, by the kind of their values (ir/knobs.def). */
#define OF_NUMBER(m, most, text) NUMBER(m, 1, most, text)
#define OF_SHAPE(m, most, text) SHAPE(m, text)
#define OF_WORD(m, most, text) TEXT(m)
#define OF_TEXT(m, most, text) TEXT(m)

const OptionRow option_rows[] = {
    {"march", TAKES_VALUE, BOTH | CMD_EXPLAIN, TEXT(options.march), "-march=ARCH",
     "host (default; explain: H200), nvptx or amdgpu; also for --device=sim"},
    {"mcpu", TAKES_VALUE, PROGRAM, TEXT(options.mcpu), "-mcpu=CPU",
     "sm_70, sm_90, gfx90a, ...; default sm_80 or gfx90a; run: the device's own"},
    {"o", TAKES_VALUE, CMD_COMPILE | CMD_EXPLAIN, TEXT(out), "-o OUT",
     "the output file, - is stdout; default: FILE's name with .ptx, .hsaco or .o"},
    {"emit", TAKES_VALUE, CMD_COMPILE, TEXT(emit), "-emit=WHAT",
     "ast, sir, kir, llvm, asm, obj, manifest, header, launcher, fortran, so, plan"},
    {"MD", TAKES_NOTHING, CMD_COMPILE, FLAG(depend), "-MD",
     "write a rule for make with all input files, to OUT's name with .d"},
    {"MF", TAKES_VALUE, CMD_COMPILE, TEXT(depfile), "-MF FILE", "write the rule of -MD to FILE"},
    {"device", TAKES_VALUE, CMD_RUN | CMD_BENCH | CMD_TUNE | CMD_EXPLAIN, TEXT(device), "--device=DEV",
     "ref, sim, host[:THREADS] (default), cuda[:I] or hip[:I] (--split=AxB: in parts)"},
    {"split", TAKES_VALUE, CMD_RUN | MORE, TEXT(split), "--split=AxB",
     "cut the grid into A parts along the first dimension, B along the second"},
    {"mpi", TAKES_OPTIONAL, CMD_RUN | MORE, BY(set_mpi), "--mpi[=FILE]",
     "run with the processes of mpirun or srun, by this stc-mpi.so; none: run alone"},
    {"steps", TAKES_VALUE, CMD_RUN, COUNT(steps, 0, "a number of time steps from 0, in digits (1000, not 1e3)"),
     "--steps=N", "number of time steps, default the program's (--first-step=N: after N)"},
    {"first-step", TAKES_VALUE, CMD_RUN | MORE, COUNT(first_step, 0, "the number of steps made before, from 0"),
     "--first-step=N", "the input fields are the result of N steps; continue from there"},
    {"in", TAKES_VALUE, CMD_RUN, FIELDS(in, nin), "--in F=FILE.npy",
     "initial values of field F (or F@1, F.x, array F): a file, random:SEED, a number"},
    {"out", TAKES_VALUE, CMD_RUN, FIELDS(outs, nout), "--out F=FILE",
     "write field F after the last step: .npy .h5 .nc .vti .pvd .png .apng"},
    {"every", TAKES_VALUE, CMD_RUN, COUNT(every, 1, "a number of time steps from 1"), "--every=N",
     "also write every N steps; a_%06d.npy gets the number of the step"},
    {"checkpoint", TAKES_VALUE, CMD_RUN, TEXT(checkpoint), "--checkpoint=FILE",
     "save the state every N steps (--checkpoint-every=N, --every)"},
    {"checkpoint-every", TAKES_VALUE, CMD_RUN | MORE, COUNT(checkpoint_every, 1, "a number of time steps from 1"),
     "--checkpoint-every=N", "save the state every N steps; default --every, else at the end"},
    {"restart", TAKES_VALUE, CMD_RUN, TEXT(restart), "--restart=FILE",
     "continue from a checkpoint, also on another device"},
    {"gradient", TAKES_VALUE, CMD_RUN, TEXT(gradient), "--gradient=FOLDER",
     "compute derivatives of the losses instead of a run; one .npy file each"},
    {"memory", TAKES_VALUE, CMD_RUN | CMD_EXPLAIN | MORE, TEXT(memory), "--memory=8GiB",
     "limit of device memory (parts of the grid take turns), or of --gradient's"},
    {"scratch", TAKES_VALUE, CMD_RUN | MORE, TEXT(scratch), "--scratch=FOLDER",
     "a folder for a file with the values of --gradient that exceed --memory"},
    {"spacing", TAKES_VALUE, CMD_RUN, BY(set_spacing), "--spacing=A,B,C",
     "distances of points, slowest dimension first (--origin, --unit, --compress)"},
    {"origin", TAKES_VALUE, CMD_RUN | MORE, BY(set_origin), "--origin=A,B,C",
     "coordinates of the first point, slowest dimension first"},
    {"colors", TAKES_VALUE, CMD_RUN, TEXT(colors), "--colors=MAP",
     "viridis, gray, coolwarm, hot, bluered (--limits=LO,HI)"},
    {"limits", TAKES_VALUE, CMD_RUN | MORE, BY(set_limits), "--limits=LO,HI",
     "the values of the first and the last colour; default: least and greatest value"},
    {"slice", TAKES_VALUE, CMD_RUN, BY(set_slice), "--slice=D:PLACE",
     "the plane that a picture of a 3-D field shows (--contours=N: lines)"},
    {"contours", TAKES_VALUE, CMD_RUN | MORE, NUMBER(contours, 1, 1000, "a number of lines from 1 to 1000"),
     "--contours=N", "draw N lines of equal value into pictures"},
    {"mask", TAKES_VALUE, CMD_RUN | MORE, TEXT(mask), "--mask=F",
     "draw points grey where field F is 0 (--mask='!F': where F is not 0)"},
    {"unit", TAKES_VALUE, CMD_RUN | MORE, FIELDS(units, nunit), "--unit F=TEXT",
     "the unit of field F, or of `grid` (--compress=0 .. 9: of .h5, .vti)"},
    {"compress", TAKES_VALUE, CMD_RUN | MORE, NUMBER(compress, 0, 9, "a level from 0 (not at all) to 9"),
     "--compress=N", "compression of .h5 and .vti files, 0 (none) to 9; default 1"},
    {"log", TAKES_VALUE, CMD_RUN | CMD_TUNE, TEXT(log), "--log FILE.csv",
     "save the values of `reduce`, `until` and `probe`; tune: save all candidates"},
    {"png", TAKES_VALUE, CMD_RUN | MORE, FIELDS(pngs, npng), "--png F=FILE.png", "draw field F after the last step"},
    {"check", TAKES_OPTIONAL, CMD_RUN | CMD_FORMAT, BY(set_check), "--check[=TOL]",
     "also run the reference and compare; exit 1 if the error exceeds TOL"},
    {"time", TAKES_OPTIONAL, CMD_RUN, BY(set_time), "--time[=kernels]",
     "print the run's time as one line of JSON; kernels: also of each kernel"},
    {"view", TAKES_OPTIONAL, CMD_RUN, BY(set_view), "--view[=PORT]",
     "serve a page on this computer that shows and controls the run (=ADDRESS:PORT)"},
    {"programs", TAKES_VALUE, CMD_BENCH, TEXT(bench_programs), "--programs=A,B", "measure only these programs"},
    {"types", TAKES_VALUE, CMD_BENCH, TEXT(bench_types), "--types=f32", "f32, f64 or both (default)"},
    {"size", TAKES_VALUE, CMD_BENCH, TEXT(bench_sizes), "--size=S,S",
     "large, small, or extents such as 4096x4096; default large,small"},
    {"also", TAKES_VALUE, CMD_BENCH, WORDS(also, nalso), "--also \"OPTIONS\"",
     "also measure this schedule: \"-schedule=overlap -T=6 -block=8x64\""},
    {"json", TAKES_VALUE, CMD_BENCH, TEXT(json), "--json FILE", "write all figures to FILE"},
    {"tune", TAKES_VALUE, CMD_BENCH, NUMBER(tune, 1, 1 << 20, "a number of seconds from 1"), "--tune=N",
     "search N seconds for the fastest schedule of each size, then measure it"},
    {"clear", TAKES_NOTHING, CMD_CACHE, FLAG(clear), "--clear", "remove all compiled kernels from the cache"},
    {"plot", TAKES_VALUE, CMD_TUNE | CMD_EXPLAIN, TEXT(plot), "--plot FILE.svg",
     "tune: draw GPts/s over T; explain (-o, too): draw the tiles"},
    {"card", TAKES_VALUE, CMD_EXPLAIN, TEXT(card), "--card=NAME",
     "predict the speed on this card: h200 (default), a100, mi250x, ..."},
    {"parts", TAKES_VALUE, CMD_EXPLAIN, TEXT(parts), "--parts=AxBxC",
     "cut the grid into parts, one on each such card: exchanges and scaling"},
    {"net", TAKES_VALUE, CMD_EXPLAIN, TEXT(net), "--net=NAME",
     "the network: nvlink4 (default), ib-ndr, slingshot, or GB/s,us such as 25,3"},
    {"rounds", TAKES_VALUE, CMD_EXPLAIN, TEXT(rounds), "--rounds=NAME:N",
     "count N rounds of this repeat instead of its limit"},
    {"format", TAKES_VALUE, CMD_EXPLAIN, TEXT(format), "--format=json", "text (default) or json"},
    {"why", TAKES_NOTHING, CMD_EXPLAIN, FLAG(why), "--why",
     "list the ten best candidates, and why the others were excluded"},
    {"no-ptxas", TAKES_NOTHING, CMD_EXPLAIN | CMD_TUNE | CMD_BENCH, FLAG(no_ptxas), "--no-ptxas",
     "do not use ptxas to count registers or to compile candidates"},
    {"db", TAKES_VALUE, PROGRAM | CMD_BENCH, TEXT(db), "--db FILE",
     "the database of `stc tune`; default FILE.tune.json and the user's"},
    {"no-tune-db", TAKES_NOTHING, BOTH | CMD_BENCH | CMD_EXPLAIN | MORE, FLAG(no_tune_db), "--no-tune-db",
     "use no database of schedules"},
    {"seconds", TAKES_VALUE, CMD_BENCH | CMD_TUNE, NUMBER(seconds, 1, 1 << 20, "a number of seconds from 1"),
     "--seconds=N", "start no further measurement after N seconds"},
    {"quick", TAKES_NOTHING, CMD_BENCH, FLAG(quick), "--quick", "one size for each program, short samples"},
    {"quiet", TAKES_NOTHING, CMD_RUN | CMD_BENCH | CMD_TUNE, FLAG(quiet), "--quiet", "no progress bar"},
    {"D", TAKES_ATTACHED, PROGRAM, BY(set_define), "-DNAME=VALUE", "set a param"},
    {"freal", TAKES_VALUE, PROGRAM, TEXT(options.real), "-freal=f64", "the meaning of the type `real`, default f32"},
    {"members", TAKES_VALUE, PROGRAM | MORE, COUNT(options.members, 1, "a number of members from 1"), "-members=N",
     "run N members, as with `members N;` in the program"},
    {"O", TAKES_ATTACHED, PROGRAM, BY(set_level), "-O0 .. -O3", "LLVM's optimisation level, default -O3"},
    {"schedule", TAKES_VALUE, PROGRAM, TEXT(options.schedule), "-schedule=S", schedules},
#define KNOB(ID, name, KIND, value, help, flags, families, word, most, right, lacks) \
  {#name, \
   TAKES_VALUE, \
   (flags) & KNOB_IN_MANUAL ? PROGRAM | MORE : PROGRAM, \
   OF_##KIND(options.name, most, right), \
   "-" #name "=" value, \
   help},
#include "ir/knobs.def"
    {"plan", TAKES_VALUE, BOTH | CMD_EXPLAIN, TEXT(plan), "-plan=FILE",
     "read the whole schedule from FILE, as -emit=plan writes it"},
    {"for-grid", TAKES_VALUE, BOTH | CMD_EXPLAIN, BY(set_grid), "-for-grid=AxBxC",
     "choose the schedule for this grid size; default: the size that the params give"},
    {"fno-contract", TAKES_NOTHING, PROGRAM, FLAG(options.no_contract), "-fno-contract",
     "round a*b+c twice: all devices then agree bit for bit"},
    {"fno-hoist", TAKES_NOTHING, PROGRAM, FLAG(options.no_hoist), "-fno-hoist",
     "run: compute values that no step changes again in every step"},
    {"fno-cache", TAKES_NOTHING, PROGRAM | MORE, FLAG(options.no_cache), "-fno-cache",
     "run, host: compile all kernels, do not use the cache on disk"},
    {"fcheck", TAKES_VALUE, PROGRAM, BY(set_fcheck), "-fcheck=WHAT",
     "finite[=N]: stop at NaN or infinity, test every N steps; bounds: of arrays"},
    {"ffast-math", TAKES_NOTHING, PROGRAM, FLAG(options.fast_math), "-ffast-math",
     "allow reassociation and approximation"},
    {"passes", TAKES_VALUE, BOTH | CMD_TUNE, TEXT(options.passes), "-passes=A,B(x=1)",
     "run these passes instead of the schedule's"},
    {"load-pass", TAKES_VALUE, BOTH, WORDS(load_passes, nload), "-load-pass=FILE.so",
     "load passes from this shared object, for use in -passes"},
    {"print-before", TAKES_VALUE, BOTH, TEXT(options.print_before), "-print-before=A,B",
     "print the IR before these passes (-print-after=A,B: after them)"},
    {"print-after", TAKES_VALUE, BOTH | MORE, TEXT(options.print_after), "-print-after=A,B",
     "print the IR after these passes"},
    {"print-after-all", TAKES_NOTHING, BOTH, FLAG(options.print_all), "-print-after-all",
     "print the IR after every pass"},
    {"verify-each", TAKES_NOTHING, BOTH, FLAG(options.verify_each), "-verify-each",
     "verify the IR after every pass (-v: report each action)"},
    {"time-passes", TAKES_NOTHING, BOTH, FLAG(options.time_passes), "-time-passes",
     "print the time of each stage (-stats: counts, -Rpass: remarks)"},
    {"v", TAKES_NOTHING, PROGRAM | CMD_BENCH | MORE, BY(set_verbose), "-v",
     "report each action on stderr, one line each"},
    {"stats", TAKES_NOTHING, BOTH | MORE, FLAG(options.stats), "-stats", "print counts of what each pass did"},
    {"Rpass", TAKES_OPTIONAL, BOTH | MORE, BY(set_remarks), "-Rpass[=plan]",
     "print the remarks of passes (=plan: candidates of schedules, too)"},
    {"stdio", TAKES_NOTHING, CMD_LSP | MORE, BY(set_stdio), "--stdio",
     "use standard input and output (the only way; accepted for editors)"},
    {"help", TAKES_NOTHING, ALL | MORE, BY(set_help), "--help", "print the options"},
    {"h", TAKES_NOTHING, ALL | MORE, BY(set_help), "-h", "the same"},
    {"version", TAKES_NOTHING, ALL | MORE, BY(set_version), "--version",
     "print the versions of stc and LLVM, and the commit"},
};
const int noption_rows = sizeof option_rows / sizeof option_rows[0];
