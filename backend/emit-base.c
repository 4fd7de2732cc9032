/* backend/emit-base.c: the base of all files of the emitter: types, attributes, functions and their arguments, calls,
 * and the LLVM value for an IR value. */
#include "backend/emit.h"

#include <llvm-c/IRReader.h>
#include <string.h>

/* ---------------------------------------------------------------- types, attributes, functions */

LLVMTypeRef emit_type(const Emit *e, Type t) {
  switch (t) {
  case TY_BOOL: return e->i1;
  case TY_I8:
  case TY_U8: return e->i8;
  case TY_I16:
  case TY_U16: return LLVMInt16TypeInContext(e->context);
  case TY_U32:
  case TY_I32: return e->i32;
  case TY_I64: return e->i64;
  case TY_F16: return LLVMHalfTypeInContext(e->context);
  case TY_BF16:
    return e->target->bfloat_is_bits ? LLVMInt16TypeInContext(e->context) : LLVMBFloatTypeInContext(e->context);
  case TY_F32: return LLVMFloatTypeInContext(e->context);
  default: return LLVMDoubleTypeInContext(e->context);
  }
}

LLVMTypeRef emit_memory_type(const Emit *e, Type t) { return t == TY_BOOL ? e->i8 : emit_type(e, t); }

void emit_attribute(Emit *e, LLVMValueRef fn, unsigned index, const char *name, uint64_t value) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(fn, index, LLVMCreateEnumAttribute(e->context, kind, value));
}

void emit_string_attribute(Emit *e, LLVMValueRef fn, const char *name, const char *value) {
  LLVMAttributeRef a =
      LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

LLVMValueRef emit_intrinsic(Emit *e, LLVMBuilderRef b, const char *name, int ntypes, LLVMTypeRef *types, int n,
                            LLVMValueRef *args) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, types, (size_t)ntypes);
  return LLVMBuildCall2(b, LLVMIntrinsicGetType(e->context, id, types, (size_t)ntypes), fn, args, (unsigned)n, "");
}

LLVMValueRef emit_pure_call(Emit *e, const char *name, LLVMTypeRef result, int n, LLVMValueRef *args) {
  LLVMTypeRef params[4];
  for (int i = 0; i < n; i++)
    params[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type = LLVMFunctionType(result, params, (unsigned)n, 0);
  LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
  if (!fn) {
    fn = LLVMAddFunction(e->module, name, type);
    emit_attribute(e, fn, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    emit_attribute(e, fn, (unsigned)LLVMAttributeFunctionIndex, "willreturn", 0);
    emit_attribute(e, fn, (unsigned)LLVMAttributeFunctionIndex, "memory", 0);
  }
  return LLVMBuildCall2(e->here.b, type, fn, args, (unsigned)n, "");
}

LLVMValueRef emit_function(Emit *e, const char *name, int n, LLVMTypeRef *params) {
  e->fn = LLVMAddFunction(e->module, name, LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, (unsigned)n, 0));
  emit_attribute(e, e->fn, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
  LLVMPositionBuilderAtEnd(e->entry.b, LLVMAppendBasicBlockInContext(e->context, e->fn, "entry"));
  LLVMPositionBuilderAtEnd(e->here.b, LLVMAppendBasicBlockInContext(e->context, e->fn, "body"));
  return e->fn;
}

void emit_arg_types(Emit *e, LLVMTypeRef *types) {
  for (int i = 0; i < e->k->nargs; i++) {
    const KArg *a = &e->k->args[i];
    if (a->kind == KARG_BUFFER)
      types[i] = LLVMPointerTypeInContext(e->context, e->target->global_space);
    else
      types[i] =
          a->kind == KARG_STEP || a->kind == KARG_MIRROR ? e->i64 : emit_memory_type(e, e->m->scalars[a->index].type);
  }
}

/* A value that other threads read or write on the other side of a barrier is accessed through the same pointer, which
 * `noalias` would deny: stores would be taken for overwritten, and loads be moved before the barrier. */
void emit_arg_attributes(Emit *e) {
  for (int i = 0; i < e->k->nargs; i++) {
    const KArg *a = &e->k->args[i];
    if (a->kind != KARG_BUFFER)
      continue;
    unsigned p = (unsigned)i + 1;
    if (!(e->passes && a->writes))
      emit_attribute(e, e->fn, p, "noalias", 0);
    emit_attribute(e, e->fn, p, "align", (uint64_t)e->alignments[i]);
    if (!a->writes)
      emit_attribute(e, e->fn, p, "readonly", 0);
    else if (!a->reads)
      emit_attribute(e, e->fn, p, "writeonly", 0);
  }
}

/* The module `text` in e's context, for parts that the C interface cannot build. The caller owns it; it is never NULL
 * for correct text. */
static LLVMModuleRef parse_text(Emit *e, const char *text) {
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "metadata");
  LLVMModuleRef m = NULL;
  char *message = NULL;
  if (LLVMParseIRInContext(e->context, buffer, &m, &message)) {
    LLVMDisposeMessage(message);
    return NULL;
  }
  return m;
}

LLVMMetadataRef emit_access_group(Emit *e) {
  LLVMModuleRef m = parse_text(e, "!g = !{!0}\n!0 = distinct !{}\n");
  LLVMValueRef node = NULL;
  if (!m)
    return NULL;
  LLVMGetNamedMetadataOperands(m, "g", &node);
  LLVMMetadataRef group = LLVMValueAsMetadata(node);
  LLVMDisposeModule(m);
  return group;
}

/* ---------------------------------------------------------------- values */

LLVMValueRef emit_value(Emit *e, const Value *v) {
  LLVMValueRef x = ptrmap_get(&e->values, v);
  return x ? x : value_is_guard(v) ? e->guard(e, v) : LLVMGetPoison(emit_type(e, v->type));
}
