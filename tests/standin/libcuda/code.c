/* code.c: reads the kernels of a PTX. */
#define _GNU_SOURCE
#include "tests/standin/libcuda/code.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/libcuda/libcuda.h"

/* A name and its number: of a register, of where something lies in shared memory or among the arguments, of a label.
 * next: the place of the next one with the same hash, -1: there is none. */
typedef struct Name {
  char text[96];
  int64_t value;
  int next;
} Name;
/* Names; of each hash the place of the last one, plus 1. */
enum { HASHES = 4096 };
typedef struct Names {
  Name *list;
  int n, room, last[HASHES];
} Names;

/* What is read. gone: the labels of branches, by number. called: the functions that are. scope: a number for names
 * without % or $ between braces. function: whose registers are meant; NULL: the kernel's. */
typedef struct Reader {
  Names registers, places, labels, gone, called;
  Instruction *list;
  int n, room, scope, scopes;
  size_t shared, local, nconstants;
  char *constants;
  const char *ptx, *entry, *function;
  bool wrong;
} Reader;

static unsigned hash_of(const char *text) {
  unsigned hash = 5381;
  while (*text)
    hash = hash * 33 + (unsigned char)*text++;
  return hash % HASHES;
}

/* The name's place in the list, or NULL. */
static Name *find_name(const Names *names, const char *text) {
  int i = names->last[hash_of(text)] - 1;
  while (i >= 0 && strcmp(names->list[i].text, text) != 0)
    i = names->list[i].next;
  return i < 0 ? NULL : &names->list[i];
}

static Name *add_name(Names *names, const char *text, int64_t value) {
  if (names->n == names->room)
    names->list = realloc(names->list, sizeof *names->list * (size_t)(names->room = names->room * 2 + 64));
  int *last = &names->last[hash_of(text)];
  Name *x = &names->list[names->n++];
  snprintf(x->text, sizeof x->text, "%s", text);
  x->value = value;
  x->next = *last - 1;
  *last = names->n;
  return x;
}

/* Where functions put what they return. */
static const char returned[] = "func_retval0";

/* The name as it is in the scope; of a register, as it is in the function. */
static void in_scope(const Reader *r, const char *text, char out[96]) {
  bool own = r->scope && !strchr("%$_", text[0]) && strcmp(text, returned) != 0;
  if (r->function && text[0] == '%')
    snprintf(out, 96, "%s@%s", text, r->function);
  else
    snprintf(out, 96, own ? "%s@%d" : "%s", text, r->scope);
}

/* A register's number; it is made when it is first seen. */
static int register_of(Reader *r, const char *text) {
  char name[96];
  in_scope(r, text, name);
  Name *x = find_name(&r->registers, name);
  return (int)(x ? x : add_name(&r->registers, name, r->registers.n))->value;
}

/* ---------------------------------------------------------------- operands */

static const char *const specials[] = {"%tid.x",           "%tid.y",    "%tid.z",       "%ntid.x",      "%ntid.y",
                                       "%ntid.z",          "%ctaid.x",  "%ctaid.y",     "%ctaid.z",     "%nctaid.x",
                                       "%nctaid.y",        "%nctaid.z", "%clusterid.x", "%clusterid.y", "%clusterid.z",
                                       "%cluster_ctarank", "%laneid"};

/* Reads one of no vector, "%r1", "-3", "0f3F800000", "%tid.x", or the name of a place. */
static Operand read_single(Reader *r, const char *text) {
  Operand o = {.kind = OPERAND_BITS, .n = 1, .reg = {-1}};
  const Name *place = find_name(&r->places, text);
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
    if (strcmp(text, specials[i]) == 0)
      return o.kind = OPERAND_SPECIAL, o.bits = i, o;
  if (text[0] == '0' && (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D'))
    o.bits = strtoull(text + 2, NULL, 16);
  else if (isdigit((unsigned char)text[0]) || text[0] == '-')
    o.bits = text[0] == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
  else if (place)
    o.bits = (uint64_t)place->value;
  else if (strcmp(text, "_") == 0)
    o.kind = OPERAND_NONE;
  else
    o.kind = OPERAND_REGISTER, o.reg[0] = register_of(r, text);
  return o;
}

/* Reads "[%rd1+-4]", "[place+8]", "[place]". */
static Operand read_address(Reader *r, char *text) {
  char *end = strrchr(text, ']'), *plus = strchr(text, '+');
  if (end)
    *end = 0;
  if (plus)
    *plus = 0;
  Operand o = read_single(r, text + 1);
  if (o.kind == OPERAND_REGISTER)
    o.bits = 0;
  if (plus)
    o.bits += (uint64_t)strtoll(plus + 1, NULL, 0);
  return o;
}

/* Reads "{%r1, 0f00000000}". */
static Operand read_vector(Reader *r, char *text) {
  Operand o = {.kind = OPERAND_REGISTER, .n = 0};
  char *save, *end = strrchr(text, '}');
  *end = 0;
  for (char *t = strtok_r(text + 1, ", ", &save); t && o.n < MAX_VECTOR; t = strtok_r(NULL, ", ", &save)) {
    Operand x = read_single(r, t);
    o.reg[o.n] = x.kind == OPERAND_REGISTER ? x.reg[0] : -1;
    o.vector[o.n++] = x.bits;
  }
  return o;
}

/* Reads an operand; "%r1|%p1" is a vector of both. */
static Operand read_operand(Reader *r, char *text) {
  char *bar = strchr(text, '|');
  if (text[0] == '[')
    return read_address(r, text);
  if (text[0] == '{')
    return read_vector(r, text);
  if (!bar)
    return read_single(r, text);
  *bar = 0;
  Operand o = read_single(r, text), second = read_single(r, bar + 1);
  o.reg[1] = second.kind == OPERAND_REGISTER ? second.reg[0] : -1;
  o.n = 2;
  return o;
}

/* ---------------------------------------------------------------- instructions */

/* The names. */
static const struct {
  const char *word;
  int op;
} ops[] = {{"mov", OP_MOV},
           {"cvta", OP_MOV},
           {"ld", OP_LD},
           {"ldu", OP_LD},
           {"st", OP_ST},
           {"bra", OP_BRA},
           {"call", OP_CALL},
           {"ret", OP_RET},
           {"exit", OP_RET},
           {"bar", OP_BAR},
           {"barrier", OP_BAR},
           {"shfl", OP_SHFL},
           {"cp", OP_CP_ASYNC},
           {"mbarrier", OP_MBARRIER},
           {"elect", OP_ELECT},
           {"mapa", OP_MAPA},
           {"add", OP_ADD},
           {"sub", OP_SUB},
           {"mul", OP_MUL},
           {"mad", OP_MAD},
           {"fma", OP_FMA},
           {"div", OP_DIV},
           {"rem", OP_REM},
           {"min", OP_MIN},
           {"max", OP_MAX},
           {"neg", OP_NEG},
           {"abs", OP_ABS},
           {"copysign", OP_COPYSIGN},
           {"and", OP_AND},
           {"or", OP_OR},
           {"xor", OP_XOR},
           {"not", OP_NOT},
           {"shl", OP_SHL},
           {"shr", OP_SHR},
           {"setp", OP_SETP},
           {"selp", OP_SELP},
           {"cvt", OP_CVT},
           {"sqrt", OP_SQRT},
           {"rcp", OP_RCP},
           {"rsqrt", OP_RSQRT},
           {"lop3", OP_LOP3},
           {"bfe", OP_BFE},
           {"prmt", OP_PRMT},
           {"shf", OP_SHF},
           {"trap", OP_TRAP},
           {"griddepcontrol", OP_NOTHING},
           {"fence", OP_NOTHING},
           {"membar", OP_NOTHING},
           {"prefetch", OP_NOTHING},
           {"pragma", OP_NOTHING},
           {"nanosleep", OP_NOTHING},
           {"setmaxnreg", OP_NOTHING}};

/* Is the name at the points one of the instruction's? */
static bool is_named(const Instruction *in, const char *word) {
  for (int i = 0; i < in->nwords; i++)
    if (strcmp(in->word[i], word) == 0)
      return true;
  return false;
}

/* The names of the words. */
static const char *const asked[WORDS] = {[WORD_TRY_WAIT] = "try_wait",
                                         [WORD_TEST_WAIT] = "test_wait",
                                         [WORD_ARRIVE] = "arrive",
                                         [WORD_INIT] = "init",
                                         [WORD_EXPECT_TX] = "expect_tx",
                                         [WORD_INVAL] = "inval",
                                         [WORD_SHARED] = "shared",
                                         [WORD_MBARRIER_COMPLETE_TX_BYTES] = "mbarrier::complete_tx::bytes",
                                         [WORD_PREFETCH] = "prefetch",
                                         [WORD_COMMIT_GROUP] = "commit_group",
                                         [WORD_WAIT_GROUP] = "wait_group",
                                         [WORD_WARP] = "warp",
                                         [WORD_CLUSTER] = "cluster",
                                         [WORD_WAIT] = "wait",
                                         [WORD_UP] = "up",
                                         [WORD_DOWN] = "down",
                                         [WORD_BFLY] = "bfly",
                                         [WORD_AND] = "and",
                                         [WORD_OR] = "or",
                                         [WORD_SAT] = "sat",
                                         [WORD_RZI] = "rzi",
                                         [WORD_RMI] = "rmi",
                                         [WORD_RPI] = "rpi",
                                         [WORD_RNI] = "rni",
                                         [WORD_L] = "l",
                                         [WORD_WRAP] = "wrap"};

/* A type's name, "u32"; kind 0: it is none. */
static Scalar type_of(const char *word) {
  if (strcmp(word, "pred") == 0)
    return (Scalar){'p', 1};
  if (strcmp(word, "bf16") == 0)
    return (Scalar){'B', 2};
  if (strchr("busf", word[0]) && isdigit((unsigned char)word[1]))
    return (Scalar){word[0], atoi(word + 1) / 8};
  return (Scalar){0};
}

/* Takes the words of the name apart, and finds what they say. */
static void read_words(Instruction *in, char *name) {
  static const struct {
    const char *word;
    char space;
  } spaces[] = {{"global", 'g'}, {"param", 'p'}, {"shared", 's'}, {"local", 'l'}, {"const", 'c'}};
  static const char *const compares[2][COMPARES] = {{"eq", "ne", "lt", "le", "gt", "ge", "num", "nan"},
                                                    {"equ", "neu", "ltu", "leu", "gtu", "geu", "", ""}};
  char *save;
  for (char *t = strtok_r(name, ".", &save); t && in->nwords < MAX_WORDS; t = strtok_r(NULL, ".", &save))
    snprintf(in->word[in->nwords++], sizeof in->word[0], "%s", t);
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (strcmp(in->word[0], ops[i].word) == 0)
      in->op = ops[i].op;
  if (in->op == OP_CP_ASYNC && is_named(in, "bulk"))
    in->op = OP_BULK;
  if (in->op == OP_ST && is_named(in, "async"))
    in->op = OP_STORE_THERE;
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces && !in->space; i++)
    in->space = is_named(in, spaces[i].word) ? spaces[i].space : 0;
  for (int i = 0; i < WORDS; i++)
    in->has |= (uint32_t)is_named(in, asked[i]) << i;
  in->wide = is_named(in, "wide");
  in->high = is_named(in, "hi");
  in->flushes = is_named(in, "ftz");
  in->inexact = is_named(in, "approx") || is_named(in, "full");
  for (int i = 1; i < in->nwords; i++) {
    Scalar t = type_of(in->word[i]);
    if (t.kind && in->type.kind)
      in->from = t;
    else if (t.kind)
      in->type = t;
    for (int c = 0; c < COMPARES && in->op == OP_SETP; c++)
      if (strcmp(in->word[i], compares[0][c]) == 0)
        in->compare = c;
      else if (strcmp(in->word[i], compares[1][c]) == 0)
        in->compare = c + COMPARES;
  }
}

/* Where the operand that begins here ends: at a comma outside braces. */
static char *operand_end(char *s) {
  for (int depth = 0; *s && (depth || *s != ','); s++)
    depth += *s == '{' ? 1 : *s == '}' ? -1 : 0;
  return s;
}

static void add_instruction(Reader *r, const Instruction *in) {
  if (r->n == r->room)
    r->list = realloc(r->list, sizeof *r->list * (size_t)(r->room = r->room * 2 + 256));
  r->list[r->n++] = *in;
}

/* Has a register of the first name be what one of the second is. */
static void add_move(Reader *r, const char *to, const char *from) {
  Instruction in = {.word = {"mov", "b64"}, .nwords = 2, .op = OP_MOV, .type = {'b', 8}, .noperands = 2, .guard = -1};
  in.target = -1;
  in.operand[0] = read_single(r, to);
  in.operand[1] = read_single(r, from);
  add_instruction(r, &in);
}

/* Reads "(retval0), NAME, (param0, param1)", a call of a function of the PTX: arguments and result are registers.
 * False: it is something else. */
static bool read_call(Reader *r, const char *s) {
  Instruction in = {.word = {"call"}, .nwords = 1, .op = OP_CALL, .guard = -1, .target = r->gone.n};
  char result[96], name[64], given[256], argument[96], *save;
  if (sscanf(s, " (%95[^)]), %63[^ ,], (%255[^)])", result, name, given) != 3)
    return false;
  int n = 0;
  for (char *t = strtok_r(given, ", ", &save); t; t = strtok_r(NULL, ", ", &save)) {
    snprintf(argument, sizeof argument, "%s_param_%d", name, n++);
    add_move(r, argument, t);
  }
  add_name(&r->gone, name, 0);
  add_instruction(r, &in);
  add_move(r, result, returned);
  if (!find_name(&r->called, name))
    add_name(&r->called, name, 0);
  return true;
}

/* Reads an instruction without its semicolon. */
static void read_instruction(Reader *r, char *s) {
  Instruction in = {.guard = -1, .target = -1};
  if (*s == '@') {
    in.unless = s[1] == '!';
    char *name = s + 1 + in.unless;
    s = name + strcspn(name, " \t");
    *s++ = 0;
    in.guard = register_of(r, name);
    s += strspn(s, " \t");
  }
  char *operands = s + strcspn(s, " \t");
  if (*operands)
    *operands++ = 0;
  read_words(&in, s);
  if (in.op == OP_CALL && in.guard < 0 && read_call(r, operands))
    return;
  for (char *o = operands, *end; *(o += strspn(o, " \t")) && in.noperands < MAX_OPERANDS; o = end) {
    end = operand_end(o);
    if (*end)
      *end++ = 0;
    for (size_t n = strlen(o); n && (isspace((unsigned char)o[n - 1]) || o[n - 1] == ')'); n--)
      o[n - 1] = 0;
    o += in.op == OP_CALL && *o == '(';
    if (in.op == OP_CALL && !in.noperands && strcmp(o, "cudaGraphSetConditional") != 0)
      in.op = OP_OTHER;
    if (in.op == OP_BRA) {
      char label[96];
      in_scope(r, o, label);
      in.target = r->gone.n;
      add_name(&r->gone, label, 0);
    } else {
      in.operand[in.noperands++] = read_operand(r, o);
    }
  }
  /* An argument of a call, or its result: a register of that name. */
  if (in.space == 'p' && (in.op == OP_ST || (in.op == OP_LD && in.operand[1].kind == OPERAND_REGISTER)))
    in.op = OP_MOV;
  add_instruction(r, &in);
}

/* ---------------------------------------------------------------- a kernel */

/* The bytes that the declaration of a variable takes, ".b8 NAME[32]" or ".u64 NAME", and its name; 0: it is none. */
static size_t read_variable(const char *s, char name[96]) {
  char type[8] = "", kind = 0;
  unsigned bits = 0, n = 1;
  if (sscanf(s, ".%7[a-z0-9] %95[^[; \t\n][%u]", type, name, &n) < 2 || sscanf(type, "%c%u", &kind, &bits) != 2)
    return 0;
  return (strchr("busf", kind) ? bits / 8 : 0) * (size_t)n;
}

/* Makes room in the space, ".shared" or ".local", for each variable of it in this piece of text: *size more bytes. */
static void read_variables(Reader *r, const char *s, const char *end, const char *space, size_t *size) {
  char what[32];
  snprintf(what, sizeof what, "%s .align ", space);
  for (s = strstr(s, what); s && s < end; s = strstr(s + 1, what)) {
    char name[96] = "";
    unsigned align = 1;
    int type = 0;
    size_t bytes =
        sscanf(s + strlen(what), "%u %n", &align, &type) == 1 ? read_variable(s + strlen(what) + type, name) : 0;
    if (!*name || find_name(&r->places, name))
      continue;
    *size = (*size + align - 1) / align * align;
    bool given = strncmp(s - 8, ".extern ", 8) == 0;
    int64_t first = strcmp(space, ".local") == 0 ? LOCAL_FIRST : 0;
    add_name(&r->places, name, given ? -1 : first + (int64_t)*size);
    *size += given ? 0 : bytes;
  }
}

/* A number of a table, and in *end what is behind it: 240, -1, or the bits of a float, 0d3FF0000000000000. */
static uint64_t read_entry(const char *s, char **end) {
  s += strspn(s, " \t\n,{");
  bool bits = s[0] == '0' && (s[1] == 'd' || s[1] == 'f');
  return strtoull(bits ? s + 2 : s, end, bits ? 16 : 0);
}

/* Reads each table of constants of the PTX, ".const .align 8 .b8 NAME[512] = {0, 240, ...}". */
static void read_constants(Reader *r) {
  static const char what[] = ".const .align ";
  for (const char *s = strstr(r->ptx, what); s; s = strstr(s + 1, what)) {
    char name[96] = "", *at;
    unsigned align = 1, bits = 8;
    int type = 0;
    size_t first = r->nconstants, bytes = 0;
    if (sscanf(s + strlen(what), "%u %n.%*[a-z]%u", &align, &type, &bits) == 2)
      bytes = read_variable(s + strlen(what) + type, name);
    at = strpbrk(s, "{;");
    if (!bytes || !at)
      continue;
    first = (first + align - 1) / align * align;
    r->nconstants = first + bytes;
    r->constants = realloc(r->constants, r->nconstants);
    memset(r->constants + first, 0, bytes);
    add_name(&r->places, name, (int64_t)(CONSTANT_FIRST + first));
    for (size_t i = 0; i < bytes && *at != '}' && *at != ';'; i += bits / 8) {
      uint64_t value = read_entry(at, &at);
      memcpy(r->constants + first + i, &value, bits / 8);
    }
  }
}

/* Those that a launch gives room for come behind all others. */
static void place_given(Reader *r) {
  r->shared = (r->shared + 127) / 128 * 128;
  for (int i = 0; i < r->places.n; i++)
    if (r->places.list[i].value == -1)
      r->places.list[i].value = (int64_t)r->shared;
}

/* Numbers the arguments, 8 bytes each. */
static void read_arguments(Reader *r, const char *s, const char *end) {
  int n = 0;
  for (s = strstr(s, ".param ."); s && s < end; s = strstr(s + 1, ".param .")) {
    const char *line = s + strcspn(s, ",\n"), *name = line;
    while (name > s && !isspace((unsigned char)name[-1]))
      name--;
    char text[96];
    snprintf(text, sizeof text, "%.*s", (int)(line - name), name);
    add_name(&r->places, text, 8 * n++);
  }
}

/* Reads what is between two semicolons: braces and labels, and then an instruction or a declaration. */
static void read_piece(Reader *r, char *s) {
  for (;;) {
    s += strspn(s, " \t\n");
    size_t label = strcspn(s, ": \t\n;");
    if (*s == '{') {
      r->scope = ++r->scopes, s++;
    } else if (*s == '}') {
      r->scope = 0, s++;
    } else if (label && s[label] == ':' && s[label + 1] != ':') {
      char name[96];
      s[label] = 0;
      in_scope(r, s, name);
      add_name(&r->labels, name, r->n);
      s += label + 1;
    } else {
      break;
    }
  }
  if (*s && *s != '.')
    read_instruction(r, s);
}

/* The text without comments, up to `end`; (free). */
static char *without_comments(const char *s, const char *end) {
  char *out = malloc((size_t)(end - s) + 1), *to = out;
  while (s < end) {
    if (s[0] == '/' && s[1] == '/')
      s += strcspn(s, "\n");
    else
      *to++ = *s++;
  }
  *to = 0;
  return out;
}

/* Reads what is between the braces. */
static void read_body(Reader *r, const char *body, const char *end) {
  char *text = without_comments(body + 1, end), *save;
  read_variables(r, body, end, ".local", &r->local);
  for (char *s = strtok_r(text, ";", &save); s; s = strtok_r(NULL, ";", &save))
    read_piece(r, s);
  free(text);
}

/* Reads the functions that are called, and those that they call; one that is not found has no label. */
static void read_called(Reader *r) {
  for (int i = 0; i < r->called.n; i++) {
    char head[96], name[96];
    snprintf(name, sizeof name, "%s", r->called.list[i].text);
    snprintf(head, sizeof head, " %.90s(", name);
    const char *s = strstr(r->ptx, head), *body = s ? strchr(s, '{') : NULL, *end = body ? strstr(body, "\n}\n") : NULL;
    if (!end)
      continue;
    add_name(&r->labels, name, r->n);
    r->function = name;
    read_body(r, body, end);
  }
  r->function = NULL;
}

/* Finds where branches and calls go. */
static bool find_targets(Reader *r) {
  for (int i = 0; i < r->n; i++) {
    Instruction *in = &r->list[i];
    const char *to = in->target >= 0 ? r->gone.list[in->target].text : NULL;
    const Name *label = to ? find_name(&r->labels, to) : NULL;
    if (in->op == OP_OTHER || (to && !label))
      return fault("PTX that the stand-in does not know: %s %s", in->word[0], to ? to : ""), false;
    if (label)
      in->target = (int)label->value;
  }
  return true;
}

Code *code_read(const char *ptx, const char *entry) {
  Reader r = {.ptx = ptx, .entry = entry};
  const char *body = strchr(entry, '{'), *end = body ? strstr(body, "\n}\n") : NULL;
  Code *c = NULL;
  if (!end)
    return fault("a kernel without an end"), NULL;
  const char *first = strstr(ptx, ".entry ");
  read_variables(&r, ptx, first, ".shared", &r.shared);
  read_variables(&r, body, end, ".shared", &r.shared);
  read_variables(&r, ptx, ptx + strlen(ptx), ".shared", &r.shared);
  place_given(&r);
  read_constants(&r);
  read_arguments(&r, entry, body);
  read_body(&r, body, end);
  read_called(&r);
  if (find_targets(&r)) {
    c = malloc(sizeof *c);
    *c = (Code){r.list, r.n, r.registers.n, r.shared, r.local, r.constants, r.nconstants};
  } else {
    free(r.list);
    free(r.constants);
  }
  free(r.registers.list);
  free(r.places.list);
  free(r.labels.list);
  free(r.gone.list);
  free(r.called.list);
  return c;
}

void code_free(Code *c) {
  if (c) {
    free(c->instructions);
    free(c->constants);
  }
  free(c);
}
