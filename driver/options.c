/* driver/options.c: the command line. The tables of commands and options are all there is to it: parsing and near matches
 * are made from them here, help in help.c, the manual in man.c, completion for shells in completion.c. */
#include "driver/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- setters */

/* An integer in [least, most]; false if `s` is none. */
static bool parse_int(const char *s, int64_t least, int64_t most, int64_t *out) {
  char *end;
  errno = 0;
  long long n = strtoll(s, &end, 10);
  *out = n;
  return end != s && !*end && !errno && n >= least && n <= most;
}

/* "8x32" or "8,32" into up to three numbers from 1. */
static bool parse_shape(const char *s, int out[3]) {
  for (int d = 0; d < 3; d++) {
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

/* Appends "F=VALUE" to a list of field options. */
static const char *add_field(Command *c, FieldOption **list, int *n, const char *value) {
  const char *equals = strchr(value, '=');
  if (!equals || equals == value || !equals[1])
    return "FIELD=VALUE";
  FieldOption o = {arena_strndup(c->arena, value, (size_t)(equals - value)), equals + 1};
  ARENA_PUSH(c->arena, *list, *n, o);
  return NULL;
}

static const char *set_march(Command *c, const char *v) { return c->options.march = v, NULL; }
static const char *set_mcpu(Command *c, const char *v) { return c->options.mcpu = v, NULL; }
static const char *set_out(Command *c, const char *v) { return c->out = v, NULL; }
static const char *set_depend(Command *c, const char *v) { return (void)v, c->depend = true, NULL; }
static const char *set_depfile(Command *c, const char *v) { return c->depfile = v, NULL; }
static const char *set_emit(Command *c, const char *v) { return c->emit = v, NULL; }
static const char *set_real(Command *c, const char *v) { return c->options.real = v, NULL; }
static const char *set_schedule(Command *c, const char *v) { return c->options.schedule = v, NULL; }
static const char *set_fuse(Command *c, const char *v) { return c->options.fuse = v, NULL; }
static const char *set_plan(Command *c, const char *v) { return c->plan = v, NULL; }
static const char *set_edges(Command *c, const char *v) { return c->options.edges = v, NULL; }
static const char *set_barriers(Command *c, const char *v) { return c->options.barriers = v, NULL; }
static const char *set_passes(Command *c, const char *v) { return c->options.passes = v, NULL; }
static const char *set_load(Command *c, const char *v) {
  ARENA_PUSH(c->arena, c->load_passes, c->nload, v);
  return NULL;
}
static const char *set_print_before(Command *c, const char *v) { return c->options.print_before = v, NULL; }
static const char *set_print_after(Command *c, const char *v) { return c->options.print_after = v, NULL; }
static const char *set_print_all(Command *c, const char *v) { return (void)v, c->options.print_all = true, NULL; }
static const char *set_verify(Command *c, const char *v) { return (void)v, c->options.verify_each = true, NULL; }
static const char *set_time_passes(Command *c, const char *v) { return (void)v, c->options.time_passes = true, NULL; }
static const char *set_stats(Command *c, const char *v) { return (void)v, c->options.stats = true, NULL; }
static const char *set_verbose(Command *c, const char *v) { return (void)v, c->context->verbose = true, NULL; }
static const char *set_remarks(Command *c, const char *v) { return (void)v, c->options.remarks = true, NULL; }
static const char *set_no_contract(Command *c, const char *v) { return (void)v, c->options.no_contract = true, NULL; }
static const char *set_fast_math(Command *c, const char *v) { return (void)v, c->options.fast_math = true, NULL; }

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

/* -fdeterministic: reductions always are. */
static const char *set_deterministic(Command *c, const char *v) { return (void)c, (void)v, NULL; }
static const char *set_log(Command *c, const char *v) { return c->log = v, NULL; }
static const char *set_block(Command *c, const char *v) {
  return parse_shape(v, c->options.block) ? NULL : "one to three numbers from 1, such as 8x32";
}
static const char *set_elems(Command *c, const char *v) {
  return parse_shape(v, c->options.elems) ? NULL : "one to three numbers from 1, such as 4x1";
}
static const char *set_grid(Command *c, const char *v) {
  int n[3] = {0};
  if (!parse_shape(v, n))
    return "one to three extents, such as 512x512";
  for (int d = 0; d < 3; d++)
    c->options.grid[d] = n[d];
  return NULL;
}
static const char *set_chunk(Command *c, const char *v) {
  int64_t n;
  return parse_int(v, 1, INT32_MAX, &n) ? (c->options.chunk = (int)n, NULL) : "a number of rows from 1";
}
static const char *set_ahead(Command *c, const char *v) {
  int64_t n;
  return parse_int(v, 1, INT32_MAX, &n) ? (c->options.ahead = (int)n, NULL) : "a number of rows from 1";
}
static const char *set_split(Command *c, const char *v) { return c->split = v, NULL; }
static const char *set_device(Command *c, const char *v) { return c->device = v, NULL; }
static const char *set_in(Command *c, const char *v) { return add_field(c, &c->in, &c->nin, v); }
static const char *set_outs(Command *c, const char *v) { return add_field(c, &c->outs, &c->nout, v); }
static const char *set_png(Command *c, const char *v) { return add_field(c, &c->pngs, &c->npng, v); }
static const char *set_quiet(Command *c, const char *v) { return (void)v, c->quiet = true, NULL; }
static const char *set_programs(Command *c, const char *v) { return c->bench_programs = v, NULL; }
static const char *set_types(Command *c, const char *v) { return c->bench_types = v, NULL; }
static const char *set_sizes(Command *c, const char *v) { return c->bench_sizes = v, NULL; }
static const char *set_also(Command *c, const char *v) {
  ARENA_PUSH(c->arena, c->also, c->nalso, v);
  return NULL;
}
static const char *set_json(Command *c, const char *v) { return c->json = v, NULL; }
static const char *set_plot(Command *c, const char *v) { return c->plot = v, NULL; }
static const char *set_db(Command *c, const char *v) { return c->db = v, NULL; }
static const char *set_card(Command *c, const char *v) { return c->card = v, NULL; }
static const char *set_format(Command *c, const char *v) { return c->format = v, NULL; }
static const char *set_no_ptxas(Command *c, const char *v) { return (void)v, c->no_ptxas = true, NULL; }
static const char *set_no_tune_db(Command *c, const char *v) { return (void)v, c->no_tune_db = true, NULL; }
static const char *set_quick(Command *c, const char *v) { return (void)v, c->quick = true, NULL; }

/* --tune=N. */
static const char *set_tune(Command *c, const char *v) {
  int64_t n;
  if (!parse_int(v, 1, 1 << 20, &n))
    return "a number of seconds from 1";
  c->tune = (int)n;
  return NULL;
}

/* --seconds=N. */
static const char *set_seconds(Command *c, const char *v) {
  int64_t n;
  if (!parse_int(v, 1, 1 << 20, &n))
    return "a number of seconds from 1";
  c->seconds = (int)n;
  return NULL;
}
static const char *set_help(Command *c, const char *v) {
  c->topic = c->kind == CMD_COMPILE ? NULL : command_row(c->kind)->word;
  return (void)v, c->kind = CMD_HELP, NULL;
}
/* --stdio, which editors' clients say. */
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

/* -T=N. */
static const char *set_T(Command *c, const char *v) {
  int64_t n;
  if (!parse_int(v, 1, 1 << 20, &n))
    return "a number of time steps from 1";
  c->options.T = (int)n;
  return NULL;
}

/* --steps=N. */
static const char *set_steps(Command *c, const char *v) {
  return parse_int(v, 0, INT64_MAX, &c->steps) ? NULL : "a number of time steps from 0, in digits (1000, not 1e3)";
}

/* --every=N. */
static const char *set_every(Command *c, const char *v) {
  return parse_int(v, 1, INT64_MAX, &c->every) ? NULL : "a number of time steps from 1";
}

/* --checkpoint=FILE, --checkpoint-every=N, --restart=FILE. */
static const char *set_checkpoint(Command *c, const char *v) { return c->checkpoint = v, NULL; }
static const char *set_checkpoint_every(Command *c, const char *v) {
  return parse_int(v, 1, INT64_MAX, &c->checkpoint_every) ? NULL : "a number of time steps from 1";
}
static const char *set_restart(Command *c, const char *v) { return c->restart = v, NULL; }

/* One to three numbers separated by commas; false if `s` is not that. */
static bool parse_numbers(const char *s, double out[3], int *n) {
  for (*n = 0; *n < 3;) {
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

/* --spacing=A,B,C, --origin=A,B,C, --unit F=TEXT, --compress=N. */
static const char *set_spacing(Command *c, const char *v) {
  bool ok = parse_numbers(v, c->spacing, &c->nspacing);
  for (int d = 0; d < c->nspacing; d++)
    ok = ok && c->spacing[d] > 0;
  return ok ? NULL : "one number above 0, or one for each dimension, such as 0.1,0.2";
}
static const char *set_origin(Command *c, const char *v) {
  return parse_numbers(v, c->origin, &c->norigin) ? NULL : "a number for each dimension, such as 0,-1.5";
}
/* --colors=MAP, --limits=LO,HI, --slice=D:PLACE, --contours=N: how pictures are drawn. */
static const char *set_colors(Command *c, const char *v) { return c->colors = v, NULL; }
static const char *set_limits(Command *c, const char *v) {
  double limits[3] = {0};
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
static const char *set_contours(Command *c, const char *v) {
  int64_t n;
  return parse_int(v, 1, 1000, &n) ? (c->contours = (int)n, NULL) : "a number of lines from 1 to 1000";
}

static const char *set_unit(Command *c, const char *v) { return add_field(c, &c->units, &c->nunit, v); }
static const char *set_compress(Command *c, const char *v) {
  int64_t n;
  return parse_int(v, 0, 9, &n) ? (c->compress = (int)n, NULL) : "a level from 0 (not at all) to 9";
}

/* --first-step=N. */
static const char *set_first_step(Command *c, const char *v) {
  return parse_int(v, 0, INT64_MAX, &c->first_step) ? NULL : "the number of steps made before, from 0";
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
  return !v || (strtod(v, &end) >= 0 && end != v && !*end) ? NULL : "a relative error from 0, such as 1e-6";
}

/* ---------------------------------------------------------------- the tables */

const CommandRow command_rows[] = {
    {"", CMD_COMPILE, "[options] FILE", "compile to .ptx, .hsaco or .o, with a manifest (.json) beside it"},
    {"run", CMD_RUN, "[options] FILE", "compile and run (`stc help run`)"},
    {"tune", CMD_TUNE, "[options] FILE", "find the fastest schedule on a device (`stc help tune`)"},
    {"explain", CMD_EXPLAIN, "[options] FILE", "what its schedule comes to on a card (`stc help explain`)"},
    {"bench", CMD_BENCH, "[options]", "measure the bench programs on a device (`stc help bench`)"},
    {"fmt", CMD_FORMAT, "[--check] FILE..", "put programs into the one style (`stc help fmt`)"},
    {"lsp", CMD_LSP, "", "a language server, for editors (`stc help lsp`)"},
    {"devices", CMD_DEVICES, "", "list what there is to run on"},
    {"completion", CMD_COMPLETION, "SHELL", "completion for bash, zsh or fish; `stc man`: the manual page"},
    {"man", CMD_MAN, NULL, "print the manual page, as man(1) reads it"},
    {"help", CMD_HELP, "[COMMAND]", "this text, or that on a command"},
    {NULL, 0, NULL, NULL},
};

const CommandRow *command_row(CommandKind kind) {
  const CommandRow *row = command_rows;
  while (row->word && row->kind != kind)
    row++;
  return row;
}

const OptionRow option_rows[] = {
    {"march", TAKES_VALUE, BOTH | CMD_EXPLAIN, set_march, "-march=ARCH",
     "host (default), nvptx or amdgpu; with --device=sim: whose kernels to run"},
    {"mcpu", TAKES_VALUE, PROGRAM, set_mcpu, "-mcpu=CPU",
     "sm_70, sm_90, gfx90a, ...; default sm_80, gfx90a, or the device at hand"},
    {"o", TAKES_VALUE, CMD_COMPILE | CMD_EXPLAIN, set_out, "-o OUT",
     "write there, - is stdout; default: FILE's name with .ptx, .hsaco or .o"},
    {"emit", TAKES_VALUE, CMD_COMPILE, set_emit, "-emit=WHAT",
     "ast, sir, kir, llvm, asm, obj, manifest, header, launcher, fortran, so, plan"},
    {"MD", TAKES_NOTHING, CMD_COMPILE, set_depend, "-MD",
     "write what the output was made from, as a rule for make, to OUT's name with .d"},
    {"MF", TAKES_VALUE, CMD_COMPILE, set_depfile, "-MF FILE", "the same, to FILE"},
    {"device", TAKES_VALUE, CMD_RUN | CMD_BENCH | CMD_TUNE, set_device, "--device=DEV",
     "ref, sim, host[:THREADS] (default), cuda[:I] or hip[:I] (--split=AxB: in parts)"},
    {"split", TAKES_VALUE, CMD_RUN | MORE, set_split, "--split=AxB",
     "cut the grid into so many parts along each dimension"},
    {"steps", TAKES_VALUE, CMD_RUN, set_steps, "--steps=N",
     "time steps, default the program's (--first-step=N: after so many)"},
    {"first-step", TAKES_VALUE, CMD_RUN | MORE, set_first_step, "--first-step=N",
     "go on from fields that so many steps were made of"},
    {"in", TAKES_VALUE, CMD_RUN, set_in, "--in F=FILE.npy",
     "start field F (or F@1, F.x, an array) from a file, random:SEED, a number"},
    {"out", TAKES_VALUE, CMD_RUN, set_outs, "--out F=FILE",
     "write field F after the last step: .npy .h5 .nc .vti .pvd .png .apng"},
    {"every", TAKES_VALUE, CMD_RUN, set_every, "--every=N", "and every N steps; a_%06d.npy has the step's number"},
    {"checkpoint", TAKES_VALUE, CMD_RUN, set_checkpoint, "--checkpoint=FILE",
     "save the state every N steps (--checkpoint-every=N, --every)"},
    {"checkpoint-every", TAKES_VALUE, CMD_RUN | MORE, set_checkpoint_every, "--checkpoint-every=N",
     "save the state every N steps; default --every, else at the end"},
    {"restart", TAKES_VALUE, CMD_RUN, set_restart, "--restart=FILE", "go on from such a file, also on another device"},
    {"spacing", TAKES_VALUE, CMD_RUN, set_spacing, "--spacing=A,B,C",
     "from point to point, slowest first (--origin=A,B,C)"},
    {"origin", TAKES_VALUE, CMD_RUN | MORE, set_origin, "--origin=A,B,C",
     "where the first point lies, slowest dimension first"},
    {"colors", TAKES_VALUE, CMD_RUN, set_colors, "--colors=MAP",
     "viridis, gray, coolwarm, hot, bluered (--limits=LO,HI)"},
    {"limits", TAKES_VALUE, CMD_RUN | MORE, set_limits, "--limits=LO,HI",
     "the values that have the first and the last colour; default the least and greatest"},
    {"slice", TAKES_VALUE, CMD_RUN, set_slice, "--slice=D:PLACE", "what a picture shows in 3-D (--contours=N: lines)"},
    {"contours", TAKES_VALUE, CMD_RUN | MORE, set_contours, "--contours=N",
     "draw N lines of equal value into pictures"},
    {"unit", TAKES_VALUE, CMD_RUN, set_unit, "--unit F=TEXT",
     "what F, or `grid`, is measured in (--compress=0 .. 9: of .h5, .vti)"},
    {"compress", TAKES_VALUE, CMD_RUN | MORE, set_compress, "--compress=N",
     "how much .h5 and .vti files are compressed, 0 (not at all) to 9; default 1"},
    {"log", TAKES_VALUE, CMD_RUN | CMD_TUNE, set_log, "--log FILE.csv",
     "save the values of `reduce`, `until` and `probe`; tune: all that was tried"},
    {"png", TAKES_VALUE, CMD_RUN, set_png, "--png F=FILE.png", "draw field F after the last step"},
    {"check", TAKES_OPTIONAL, CMD_RUN | CMD_FORMAT, set_check, "--check[=TOL]",
     "run the reference too and compare; exit 1 above the tolerance (fmt: see there)"},
    {"time", TAKES_OPTIONAL, CMD_RUN, set_time, "--time[=kernels]",
     "print one line of JSON with what the run took, each kernel by itself"},
    {"programs", TAKES_VALUE, CMD_BENCH, set_programs, "--programs=A,B", "only these programs of the bench"},
    {"types", TAKES_VALUE, CMD_BENCH, set_types, "--types=f32", "f32, f64 or both (default)"},
    {"size", TAKES_VALUE, CMD_BENCH, set_sizes, "--size=S,S",
     "large, small, or extents such as 4096x4096; default large,small"},
    {"also", TAKES_VALUE, CMD_BENCH, set_also, "--also \"OPTIONS\"",
     "measure this schedule, too: \"-schedule=overlap -T=6 -block=8x64\""},
    {"json", TAKES_VALUE, CMD_BENCH, set_json, "--json FILE", "write all figures there"},
    {"tune", TAKES_VALUE, CMD_BENCH, set_tune, "--tune=N",
     "search N seconds for the fastest schedule of each size, and measure it"},
    {"plot", TAKES_VALUE, CMD_TUNE | CMD_EXPLAIN, set_plot, "--plot FILE.svg",
     "tune: draw GPts/s over T; explain (-o, too): draw the tiles"},
    {"card", TAKES_VALUE, CMD_EXPLAIN, set_card, "--card=NAME",
     "the card to expect figures for: h200 (default), a100, mi250x, ..."},
    {"format", TAKES_VALUE, CMD_EXPLAIN, set_format, "--format=json", "text (default) or json"},
    {"no-ptxas", TAKES_NOTHING, CMD_EXPLAIN | CMD_TUNE | CMD_BENCH, set_no_ptxas, "--no-ptxas",
     "do not ask ptxas for registers, or to compile candidates, where it is found"},
    {"db", TAKES_VALUE, PROGRAM | CMD_BENCH, set_db, "--db FILE",
     "the database of `stc tune`: FILE.tune.json and the user's (--no-tune-db: none)"},
    {"no-tune-db", TAKES_NOTHING, BOTH | CMD_BENCH | CMD_EXPLAIN | MORE, set_no_tune_db, "--no-tune-db",
     "look into no database of schedules"},
    {"seconds", TAKES_VALUE, CMD_BENCH | CMD_TUNE, set_seconds, "--seconds=N", "start nothing more after N seconds"},
    {"quick", TAKES_NOTHING, CMD_BENCH, set_quick, "--quick", "one size a program, short samples"},
    {"quiet", TAKES_NOTHING, CMD_RUN | CMD_BENCH | CMD_TUNE, set_quiet, "--quiet", "no progress bar"},
    {"D", TAKES_ATTACHED, PROGRAM, set_define, "-DNAME=VALUE", "set a param"},
    {"freal", TAKES_VALUE, PROGRAM, set_real, "-freal=f64", "what the type `real` means, default f32"},
    {"O", TAKES_ATTACHED, PROGRAM, set_level, "-O0 .. -O3", "how much LLVM optimises, default -O3"},
    {"schedule", TAKES_VALUE, PROGRAM, set_schedule, "-schedule=S", "auto, naive, overlap, stream or warps"},
    {"T", TAKES_VALUE, PROGRAM, set_T, "-T=N", "time steps a tile"},
    {"block", TAKES_VALUE, PROGRAM, set_block, "-block=AxBxC",
     "threads a block (host: points a tile), slowest dimension first"},
    {"elems", TAKES_VALUE, PROGRAM, set_elems, "-elems=AxBxC", "points a thread"},
    {"chunk", TAKES_VALUE, PROGRAM, set_chunk, "-chunk=N", "stream: rows of a walk"},
    {"ahead", TAKES_VALUE, PROGRAM, set_ahead, "-ahead=N", "stream: rows that loads run ahead; 1: in registers"},
    {"plan", TAKES_VALUE, BOTH | CMD_EXPLAIN, set_plan, "-plan=FILE", "the whole schedule, as -emit=plan writes it"},
    {"for-grid", TAKES_VALUE, BOTH | CMD_EXPLAIN, set_grid, "-for-grid=AxBxC",
     "choose the schedule for a grid of that size; default what the params give"},
    {"fuse", TAKES_VALUE, PROGRAM, set_fuse, "-fuse=CUT",
     "all, none, auto (default) or a+b,c: a step's stencils by launch"},
    {"edges", TAKES_VALUE, PROGRAM, set_edges, "-edges=WHERE",
     "tiles at edges: apart, in kernels of their own, or along with others"},
    {"barriers", TAKES_VALUE, PROGRAM, set_barriers, "-barriers=WHOSE",
     "stream: of neighbours, the warps that must, or of the whole block"},
    {"fno-contract", TAKES_NOTHING, PROGRAM, set_no_contract, "-fno-contract",
     "a*b+c rounds twice: all devices agree bit for bit"},
    {"fcheck", TAKES_VALUE, PROGRAM, set_fcheck, "-fcheck=WHAT",
     "finite[=N]: no NaN, no infinity, looked for every N steps; bounds: of arrays"},
    {"fdeterministic", TAKES_NOTHING, BOTH, set_deterministic, "-fdeterministic",
     "bitwise repeatable reductions: they always are"},
    {"ffast-math", TAKES_NOTHING, PROGRAM, set_fast_math, "-ffast-math", "reassociate and approximate"},
    {"passes", TAKES_VALUE, BOTH | CMD_TUNE, set_passes, "-passes=A,B(x=1)",
     "run these passes in place of the schedule's"},
    {"load-pass", TAKES_VALUE, BOTH, set_load, "-load-pass=FILE.so",
     "take passes from this shared object, for -passes to name"},
    {"print-before", TAKES_VALUE, BOTH, set_print_before, "-print-before=A,B",
     "print the IR before these passes (-print-after= after them)"},
    {"print-after", TAKES_VALUE, BOTH | MORE, set_print_after, "-print-after=A,B", "print the IR after these passes"},
    {"print-after-all", TAKES_NOTHING, BOTH, set_print_all, "-print-after-all", "print the IR after every pass"},
    {"verify-each", TAKES_NOTHING, BOTH, set_verify, "-verify-each",
     "verify the IR after every pass (-v: say what is done)"},
    {"time-passes", TAKES_NOTHING, BOTH, set_time_passes, "-time-passes",
     "print each stage's time (-stats: what it did, -Rpass: its remarks)"},
    {"v", TAKES_NOTHING, PROGRAM | CMD_BENCH | MORE, set_verbose, "-v", "say what is done, a line each, on stderr"},
    {"stats", TAKES_NOTHING, BOTH | MORE, set_stats, "-stats", "print what each pass did, in numbers"},
    {"Rpass", TAKES_NOTHING, BOTH | MORE, set_remarks, "-Rpass", "print the remarks of passes"},
    {"stdio", TAKES_NOTHING, CMD_LSP | MORE, set_stdio, "--stdio", "by standard input and output, as always"},
    {"help", TAKES_NOTHING, ALL | MORE, set_help, "--help", "print what options there are"},
    {"h", TAKES_NOTHING, ALL | MORE, set_help, "-h", "the same"},
    {"version", TAKES_NOTHING, ALL | MORE, set_version, "--version",
     "print the versions of stc and LLVM, and the commit"},
};
enum { NROWS = sizeof option_rows / sizeof option_rows[0] };
const int noption_rows = NROWS;

/* ---------------------------------------------------------------- parsing */

/* The row that `text` (without dashes) uses, and its attached value or NULL. A TAKES_ATTACHED row matches by its first
 * letter when nothing matches whole. */
static const OptionRow *find_row(const char *text, const char **value) {
  const char *equals = strchr(text, '=');
  size_t n = equals ? (size_t)(equals - text) : strlen(text);
  *value = equals ? equals + 1 : NULL;
  for (int i = 0; i < NROWS; i++)
    if (option_rows[i].takes != TAKES_ATTACHED && strlen(option_rows[i].name) == n &&
        memcmp(option_rows[i].name, text, n) == 0)
      return &option_rows[i];
  for (int i = 0; i < NROWS; i++)
    if (option_rows[i].takes == TAKES_ATTACHED && option_rows[i].name[0] == text[0] &&
        (text[0] == 'D' || (text[1] >= '0' && text[1] <= '9') || !text[1])) {
      *value = text[1] ? text + 1 : NULL;
      return &option_rows[i];
    }
  return NULL;
}

/* Reports an unknown option with the nearest that there is. */
static StcStatus unknown_option(Command *c, const char *arg) {
  const char *names[NROWS + 1], *text = arg + 1 + (arg[1] == '-');
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
  int n = 0;
  for (int i = 0; i < NROWS; i++)
    if (option_rows[i].commands & c->kind)
      names[n++] = option_rows[i].name;
  names[n] = NULL;
  const char *near = near_match(name, names);
  if (near)
    context_error(c->context, "unknown option %s; is %s%s meant?", arg, arg[1] == '-' ? "--" : "-", near);
  else
    context_error(c->context, "unknown option %s; `stc help%s%s` lists what there is", arg,
                  c->kind == CMD_COMPILE ? "" : " ", command_row(c->kind)->word);
  return STC_USAGE;
}

bool option_is_about_schedule(const OptionRow *row) {
  static const char *const names[] = {"plan", "schedule", "T", "block", "elems", "chunk", "ahead", "fuse", "passes"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(row->name, names[i]) == 0)
      return true;
  return false;
}

/* Reports an option of another command: the first of the table that has it. */
static StcStatus wrong_command(Command *c, const char *arg, const OptionRow *row) {
  const CommandRow *owner = command_rows;
  while (!(owner->kind & row->commands))
    owner++;
  if (owner->kind == CMD_COMPILE)
    context_error(c->context, "%s belongs to compiling (stc FILE); see `stc help`", arg);
  else
    context_error(c->context, "%s belongs to `stc %s`; see `stc help %s`", arg, owner->word, owner->word);
  return STC_USAGE;
}

/* Handles the option argv[*i], stepping over a value of its own. */
static StcStatus take_option(Command *c, int argc, char **argv, int *i) {
  const char *arg = argv[*i], *value;
  const OptionRow *row = find_row(arg + 1 + (arg[1] == '-'), &value);
  if (!row)
    return unknown_option(c, arg);
  if (!(row->commands & c->kind))
    return wrong_command(c, arg, row);
  if (row->takes == TAKES_NOTHING && value)
    return context_error(c->context, "%s: -%s takes no value", arg, row->name), STC_USAGE;
  if ((row->takes == TAKES_VALUE || row->takes == TAKES_ATTACHED) && !value && *i + 1 < argc)
    value = argv[++*i];
  if ((row->takes == TAKES_VALUE || row->takes == TAKES_ATTACHED) && (!value || !*value))
    return context_error(c->context, "%s needs a value: %s", arg, row->usage ? row->usage : "-print-after=PASS"),
           STC_USAGE;
  const char *right = row->set(c, value);
  c->scheduled |= option_is_about_schedule(row);
  return right ? (context_error(c->context, "%s: expected %s", arg, right), STC_USAGE) : STC_OK;
}

/* The command that the first word names, and whether it does. */
static bool command_word(Command *c, const char *word) {
  for (const CommandRow *row = command_rows; row->word; row++)
    if (row->word[0] && strcmp(row->word, word) == 0)
      return c->kind = row->kind, true;
  return false;
}

/* Reads the plan that -plan names. */
static StcStatus read_plan(Command *c) {
  Workspace w = {.arena = c->arena, .context = c->context};
  size_t size;
  if (!c->plan)
    return STC_OK;
  if (c->options.schedule)
    return context_error(c->context, "-plan=%s: the plan says the schedule, too; leave -schedule out", c->plan),
           STC_USAGE;
  c->options.schedule = file_read(&w, c->plan, &size);
  if (c->options.schedule && !plan_is_text(c->options.schedule))
    return context_error(c->context, "-plan=%s: this is no plan; one begins \"plan stream\", see -emit=plan", c->plan),
           STC_INPUT;
  return c->options.schedule ? STC_OK : STC_IO;
}

/* Reports that there are two files; the first, the first word, may have been meant for a command. */
static StcStatus two_files(Command *c, const char *first, const char *second) {
  const char *commands[16];
  int n = 0;
  for (const CommandRow *row = command_rows; row->word; row++)
    if (row->word[0])
      commands[n++] = row->word;
  commands[n] = NULL;
  bool word = strcmp(c->file, first) == 0 && !strpbrk(first, "./-");
  const char *near = word ? near_match(first, commands) : NULL;
  if (near)
    context_error(c->context, "there is no command `stc %s`; is `stc %s` meant?", first, near);
  else if (word)
    context_error(c->context, "there is no command `stc %s`; `stc help` lists what there is", first);
  else
    context_error(c->context, "two files, %s and %s: one at a time", c->file, second);
  return STC_USAGE;
}

StcStatus command_parse(Command *c, int argc, char **argv) {
  c->kind = CMD_COMPILE;
  c->steps = c->first_step = -1;
  c->compress = 1;
  int i = 1;
  if (argc > 1 && command_word(c, argv[1]))
    i = 2;
  if (c->kind == CMD_HELP || c->kind == CMD_COMPLETION) {
    c->topic = argc > 2 ? argv[2] : NULL;
    if (!c->topic || c->topic[0] != '-' || c->kind == CMD_HELP)
      return STC_OK;
  }
  for (; i < argc && c->kind != CMD_HELP && c->kind != CMD_VERSION; i++) {
    if (argv[i][0] == '-' && argv[i][1]) {
      StcStatus s = take_option(c, argc, argv, &i);
      if (s)
        return s;
    } else if (!(c->kind & WITH_FILE)) {
      return context_error(c->context, "%s: `stc %s` takes no file", argv[i], argv[1]), STC_USAGE;
    } else if (c->kind == CMD_FORMAT) {
      c->file = argv[i];
      ARENA_PUSH(c->arena, c->files, c->nfiles, c->file);
    } else if (c->file) {
      return two_files(c, argv[1], argv[i]);
    } else {
      c->file = argv[i];
    }
  }
  if (c->restart && c->first_step >= 0)
    return context_error(c->context,
                         "--first-step=%lld with --restart=%s: the checkpoint says how many steps are done; leave "
                         "--first-step out",
                         (long long)c->first_step, c->restart),
           STC_USAGE;
  StcStatus s = read_plan(c);
  if (s)
    return s;
  c->options.ndefines = c->ndefines;
  c->options.defines = c->defines;
  c->options.nload = c->nload;
  c->options.load_passes = c->load_passes;
  if ((c->kind & WITH_FILE) && !c->file)
    return context_error(c->context, "no input file: stc%s%s %s (`stc --help` tells more)",
                         c->kind == CMD_COMPILE ? "" : " ", command_row(c->kind)->word,
                         c->kind == CMD_FORMAT ? "[--check] FILE.stn" : "[options] FILE.stn"),
           STC_USAGE;
  return STC_OK;
}

StcStatus options_add(StcContext *context, Arena *a, const char *words, StcOptions *o) {
  Command c = {.kind = CMD_RUN, .arena = a, .context = context, .options = *o};
  if (plan_is_text(words)) {
    o->schedule = arena_strdup(a, words);
    return STC_OK;
  }
  char **argv = NULL;
  int argc = 0;
  for (const char *s = words; *s; s += strspn(s, " ")) {
    size_t n = strcspn(s, " ");
    if (n)
      ARENA_PUSH(a, argv, argc, arena_strndup(a, s, n));
    s += n;
  }
  for (int i = 0; i < argc; i++) {
    if (argv[i][0] != '-' || !argv[i][1])
      return context_error(context, "\"%s\": `%s` is no option", words, argv[i]), STC_USAGE;
    StcStatus s = take_option(&c, argc, argv, &i);
    if (s)
      return s;
  }
  *o = c.options;
  return STC_OK;
}
