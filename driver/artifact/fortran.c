/* driver/artifact/fortran.c: -emit=fortran, a module with interfaces to the functions of the host artifact's header,
 * which are in the shared object of -emit=so. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"
#include "driver/program/program.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The state of writing one module. `used`: the names in the module so far, as Fortran does not distinguish upper and
 * lower case. */
typedef struct Module90 {
  Str s;
  Arena *arena;
  const Module *m;
  HeaderNames names;
  const char **used;
  int nused;
} Module90;

/* `name` as an unused Fortran name, which begins with a letter and has at most 63 characters. */
static const char *fresh(Module90 *f, const char *name) {
  const char *base = arena_printf(f->arena, "%s%.50s", isalpha((unsigned char)name[0]) ? "" : "x", name), *s = base;
  for (int i = 0, n = 2; i < f->nused; i++)
    if (strcasecmp(f->used[i], s) == 0) {
      s = arena_printf(f->arena, "%s_%d", base, n++);
      i = -1;
    }
  ARENA_PUSH(f->arena, f->used, f->nused, s);
  return s;
}

/* The type of iso_c_binding for a scalar type; 16-bit floats and unsigned integers are integers with the same bits. */
static const char *fortran_type(Type t) {
  switch (t) {
  case TY_BOOL: return "logical(c_bool)";
  case TY_I8:
  case TY_U8: return "integer(c_int8_t)";
  case TY_I16:
  case TY_U16:
  case TY_F16:
  case TY_BF16: return "integer(c_int16_t)";
  case TY_U32:
  case TY_I32: return "integer(c_int32_t)";
  case TY_F32: return "real(c_float)";
  case TY_F64: return "real(c_double)";
  default: return "integer(c_int64_t)";
  }
}

/* Adds the derived type of params. Its members' names are in a scope of their own. */
static void params(Module90 *f, const char *type) {
  const char **used = f->used;
  int nused = f->nused;
  f->used = NULL;
  f->nused = 0;
  str_addf(&f->s, "  type, bind(c) :: %s\n", type);
  for (int i = 0; i < f->m->nscalars; i++)
    str_addf(&f->s, "    %s :: %s%s\n", fortran_type(f->m->scalars[i].type),
             fresh(f, c_name(f->arena, f->m->scalars[i].name)),
             f->m->scalars[i].is_param       ? ""
             : f->m->scalars[i].is_reduction ? "   ! set by runs: the last value"
                                             : "   ! computed");
  for (int i = 0; i < f->m->nreductions; i++)
    if (f->m->reductions[i].each)
      str_addf(&f->s, "    type(c_ptr) :: %s = c_null_ptr   ! room for a value of each member: the last ones\n",
               fresh(f, arena_printf(f->arena, "%s_each", c_name(f->arena, f->m->reductions[i].name))));
  str_addf(&f->s, "%s  end type\n\n", f->m->nscalars ? "" : "    integer(c_int) :: unused\n");
  f->used = used;
  f->nused = nused;
}

/* Adds the first lines of the function whose C name is PROGRAM_name. `arguments`: the names of its dummy arguments. */
static void begin(Module90 *f, const char *name, const char *arguments, const char *comment) {
  const char *c = arena_printf(f->arena, "%s_%s", f->names.program, name), *own = fresh(f, c);
  str_addf(&f->s, "    ! %s\n    function %s(%s) &\n        bind(c, name=\"%s\") result(answer)\n      import\n",
           comment, own, arguments, c);
}

/* Adds its last lines. */
static void end(Module90 *f, const char *result) {
  str_addf(&f->s, "      %s :: answer\n    end function\n\n", result);
}

/* Adds a dummy argument for each field and array to `list` (a name on each line), and their declarations to `declared`.
 */
static void dummies(Module90 *f, Str *list, Str *declared) {
  const Module *m = f->m;
  for (int i = 0; i < m->nfields; i++) {
    if (!header_field_is_given(m, i))
      continue;
    const char *name = fresh(f, arena_printf(f->arena, "field_%s", f->names.fields[i]));
    str_addf(list, ", &\n        %s", name);
    str_addf(declared, "      %s, intent(inout) :: %s(*)\n", fortran_type(m->fields[i].type), name);
  }
  for (int i = 0; i < m->nparam_arrays; i++) {
    if (array_is_passing(m, i))
      continue;
    const char *name = fresh(f, arena_printf(f->arena, "array_%s", f->names.arrays[i]));
    bool state = m->param_arrays[i].role == ARRAY_STATE;
    str_addf(list, ", &\n        %s", name);
    str_addf(declared, "      %s, intent(%s) :: %s(*)\n", fortran_type(m->param_arrays[i].type), state ? "inout" : "in",
             name);
  }
}

/* Adds the functions that return sizes. */
static void sizes(Module90 *f, const char *type) {
  const Module *m = f->m;
  for (int i = 0; i < m->nfields + m->nparam_arrays; i++) {
    bool array = i >= m->nfields;
    const char *name = array ? f->names.arrays[i - m->nfields] : f->names.fields[i];
    if (array ? array_is_passing(m, i - m->nfields) : field_made_once(m, i))
      continue;
    if (!array) {
      begin(f, arena_printf(f->arena, "extent_%s", name), "p, d",
            "Points along dimension d of the program, 0 the slowest: the last of the Fortran array.");
      str_addf(&f->s, "      type(%s), intent(in) :: p\n      integer(c_int), value :: d\n", type);
      end(f, "integer(c_int64_t)");
    }
    begin(f, arena_printf(f->arena, "%s_%s", array ? "length" : "size", name), "p", "Elements.");
    str_addf(&f->s, "      type(%s), intent(in) :: p\n", type);
    end(f, "integer(c_int64_t)");
  }
}

/* Adds the functions that compute weights from coordinates, and elements of arrays from params. */
static void weights(Module90 *f, const char *type) {
  const Module *m = f->m;
  for (int i = 0; i < m->nparam_arrays; i++) {
    const ParamArray *a = &m->param_arrays[i];
    if (a->role == ARRAY_VALUES) {
      begin(
          f, arena_printf(f->arena, "fill_%s", f->names.arrays[i]), "p, values",
          "Computes the elements of params: before init and run, and again when these change. Null, or what is wrong.");
      str_addf(&f->s, "      type(%s), intent(in) :: p\n      %s, intent(out) :: values(*)\n", type,
               fortran_type(a->type));
      end(f, "type(c_ptr)");
    }
    if (a->role != ARRAY_WEIGHTS)
      continue;
    begin(f, arena_printf(f->arena, "fill_%s", f->names.arrays[i]), "p, weights, coordinates",
          "Makes weights of coordinates: before init and run, and again when these change. Null, or what is wrong.");
    str_addf(&f->s,
             "      type(%s), intent(in) :: p\n      %s, intent(out) :: weights(*)\n"
             "      %s, intent(in) :: coordinates(*)\n",
             type, fortran_type(a->type), fortran_type(m->param_arrays[a->from].type));
    end(f, "type(c_ptr)");
  }
}

/* Adds the functions that compute. */
static void calls(Module90 *f, const char *type) {
  Str list = {f->arena, NULL, 0, 0}, declared = {f->arena, NULL, 0, 0};
  bool reduces = f->m->nreductions > 0;
  str_add(&list, "");
  str_add(&declared, "");
  dummies(f, &list, &declared);
  begin(f, "defaults", "", "The defaults; params without one are 0.");
  end(f, arena_printf(f->arena, "type(%s)", type));
  if (f->m->host.init.nops > 0) {
    begin(f, "init", arena_printf(f->arena, "p%s", list.s), "Runs the inits. Null, or what is wrong.");
    str_addf(&f->s, "      type(%s), intent(in) :: p\n%s", type, declared.s);
    end(f, "type(c_ptr)");
  }
  begin(f, "run", arena_printf(f->arena, "p, first_step, steps%s%s", list.s, reduces ? ", &\n        done" : ""),
        "Runs time steps first_step .. first_step + steps - 1, in place. Null, or what is wrong.");
  str_addf(&f->s, "      type(%s), intent(%s) :: p\n      integer(c_int64_t), value :: first_step, steps\n%s%s", type,
           reduces ? "inout" : "in", declared.s, reduces ? "      integer(c_int64_t), intent(out) :: done\n" : "");
  end(f, "type(c_ptr)");
}

/* Adds the function that converts an error text to Fortran characters. */
static void message(Module90 *f) {
  const char *name = fresh(f, arena_printf(f->arena, "%s_message", f->names.program));
  str_addf(
      &f->s,
      "contains\n\n  ! What is wrong as characters; of length 0 if nothing is.\n  function %s(answer) result(text)\n"
      "    type(c_ptr), intent(in) :: answer\n    character(len=:), allocatable :: text\n"
      "    character(kind=c_char), pointer :: c(:)\n    integer :: i\n    text = \"\"\n"
      "    if (.not. c_associated(answer)) return\n    call c_f_pointer(answer, c, [1024])\n    do i = 1, 1024\n"
      "      if (c(i) == c_null_char) exit\n      text = text // c(i)\n    end do\n  end function\n",
      name);
}

/* The arguments of the guarded function; its text is in the program's memory. */
typedef struct FortranArgs {
  StcProgram *p;
  const char *text;
} FortranArgs;

static StcStatus fortran_guarded(void *arg) {
  FortranArgs *args = arg;
  StcProgram *p = args->p;
  Arena *a = p->w.arena;
  Module90 f = {{a, NULL, 0, 0}, a, p->kernels, header_names(a, p, p->kernels), NULL, 0};
  const char *module = fresh(&f, f.names.program), *type = fresh(&f, arena_printf(a, "%s_params", f.names.program));
  str_addf(
      &f.s,
      "! The stencil program %s for Fortran, by stc %s: interfaces to the functions of %s.h, which `stc -emit=so` "
      "puts into\n"
      "! a shared object. The program's slowest dimension is the last of a Fortran array. f16, bf16, u8, u16 and u32 "
      "are their "
      "bits.\n"
      "module %s\n  use, intrinsic :: iso_c_binding\n  implicit none\n\n",
      comment_name(a, p->name), STC_VERSION, f.names.program, module);
  params(&f, type);
  str_add(&f.s, "  interface\n");
  calls(&f, type);
  weights(&f, type);
  sizes(&f, type);
  str_add(&f.s, "  end interface\n\n");
  message(&f);
  str_add(&f.s, "end module\n");
  args->text = f.s.s;
  return STC_OK;
}

StcStatus fortran_text(StcProgram *p, const char **text) {
  const char *header;
  FortranArgs args = {p, NULL};
  StcStatus s = program_for_host(p, "fortran");
  if (!s)
    s = stc_program_header(p, &header);
  if (!s)
    s = workspace_guard(&p->w, fortran_guarded, &args);
  *text = args.text;
  return s;
}
