/* passes.c: the pass table, pipelines, and the work around passes: printing, verifying, timing, statistics. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "passes/plan/asked.h"
#include "passes/registry.h"

/* Debug builds verify the module after every pass, asked or not. */
#ifdef NDEBUG
enum { VERIFY_ALWAYS = 0 };
#else
enum { VERIFY_ALWAYS = 1 };
#endif

const Pass pass_table[] = {
#define PASS(id, name, help, takes, gives, ...) \
  {name, help, LEVEL_##takes, LEVEL_##gives, (const char *const[]){__VA_ARGS__}, pass_##id},
#include "passes/passes.def"
#undef PASS
    {NULL, NULL, 0, 0, NULL, NULL},
};

/* The row of pass_table named `name`, or NULL. */
const Pass *pass_find(const char *name) {
  for (const Pass *p = pass_table; p->name; p++)
    if (strcmp(p->name, name) == 0)
      return p;
  return NULL;
}

/* One element of a pipeline: the pass, its options, the milliseconds its runs took. planned: what the module's plan
 * stands for is to be put in its place. */
typedef struct Step {
  const Pass *pass;
  bool planned;
  int noptions;
  PassOption *options;
  double ms;
} Step;

/* A pipeline being read: `at` is the next character. */
typedef struct Reader {
  PassContext *c;
  const char *pipeline, *at;
} Reader;

/* The characters up to the next of `ends` or the end of the text, without surrounding blanks, in the arena. */
static char *read_until(Reader *r, const char *ends) {
  r->at += strspn(r->at, " \t\n");
  size_t n = strcspn(r->at, ends);
  const char *from = r->at;
  r->at += n;
  while (n && strchr(" \t\n", from[n - 1]))
    n--;
  return arena_strndup(r->c->arena, from, n);
}

/* The names of all passes, ", " between them. */
static const char *pass_names(const PassContext *c) {
  Str s = {.arena = c->arena};
  for (const Pass *p = pass_table; p->name; p++)
    str_addf(&s, "%s%s", p == pass_table ? "" : ", ", p->name);
  for (const Pass *const *t = c->loaded; t && *t; t++)
    for (const Pass *p = *t; p->name; p++)
      str_addf(&s, ", %s", p->name);
  return s.s;
}

/* The pass called `name`, of the table or of those loaded; NULL if there is none. */
static const Pass *find_pass(const PassContext *c, const char *name) {
  const Pass *found = pass_find(name);
  for (const Pass *const *t = c->loaded; t && *t; t++)
    for (const Pass *p = *t; p->name && !found; p++)
      found = strcmp(p->name, name) == 0 ? p : NULL;
  return found;
}

/* Does `p` have an option `name`? */
static bool pass_has_option(const Pass *p, const char *name) {
  for (const char *const *o = p->options; o && *o; o++)
    if (strcmp(*o, name) == 0)
      return true;
  return false;
}

/* The names of the options of `p`, for a message. */
static const char *option_names(Arena *a, const Pass *p) {
  Str s = {.arena = a};
  for (const char *const *o = p->options; o && *o; o++)
    str_addf(&s, "%s%s", s.n ? ", " : "it has ", *o);
  return s.s ? s.s : "it has none";
}

/* Reads "(a=1, b=2)" behind the name of the step's pass. */
static bool read_options(Reader *r, Step *s) {
  r->at++;
  for (;;) {
    char *name = read_until(r, "=,()");
    if (*r->at != '=') {
      diag_error(r->c->diags, no_loc(),
                 "pipeline '%s': expected '=' after option '%s' of pass '%s'; write %s(%s=VALUE)", r->pipeline, name,
                 s->pass->name, s->pass->name, *name ? name : "NAME");
      return false;
    }
    if (!pass_has_option(s->pass, name)) {
      diag_error(r->c->diags, no_loc(), "pass '%s' has no option '%s'; %s", s->pass->name, name,
                 option_names(r->c->arena, s->pass));
      return false;
    }
    r->at++;
    PassOption o = {name, read_until(r, ",()")};
    ARENA_PUSH(r->c->arena, s->options, s->noptions, o);
    if (*r->at != ',' && *r->at != ')') {
      diag_error(r->c->diags, no_loc(), "pipeline '%s': expected ')' after the options of pass '%s'", r->pipeline,
                 s->pass->name);
      return false;
    }
    if (*r->at++ == ')')
      return true;
  }
}

/* Reads one "name" or "name(options)". */
static bool read_step(Reader *r, Step *s) {
  char *name = read_until(r, ",()");
  *s = (Step){.pass = find_pass(r->c, name), .planned = strcmp(name, PASSES_PLANNED) == 0};
  if (!s->pass && !s->planned) {
    diag_error(r->c->diags, no_loc(), "pipeline '%s': there is no pass '%s'; there are %s", r->pipeline, name,
               pass_names(r->c));
    return false;
  }
  if (*r->at == '(' && s->pass && !read_options(r, s))
    return false;
  r->at += strspn(r->at, " \t\n");
  if (*r->at && *r->at != ',') {
    diag_error(r->c->diags, no_loc(), "pipeline '%s': expected ',' after pass '%s'", r->pipeline, name);
    return false;
  }
  return true;
}

/* Reads a whole pipeline into *steps; the number of steps, or -1 after an error. */
static int read_pipeline(PassContext *c, const char *pipeline, Step **steps) {
  Reader r = {c, pipeline, pipeline};
  int n = 0;
  *steps = NULL;
  if (!pipeline[strspn(pipeline, " \t\n")])
    return 0;
  for (;;) {
    Step s;
    if (!read_step(&r, &s))
      return -1;
    ARENA_PUSH(c->arena, *steps, n, s);
    if (!*r.at)
      return n;
    r.at++;
  }
}

/* Is `name` in the comma-separated `list` (NULL: empty)? */
static bool list_has(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *p = list; p && *p; p = strchr(p, ',')) {
    p += *p == ',';
    if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n]))
      return true;
  }
  return false;
}

/* Are all names in `list` passes? Reports those that are not, `hook` being the option they were given to. */
static bool check_names(PassContext *c, const char *hook, const char *list) {
  bool ok = true;
  for (const char *p = list; p && *p;) {
    size_t n = strcspn(p, ",");
    const char *name = arena_strndup(c->arena, p, n);
    if (n && !find_pass(c, name)) {
      diag_error(c->diags, no_loc(), "%s: there is no pass '%s'; there are %s", hook, name, pass_names(c));
      ok = false;
    }
    p += n + (p[n] == ',');
  }
  return ok;
}

/* Writes the module under a comment line that says when, and the pass's own comments. */
static void dump(FILE *to, const char *when, const char *pass, const Str *notes, Module *m) {
  fprintf(to, "// ---- %s %s\n%s%s", when, pass, notes && notes->s ? notes->s : "", module_print(m));
}

/* "stencil IR" or "kernel IR". */
static const char *level_name(OpLevel l) { return l == LEVEL_SIR ? "stencil IR" : "kernel IR"; }

/* Is what a pass makes to be verified? A sketch has no whole host program, and is made to be looked at alone. */
static bool is_verified(const PassContext *c, const PassHooks *h) {
  return h->verify_each || (VERIFY_ALWAYS && !c->sketch);
}

/* Runs one step with what `h` asks for around it. NULL after an error. */
static Module *run_step(const PassContext *with, const PassHooks *h, FILE *to, Step *s, Module *m) {
  Str notes = {.arena = with->arena};
  PassContext own = *with, *c = &own;
  const char *name = s->pass->name;
  bool dumped = h->print_all || list_has(h->print_after, name);
  own.notes = dumped ? &notes : NULL;
  if (!(s->pass->from & m->level)) {
    diag_error(c->diags, no_loc(), "pass '%s' takes %s, but the module is %s here; %s", name, level_name(s->pass->from),
               level_name(m->level),
               m->level == LEVEL_SIR ? "put a lower-* pass before it" : "put it before the lower-* pass");
    return NULL;
  }
  if (list_has(h->print_before, name))
    dump(to, "before", name, NULL, m);
  double start = 1e3 * clock_seconds();
  int errors = diags_errors(c->diags);
  m->defaults = NULL;
  m->inside = NULL;
  m = s->pass->run(c, m, s->noptions, s->options);
  if (m) {
    m->defaults = NULL;
    m->inside = NULL;
  }
  s->ms = 1e3 * clock_seconds() - start;
  if (!m || diags_errors(c->diags) > errors)
    return NULL;
  if (dumped)
    dump(to, "after", name, c->notes, m);
  if (is_verified(c, h) && !module_verify(m, c->diags)) {
    diag_error(c->diags, no_loc(),
               "pass '%s' made an invalid module; this is a mistake in stc, see it with -print-after=%s", name, name);
    return NULL;
  }
  return m;
}

/* Puts the passes that the plan of `m` stands for in the place of step number `at`. False after an error. */
static bool expand_plan(PassContext *c, const Module *m, Step **steps, int *n, int at) {
  Step *tail, *all = NULL;
  int count = 0;
  if (!m->plan) {
    diag_error(c->diags, no_loc(),
               "'%s' in a pipeline stands for the passes that the plan asks for: put plan before it", PASSES_PLANNED);
    return false;
  }
  int more = read_pipeline(c, family_pipeline(c->arena, c->target, m, true), &tail);
  for (int i = 0; i < *n - 1 + more; i++)
    ARENA_PUSH(c->arena, all, count, i < at ? (*steps)[i] : i < at + more ? tail[i - at] : (*steps)[i - more + 1]);
  *steps = all;
  *n = count;
  return true;
}

/* Writes the time of each step and their sum. */
static void print_times(FILE *to, int n, const Step *s) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    fprintf(to, "%10.3f ms  %s\n", s[i].ms, s[i].pass->name);
    sum += s[i].ms;
  }
  fprintf(to, "%10.3f ms  all passes\n", sum);
}

/* Runs the comma-separated pipeline on `m`; see passes.h. */
Module *passes_run(PassContext *c, const PassHooks *h, const char *pipeline, Module *m) {
  static const PassHooks none = {0};
  h = h ? h : &none;
  FILE *to = h->to ? h->to : stderr;
  Step *steps;
  int n = read_pipeline(c, pipeline, &steps);
  if (n < 0 || !check_names(c, "-print-before", h->print_before) || !check_names(c, "-print-after", h->print_after))
    return NULL;
  Str text = {.arena = c->arena};
  PassContext with = *c;
  with.run = passes_run;
  if (h->stats && !c->stats)
    with.stats = &text;
  for (int i = 0; i < n && m; i++) {
    if (steps[i].planned && !expand_plan(c, m, &steps, &n, i))
      return NULL;
    m = i < n ? run_step(&with, h, to, &steps[i], m) : m;
  }
  if (h->time)
    print_times(to, n, steps);
  if (text.s)
    fputs(text.s, to);
  return m;
}
