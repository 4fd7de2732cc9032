/* ir_verify_test.c: each rule of the verifier is broken once and named (ir/verify/verify.c). Rules that text can break
 * are broken in text, the others by tampering with a good module. */
#include "tests/unit/ir_testing.h"

#define DECLS \
  "stencil module \"t\" { param @N : i64 param @c : f32 grid [0 .. N - 1] steps 1\nfield @A : f32 on [0 .. N - 1] " \
  "field @I : f32 on [0 .. N - 1] input\n"
#define ONCE DECLS "field @F : f32 on [0 .. N - 1] field @T : f32 on [0 .. N - 1] temp "
#define STEP "stencil @s (@A) { } "
#define BODY \
  DECLS "stencil @s (@A) { piece [0 .. N - 1] (@A) {\n%x = const 1.0 : f32 %i = const 1 : i32 %b = const true : bool " \
        "%l = index 0 : i64\n"
#define END " } } }"
#define VECTORS \
  DECLS "param_array @w[N] : f32 field @V : f32[2] on [0 .. N - 1]\n" \
        "stencil @s (@A) { piece [0 .. N - 1] (@A) {\n%x = const 1.0 : f32 %i = const 1 : i32 %l = index 0 : i64 %v " \
        "= access @V[0] : f32[2]\n"
#define SUM DECLS "reduction @r : f64 field @T : f64 on [0] temp reduce @r = "
#define KDECLS \
  "kernel module \"t\" { param @N : i64 grid [0 .. N - 1] steps 1 field @A : f32 on [0 .. N - 1] field @I : f32 on " \
  "[0 .. N - 1] input\n" \
  "buffer @A : @A copy 0 buffer @A2 : @A copy 1 buffer @I : @I copy 0\n"
#define KHEAD \
  KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 { args (reads writes @A, reads writes @I, scalar @N, step) "
#define KBODY \
  KHEAD "shared @s : f32[4]\n%x = const 1.0 : f32 %i = const 1 : i32 %b = const true : bool %l = const 1 : i64\n"
#define KVARIANT(K, O) \
  KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 " K \
         " { args (writes @A, scalar @N) } kernel @o threads [1] covers [N] by [1] " O \
         " host { steps 1 { launch @k } } }"
#define KEND " } host { steps 1 { } } }"

/* A text that parses but for the verifier, and what the first message must hold. */
typedef struct Bad {
  const char *text, *message;
} Bad;

static const Bad BAD[] = {
    /* declarations */
    {"stencil module \"t\" { let @x : f32 = { %0 = step : i64 %1 = convert %0 : f32 yield %1 } grid [0] steps 1 }",
     "let 'x': op 'step': may not stand in a scalar's expression"},
    {"stencil module \"t\" { param @x : f32 = { %0 = const 1 : i64 yield %0 } grid [0] steps 1 }",
     "param 'x': op 'yield': value 0 is i64, but the expression needs f32"},
    {"stencil module \"t\" { param @x : f32 = { %0 = const 1.0 : f32 } grid [0] steps 1 }",
     "param 'x': a block of the expression must end in a yield of 1 values"},
    {"stencil module \"t\" { param @x : f32 let @y : i64 = { %0 = scalar @x : i64 yield %0 } grid [0] steps 1 }",
     "let 'y': op 'scalar': the result is i64, but scalar 'x' is f32"},
    {"stencil module \"t\" { param @x : f32 grid [0 .. x] steps 1 }",
     "grid: a bound names 'x', which is not an integer param or let"},
    {"stencil module \"t\" { let @x : f32 = { %0 = const 1.0 : f32 yield %0 } grid [0 .. x] steps 1 }",
     "grid: a bound names 'x', which is not an integer param or let"},
    {"stencil module \"t\" { param @x : f32 grid [0 .. 3] steps @x }",
     "grid: a bound names 'x', which is not an integer param or let"},
    {DECLS "field @B : f32 on [0] input temp }", "field 'B': a field cannot be both input and temp"},
    {DECLS "check c >= 0 \"m\" }", "check: a bound names 'c', which is not an integer param or let"},
    /* stencils */
    {DECLS "stencil @s (@I) { } }", "stencil 's': field 'I' is input and cannot be a target"},
    {DECLS "stencil @s (@A, @A) { } }", "stencil 's': field 'A' is a target twice"},
    {DECLS "stencil @s () { piece [0] (@A) { %0 = const 0 : f32 yield %0 } } }",
     "target 'A' of a piece is not a target of the stencil"},
    {DECLS "stencil @s (@A) { piece [-1 .. N - 1] (@A) { %0 = const 0 : f32 yield %0 } } }",
     "the piece reaches beyond the region of field 'A'"},
    {DECLS "stencil @s (@A) level 1 { } }", "stencil 's': level 1 is outside the time tile of 1"},
    {DECLS "init @s (@A) level 1 { } }", "init 's': level 1 is outside the time tile of 1"},
    {ONCE "once @o (@F) { piece [0] (@F) { %0 = access @A[0] : f32 yield %0 } } " STEP "}",
     "once 'o': it reads what may change while the program runs"},
    {ONCE "once @o (@F) { piece [0] (@F) { %s = step : i64 %0 = convert %s : f32 yield %0 } } }",
     "once 'o': it reads what may change while the program runs"},
    {ONCE "once @o (@F) { piece [0] (@F) { %0 = access @F[0] : f32 yield %0 } } }",
     "once 'o': it reads field 'F', which is computed by it"},
    {ONCE "field @E : f32 on [0 .. N - 1] once @o (@F) { piece [0] (@F) { %0 = access @E[0] : f32 yield %0 } } "
          "once @p (@E) { } }",
     "once 'o': it reads field 'E', which is computed behind it"},
    {ONCE "once @o (@A) { } " STEP "}", "once 'o': 's' writes field 'A', too"},
    {ONCE "once @o (@F) { } init @i (@A) { } }", "once 'o': init 'i' stands behind it"},
    {ONCE "once @o (@T) { } }", "once 'o': field 'T' is temp, or has older levels"},
    {DECLS "stencil @s (@A) extent [-1 .. 4611686018427387904] { } }", "the extent is out of range in dimension 0"},
    {BODY "yield" END, "op 'yield': 0 values, but a piece needs 1"},
    {BODY "yield %i" END, "op 'yield': value 0 is i32, but a piece needs f32"},
    {BODY "yield %x %0 = const 1 : i32 yield %x" END, "op 'yield': must be the last op of its block"},
    /* types of operands */
    {BODY "%r = add %x, %i : f32 yield %r" END, "op 'add': operand 1 is i32, operand 0 is f32; they must agree"},
    {BODY "%r = add %b, %b : bool yield %x" END, "op 'add': operand 0 is bool, must be an integer or a float"},
    {BODY "%r = sqrt %i : i32 yield %x" END, "op 'sqrt': operand 0 is i32, must be a float"},
    {BODY "%r = fma %x, %x, %i : f32 yield %x" END, "op 'fma': operand 2 is i32, operand 0 is f32; they must agree"},
    {BODY "%r = select %i, %x, %x : f32 yield %x" END, "op 'select': the condition (operand 0) is i32, must be bool"},
    {BODY "%r = select %b, %x, %i : f32 yield %x" END,
     "op 'select': operand 2 is i32, operand 1 is f32; they must agree"},
    {BODY "%r = lt %b, %b : bool yield %x" END, "op 'lt': operand 0 is bool, must be an integer or a float"},
    {BODY "%r = eq %b, %i : bool yield %x" END, "op 'eq': operand 1 is i32, operand 0 is bool; they must agree"},
    {BODY "%r = and %b, %i : bool yield %x" END, "op 'and': operand 1 is i32, must be bool"},
    {BODY "%r = access @A[0] : f64 yield %x" END, "op 'access': the result is f64, but field 'A' is f32"},
    {DECLS "field @P : f32 on [0 .. N - 1] past 1 of @A }",
     "field 'P': it does not fit field 'A', whose past 1 it is said to be"},
    {DECLS "field @H : f32 on [0 .. N - 1] history 2 field @P : f32 on [0 .. N - 1] past 1 of @H }",
     "field 'H': history 2, but there are 0 fields that are its past 2"},
    {DECLS "field @H : f32 on [0 .. N - 1] history 1 field @P : f32 on [0 .. N - 1] past 1 of @H field @Q : f32 on [0 "
           ".. N - 1] past 1 of @H }",
     "field 'H': history 1, but there are 2 fields that are its past 1"},
    {DECLS "field @H : f32 on [0 .. N - 1] history 1 field @P : f64 on [0 .. N - 1] past 1 of @H }",
     "field 'P': it does not fit field 'H', whose past 1 it is said to be"},
    {DECLS "field @H : f32 on [0 .. N - 1] history 1 field @P : f32 on [0 .. N - 1] outside clamp past 1 of @H }",
     "field 'P': it does not fit field 'H', whose past 1 it is said to be"},
    {DECLS "field @H : f32 on [0 .. N - 1] history 1 field @P : f32 on [0 .. N - 1] input past 1 of @H }",
     "field 'P': it does not fit field 'H', whose past 1 it is said to be"},
    {DECLS "field @H : f32 on [0 .. N - 1] history 1 field @P : f32 on [0 .. N - 1] temp past 1 of @H }",
     "field 'P': it does not fit field 'H', whose past 1 it is said to be"},
    {DECLS "field @H : f32 on [0 .. N - 1] outside const 1.0 history 1 field @P : f32 on [0 .. N - 1] outside const "
           "2.0 past 1 of @H }",
     "field 'P': it does not fit field 'H', whose past 1 it is said to be"},
    /* composite types and launch-time arrays */
    {DECLS "struct S { a : f32 } struct S { a : f32 } }", "struct 'S': the name is taken by another struct"},
    {DECLS "struct S { a : f32, b : f32[2] } field @S.0 : f32 on [0] field @S.1 : f32 on [0] record @S : S from @S.0 }",
     "record 'S': its type is no composite, or fields are missing"},
    {DECLS "struct S { a : f32, b : f64 } field @S.0 : f32 on [0] field @S.1 : f32 on [0] record @S : S from @S.0 }",
     "record 'S': field 'S.1' does not fit component 1"},
    {DECLS "param_array @w[c] : f32 }",
     "launch-time array 'w': a bound names 'c', which is not an integer param or let"},
    {VECTORS "%r = construct %x : f32[2] yield %x" END,
     "op 'construct': 1 operands do not make a value of type f32[2]"},
    {VECTORS "%r = construct %x, %i : f32[2] yield %x" END, "op 'construct': a member (operand 1) is i32, must be f32"},
    {VECTORS "%r = construct %x : f32 yield %x" END, "op 'construct': 1 operands do not make a value of type f32"},
    {VECTORS "%r = extract %v, 2 : f32 yield %x" END, "op 'extract': type f32[2] has no member 2"},
    {VECTORS "%r = extract %v, 1 : f64 yield %x" END, "op 'extract': the result is f64, but the member is f32"},
    {VECTORS "%r = extract %x, 0 : f32 yield %x" END, "op 'extract': type f32 has no member 0"},
    {VECTORS "%r = add %v, %v : f32[2] yield %x" END, "op 'add': result 0 is not a value made by this op"},
    {VECTORS "%r = eq %v, %v : bool yield %x" END,
     "op 'eq': operand 0 is f32[2]; only construct, extract and yield take composite values"},
    {VECTORS "%r = convert %v : f32 yield %x" END,
     "op 'convert': operand 0 is f32[2]; only construct, extract and yield take composite values"},
    {VECTORS "yield %v" END, "op 'yield': value 0 is f32[2], but a piece needs f32"},
    {VECTORS "%r = element @w[%i] : f32 yield %x" END, "op 'element': the index (operand 0) is i32, must be i64"},
    {VECTORS "%r = element @w[%l] : f64 yield %x" END, "op 'element': the result is f64, but array 'w' is f32"},
    {BODY "%r = shuffle %x xor 1 : f32 yield %x" END, "op 'shuffle': may not stand in stencil IR"},
    {BODY "barrier.neighbours yield %x" END, "op 'barrier.neighbours': may not stand in stencil IR"},
    {KBODY "registers.less 24" KEND,
     "op 'registers.less': the threads of a block are not whole warps of 32: 1 are left"},
    {KBODY "registers.more 228" KEND, "op 'registers.more': 228 registers, must be a multiple of 8 from 24 to 256"},
    {KBODY "registers.less 16" KEND, "op 'registers.less': 16 registers, must be a multiple of 8 from 24 to 256"},
    {KBODY "barrier.neighbours" KEND,
     "op 'barrier.neighbours': the threads of a block are not whole warps of 32: 1 are left"},
    /* reductions */
    {SUM "add f32 over [0] every 1 { %0 = const 1.0 : f32 yield %0 } }",
     "reduction 'r': type f32, every 1 steps, kind 0"},
    {SUM "min f64 over [0] every 1 finite @A { %0 = const 1.0 : f64 yield %0 } }",
     "reduction 'r': what a check finds is of type i64"},
    {SUM "add i64 over [0] every 1 { %0 = const 1 : i64 yield %0 } }",
     "reduction 'r': scalar number 2 is not one of a reduction of type i64"},
    {SUM "add f64 over [0] every 1 { %0 = access @A[0] : f32 yield %0 } }",
     "op 'yield': value 0 is f32, but the reduction needs f64"},
    {SUM "add f64 over [0] every 1 { %0 = access @T[0] : f64 yield %0 } }",
     "reduction 'r': it reads temp field 'T', which holds nothing between steps"},
    {SUM "add f64 over [0] every 1 until { %0 = const 1.0 : f64 yield %0 } }",
     "reduction 'r': an until, and nothing else, has a stop condition"},
    {SUM "add f64 over [0] every 1 { %0 = const 1.0 : f64 yield %0 } stop { %0 = const true : bool yield %0 } }",
     "reduction 'r': an until, and nothing else, has a stop condition"},
    {SUM "add f64 over [0] every 1 until { %0 = const 1.0 : f64 yield %0 } stop { %0 = scalar @r : f64 yield %0 } }",
     "op 'yield': value 0 is f64, but the stop condition needs bool"},
    {SUM "add f64 over [0] every 1 until { %0 = const 1.0 : f64 yield %0 } stop { %0 = step : i64 %1 = eq %0, %0 : "
         "bool yield %1 } }",
     "op 'step': may not stand in a scalar's expression"},
    {DECLS "reduction @r : f32 }",
     "reduction 'r': a reduction's scalar is no param, has no expression, and is f64 or i64"},
    {DECLS "param @r : f64 reduce @r = add f64 over [0] every 1 { %0 = const 1.0 : f64 yield %0 } }",
     "reduction 'r': scalar number 2 is not one of a reduction of type f64"},
    {DECLS "reduction @r : i64 stencil @s (@A) { piece [r] (@A) { %0 = const 1.0 : f32 yield %0 } } }",
     "a bound names 'r', which is not an integer param or let"},
    {BODY "%r = access @A[4611686018427387904] : f32 yield %x" END,
     "op 'access': offset 4611686018427387904 is out of range"},
    {BODY "%r = index 1 : i64 yield %x" END, "op 'index': dimension 1, but the grid has rank 1"},
    /* levels */
    {BODY "%r = thread 0 : i32 yield %x" END, "op 'thread': may not stand in stencil IR"},
    {BODY "barrier yield %x" END, "op 'barrier': may not stand in stencil IR"},
    {BODY "if %b { } else { } yield %x" END, "op 'if': may not stand in stencil IR"},
    {KBODY "%r = access @A[0] : f32" KEND, "op 'access': may not stand in kernel IR"},
    {KBODY "%r = index 0 : i64" KEND, "op 'index': may not stand in kernel IR"},
    /* kernels */
    {KBODY "%r = thread 2 : i32" KEND, "op 'thread': dimension 2, but the grid has rank 1"},
    {KBODY "%r = inside %x in [0] : bool" KEND, "op 'inside': operand 0 is f32, must be i32 or i64"},
    {KBODY "%r = idx.wrap %b in [0] : bool" KEND, "op 'idx.wrap': operand 0 is bool, must be i32 or i64"},
    {KBODY "%r = load @A[%i] : f32" KEND, "op 'load': an index (operand 0) is i32, must be i64"},
    {KBODY "%r = load @A[%l, %l] : f32" KEND, "op 'load': 2 indices, but 'A' has rank 1"},
    {KBODY "%r = load @A[%l] : f64" KEND, "op 'load': the result is f64, but the element of 'A' is f32"},
    {KBODY "store %i, @A[%l]" KEND, "op 'store': the value to store (operand 0) is i32, must be f32"},
    {KBODY "store %x, @I[%l]" KEND, "op 'store': field 'I' is input and cannot be written"},
    {KBODY "%r = aload @s[%l] v0 : f32" KEND, "op 'aload': an index (operand 0) is i64, must be i32"},
    {KBODY "%r = aload @s[%i] + [4294967296] v0 : f32" KEND, "op 'aload': offset 4294967296 is out of range"},
    {KBODY "astore %l, @s[%i] v0" KEND, "op 'astore': the value to store (operand 0) is i64, must be f32"},
    {KBODY "%r = shuffle.up %x by 32 : f32" KEND, "the distance is 32, must be 1 to 31"},
    {KBODY "%r = shuffle.down %x xor 1 : f32" KEND, "expected 'by', found 'xor'"},
    {KBODY "%r = vload @I[%l] : f32" KEND, "op 'vload': 1 results, must be 2"},
    {KBODY "%r, %q, %p = vload @I[%l] : f32" KEND,
     "op 'vload': 3 elements of type f32; must be 2, 4 or 8, at most 32 bytes"},
    {KBODY "%r, %q = vload @I[%l] : f64" KEND, "op 'vload': the result is f64, but the element of 'I' is f32"},
    {KBODY "%r, %q = vload @I[%i] : f32" KEND, "op 'vload': an index (operand 0) is i32, must be i64"},
    {KBODY "vstore %x, @A[%l]" KEND, "op 'vstore': 1 elements of type f32; must be 2, 4 or 8, at most 32 bytes"},
    {KBODY "vstore %x, %l, @A[%l]" KEND, "op 'vstore': the value to store (operand 1) is i64, must be f32"},
    {KBODY "vstore %x, %x, @I[%l]" KEND, "op 'vstore': field 'I' is input and cannot be written"},
    {KBODY "store %x, %x, @A[%l]" KEND, "'store' stores one value, found 2"},
    {KHEAD "private @p : f32[4] %i = const 1 : i32 %r, %q = avload @p[%i] v0 : f32" KEND,
     "op 'avload': array 'p' is private, must be shared"},
    {KHEAD "private @p : f32[4] %i = const 1 : i32 %x = const 1.0 : f32 avstore %x, %x, @p[%i] v0" KEND,
     "op 'avstore': array 'p' is private, must be shared"},
    {KBODY "%r, %q = avload @s[%l] v0 : f32" KEND, "op 'avload': an index (operand 0) is i64, must be i32"},
    {KHEAD "private @p : f32[4] %i = const 1 : i32 %l = const 1 : i64 async.copy @p[%i] v0 from @I[%l] n 1" KEND,
     "op 'async.copy': array 'p' is private, must be shared"},
    {KBODY "async.copy @s[%i] v0 from @I[%l] n 3" KEND,
     "op 'async.copy': 3 elements of type f32; must be 4, 8 or 16 bytes"},
    {KBODY "async.copy @s[%l] v0 from @I[%l] n 1" KEND, "op 'async.copy': an index (operand 0) is i64, must be i32"},
    {KBODY "async.copy @s[%i] v0 from @I[%i] n 1" KEND, "op 'async.copy': an index (operand 1) is i32, must be i64"},
    {KBODY "async.copy @s[%i] v0 from @I[%l] + [1099511627777] n 1" KEND,
     "op 'async.copy': offset 1099511627777 is out of range"},
    {KBODY "async.copy @s[%i] v0 from @J[%l] n 1" KEND, "there is no buffer '@J'"},
    {KBODY "async.wait 65" KEND, "found '65'"},
    {KBODY "for %e = %x to %x step 1 { }" KEND, "op 'for': operand 0 is f32, must be i32 or i64"},
    {KBODY "for %e = %i to %l step 1 { }" KEND, "op 'for': the upper bound (operand 1) is i64, must be i32"},
    {KBODY "%r = for %e = %i to %i step 1 with %a = %x { }" KEND, "a block of for must end in a yield of 1 values"},
    {KBODY "%r = for %e = %i to %i step 1 with %a = %x { yield %e }" KEND,
     "op 'yield': value 0 is i32, but for needs f32"},
    {KBODY "for %e = %i to %i step 1 { yield %e }" KEND, "op 'yield': 1 values, but for needs 0"},
    {KBODY "if %i { } else { }" KEND, "op 'if': the condition (operand 0) is i32, must be bool"},
    {KBODY "%r = if %b : f32 { yield %x } else { }" KEND, "a block of if must end in a yield of 1 values"},
    {KBODY "for %e = %i to %i step 1 edges { }" KEND,
     "op 'for': edges stands for a part of a streaming loop, directly in a for of parts"},
    {KBODY "for %p = %i to %i step 1 parts 9 { if %b { for %e = %i to %i step 1 middle { } } else { } }" KEND,
     "op 'for': middle stands for a part of a streaming loop, directly in a for of parts"},
    {KBODY
     "for %p = %i to %i step 1 parts 9 { for %e = %i to %i step 1 middle { } for %f = %i to %i step 1 edges { } }" KEND,
     "op 'for': a for of parts has one for of edges, and behind it one of middle"},
    {KBODY "%r = for %p = %i to %i step 1 parts 9 with %a = %x { yield %a }" KEND,
     "op 'for': parts has the rounds of a streaming loop without results"},
    {KBODY "for %p = %i to %i step 1 parts 0 { }" KEND, "found '0'"},
    {KBODY "%r = if %b interior : f32 { yield %x } else { yield %x }" KEND,
     "op 'if': interior chooses between versions of a kernel: directly in its body, without results"},
    {KBODY "if %b { if %b interior { } else { } } else { }" KEND,
     "op 'if': interior chooses between versions of a kernel: directly in its body, without results"},
    {KBODY "%t = thread 0 : i32 %in = inside %t in [0] : bool if %in interior { } else { }" KEND,
     "op 'if': interior needs a condition that is the same for all threads of a block"},
    {KBODY "if %b interior { } else { } if %b interior { } else { }" KEND,
     "op 'if': a kernel has one choice of versions"},
    {KHEAD "shared @s : f32[65536, 65536]" KEND, "array 's' takes more than 2147483647 bytes"},
    {KHEAD "shared @s : f32[4] in @s" KEND,
     "the storage of array 's' is no array of the same space, or goes round in a circle"},
    {KHEAD "shared @s : f32[4] in @t private @t : f32[4]" KEND,
     "the storage of array 's' is no array of the same space, or goes round in a circle"},
    {KHEAD "shared @s : f32[4] in @t shared @t : f32[4] in @s" KEND,
     "the storage of array 's' is no array of the same space, or goes round in a circle"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 { args (scalar @N, scalar @N)" KEND,
     "kernel 'k': scalar N is an argument twice"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 { args ()" KEND,
     "kernel 'k': it uses scalar N, which is not among its arguments"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 { args (scalar @N) %s = step : i64" KEND,
     "kernel 'k': it uses the step, which is not among its arguments"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 { args (scalar @N, reads @A) %l = block 0 : i64 %v = load "
            "@A[%l] : f32 store %v, @A[%l]" KEND,
     "kernel 'k': it writes buffer A, but its argument does not say so"},
    {KVARIANT("multiple N of 0 instead @o", "steps 1 { args (writes @A, scalar @N) }"), "expected an integer"},
    {KVARIANT("multiple N instead @o", "steps 1 { args (writes @A, scalar @N) }"), "expected 'of', found 'instead'"},
    {KVARIANT("multiple N of 2 instead o", "steps 1 { args (writes @A, scalar @N) }"),
     "expected the kernel (@name) that is launched instead"},
    {KVARIANT("multiple N of 2 instead @p", "steps 1 { args (writes @A, scalar @N) }"),
     "there is no kernel '@p' in this module to launch instead"},
    {KVARIANT("instead @o", "steps 1 { args (writes @A, scalar @N) }"),
     "kernel 'k': kernel 'o' would never be launched instead: this one has no multiples"},
    {KVARIANT("multiple N of 2 instead @k", "steps 1 { args (writes @A, scalar @N) }"),
     "kernel 'k': kernel 'k' is to be launched instead, so it must have no multiples and no 'instead' itself"},
    {KVARIANT("multiple N of 2 instead @o", "steps 1 multiple N of 3 { args (writes @A, scalar @N) }"),
     "kernel 'k': kernel 'o' is to be launched instead, so it must have no multiples and no 'instead' itself"},
    {KVARIANT("multiple N of 2 instead @o", "steps 0 { args (writes @A, scalar @N) }"),
     "kernel 'k': kernel 'o', launched instead, makes 0 steps, not 1"},
    {KVARIANT("multiple N of 2 instead @o", "steps 1 { args (reads @A, scalar @N) }"),
     "kernel 'k': kernel 'o', launched instead, does not write the same buffers"},
    {KVARIANT("multiple N of 2 instead @o", "steps 1 { args (writes @A, writes @I, scalar @N) }"),
     "kernel 'k': kernel 'o', launched instead, does not write the same buffers"},
    {KDECLS "kernel @k threads [1] covers [N] by [4] without [N + 1] steps 1 { args (scalar @N)" KEND,
     "kernel 'k': the blocks that are left out in dimension 0 may be more than there are: 'without' must be 'covers' "
     "less a constant"},
    {KDECLS "kernel @k threads [1] covers [N] by [4] without [4] steps 1 { args (scalar @N)" KEND,
     "kernel 'k': the blocks that are left out in dimension 0 may be more"},
    {KDECLS "kernel @k threads [1] covers [N] by [4] without [0] lists @A of @A steps 1 { args (scalar @N)" KEND,
     "kernel 'k': a list of tiles is a field of u32, that of classes of u8, and goes with 'without'"},
    {KDECLS "kernel @k threads [1] covers [7] by [4] without N steps 1 { args (scalar @N)" KEND, "expected '['"},
    {KDECLS "kernel @k threads [1] covers [N] by [4] without [2 * N] steps 1 { args (scalar @N)" KEND,
     "kernel 'k': the blocks that are left out in dimension 0 may be more"},
    {KDECLS "buffer @B : @A copy 0 host { steps 1 { } } }",
     "buffer 'B': buffer 'A' is the same copy of the same field"},
    /* host */
    {KDECLS "}", "host: the last sequence must make 1 step, so that every number of steps can be made"},
    {KDECLS "host { steps 2 { } } }",
     "host: the last sequence must make 1 step, so that every number of steps can be made"},
    {KDECLS "host { steps 1 { } steps 1 { } } }", "host: the sequences must come by falling steps, but 1 follows 1"},
    {KDECLS "host { steps 1 { swap @A, @A } } }", "host: buffers 'A' and 'A' are not two of one field and its past"},
    {KDECLS "host { steps 1 { swap @A, @I } } }", "host: buffers 'A' and 'I' are not two of one field and its past"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 2 { args (scalar @N) } host { steps 1 { launch @k } } }",
     "host: kernel 'k' makes 2 steps in a sequence of 1"},
    {KDECLS
     "kernel @k threads [1] covers [N] by [1] steps 1 { args (scalar @N) } host { steps 1 { launch @k beside } } }",
     "host: kernel 'k' is launched beside nothing: there must be a launch directly before"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 { args (scalar @N) } host { steps 1 { launch @k swap @A, "
            "@A2 launch @k beside } } }",
     "host: kernel 'k' is launched beside nothing: there must be a launch directly before"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 { args (scalar @N) } host { steps 2 { launch @k after 2 } "
            "steps 1 { } } }",
     "host: kernel 'k' is launched after 2 of a sequence's 2 steps: there must be one left"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 0 { args (scalar @N) } host { init { launch @k after 1 } "
            "steps 1 { } } }",
     "host: kernel 'k' is launched after 1 of a sequence's 0 steps: there must be one left"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 { args (scalar @N) } host { steps 2 { launch @k launch @k "
            "beside after 1 } steps 1 { } } }",
     "host: kernel 'k' is launched beside one, but after 1 steps, and that after 0"},
    {KDECLS "kernel @k threads [1] covers [N] by [1] steps 1 { args (scalar @N) } host { steps 1 { launch @k launch @k "
            "beside behind launch @k beside } } }",
     "host: kernel 'k' is launched beside one that is behind the first: it must be behind it, too"},
    {KDECLS
     "kernel @k threads [1] covers [N] by [1] steps 1 { args (scalar @N) } host { steps 2 { launch @k after -1 } "
     "steps 1 { } } }",
     "expected an integer from 0 to 2147483647, found '-1'"},
};

FIXTURE_TEST(test_broken_text) {
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    void *fresh;
    setup(&fresh);
    Fixture *f = fresh;
    Module *m = module_parse(f->arena, f->diags, "t", BAD[i].text);
    char *first = arena_strndup(f->arena, f->messages.s, strcspn(f->messages.s, "\n"));
    if (m || !strstr(first, BAD[i].message))
      fail_msg("%s\n  gives     %s\n  and not  %s", BAD[i].text, f->messages.s, BAD[i].message);
    teardown(&fresh);
  }
}

FIXTURE_TEST(test_good_text) {
  assert_non_null(module_parse(f->arena, f->diags, "t", BODY "yield %x" END));
  assert_non_null(module_parse(f->arena, f->diags, "t", KBODY "%v = load @I[%l] : f32 store %v, @A[%l]" KEND));
  assert_non_null(module_parse(f->arena, f->diags, "t",
                               DECLS "init @s (@I) { piece [N .. N - 1] (@I) { %0 = const 0 : f32 yield %0 } } }"));
  assert_string_equal(f->messages.s, "");
}

FIXTURE_TEST(test_place_is_named) {
  assert_null(module_parse(f->arena, f->diags, "t", KBODY "%r = thread 2 : i32" KEND));
  assert_string_equal(f->messages.s, "5:1: error: kernel 'k': op 'thread': dimension 2, but the grid has rank 1\n");
}

/* ---- tampering */

/* Breaks a good kernel module (its kernel's body given by its ops) in one way. */
typedef void (*Tamper)(Module *m, Kernel *k);

/* The first op of `k` with that code, nested ones of its last op included. */
static Op *find(const Kernel *k, Opcode code) {
  for (Op *op = k->body->first; op; op = op->next) {
    if (op->code == code)
      return op;
    for (int i = 0; i < op->nblocks; i++)
      for (Op *in = op->blocks[i]->first; in; in = in->next)
        if (in->code == code)
          return in;
  }
  return NULL;
}

static void use_inner_value(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_STORE)->operands[0] = find(k, OP_NEG)->results[0];
}
static void use_later_value(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_ADD)->operands[0] = find(k, OP_LOAD)->results[0];
}
static void drop_operand(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_ADD)->operands[1] = NULL;
}
static void drop_operands(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_ADD)->noperands = 1;
}
static void drop_result(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_LOAD)->nresults = 0;
}
static void share_result(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_LOAD)->results = find(k, OP_ADD)->results;
}
static void change_result_type(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_ADD)->results[0]->type = TY_F64;
}
static void break_list(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_ADD)->next->prev = NULL;
}
static void break_parent(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_NEG)->parent = k->body;
}
static void break_block_parent(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_IF)->blocks[0]->parent = NULL;
}
static void drop_block(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_IF)->nblocks = 1;
}
static void name_no_buffer(Module *m, Kernel *k) { find(k, OP_LOAD)->sym = m->nbuffers; }
static void name_no_array(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_ASTORE)->sym = -1;
}
static void name_no_opcode(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_ADD)->code = OP_COUNT;
}
static void drop_box(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_INSIDE)->box = NULL;
}
static void change_version(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_ASTORE)->ver = -1;
}
static void widen_constant(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_CONST)->cval.f = 0.1;
}
static void stop_loop(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_FOR)->off[0] = 0;
}
static void flag_loop(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_FOR)->flags = 128;
}
static void flag_store(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_STORE)->flags = LOAD_AROUND;
}
static void mask_loop(Module *m, Kernel *k) {
  (void)m;
  find(k, OP_FOR)->flags = FOR_MASKED;
}
static void no_threads(Module *m, Kernel *k) {
  (void)m;
  k->threads[0] = 0;
}
static void no_tile(Module *m, Kernel *k) {
  (void)m;
  k->tile[0] = 0;
}
static void many_threads(Module *m, Kernel *k) {
  m->grid.rank = k->rank = 2;
  m->grid.lo[1] = m->grid.hi[1] = affine_const(0);
  for (int i = 0; i < m->nfields; i++)
    m->fields[i].box = m->grid;
  k->threads[0] = k->threads[1] = 65536;
  k->tile[1] = 1;
}
static void instead_of_nothing(Module *m, Kernel *k) {
  (void)m;
  k->instead = 9;
}
static void no_multiple(Module *m, Kernel *k) {
  k->nmultiples = 1;
  k->multiples = ARENA_ARRAY(m->arena, Multiple, 1);
}
static void other_rank(Module *m, Kernel *k) {
  (void)m;
  k->rank = 2;
}
static void no_array_rank(Module *m, Kernel *k) {
  (void)m;
  k->arrays[0].rank = 0;
}
static void launch_nothing(Module *m, Kernel *k) {
  (void)k;
  m->host.seqs[0].ops[0].a = 9;
}
static void add_stencil(Module *m, Kernel *k) {
  (void)k;
  m->nstencils = 1;
}
static void no_level(Module *m, Kernel *k) {
  (void)k;
  m->level = LEVEL_BOTH;
}
static void unsorted_bound(Module *m, Kernel *k) {
  (void)m;
  static const AffineTerm twice[] = {{1, 0}, {1, 0}};
  k->extent[0] = (Affine){0, 2, twice};
}
static void body_with_argument(Module *m, Kernel *k) { block_add_arg(m->arena, k->body, TY_I32); }

FIXTURE_TEST(test_tampering) {
  const struct {
    Tamper tamper;
    const char *message;
  } rows[] = {
      {use_inner_value, "op 'store': operand 0 (%8) is not defined before it in its block or one around it"},
      {use_later_value, "op 'add': operand 0 (%5) is not defined before it in its block or one around it"},
      {drop_operand, "op 'add': operand 1 is missing"},
      {drop_operands, "op 'add': 1 operands, must be 2"},
      {drop_result, "op 'load': 0 results, must be 1"},
      {share_result, "op 'load': result 0 is not a value made by this op"},
      {change_result_type, "op 'add': the result is f64, must be f32"},
      {break_list, "the op list of a block of a kernel is broken"},
      {break_parent, "the op list of a block of if is broken"},
      {break_block_parent, "op 'if': block 0 does not belong to this op"},
      {drop_block, "op 'if': 1 blocks, must be 2"},
      {name_no_buffer, "op 'load': there is no buffer number 2"},
      {name_no_array, "op 'astore': there is no array number -1"},
      {name_no_opcode, "there is no op number"},
      {drop_box, "op 'inside': the box is missing"},
      {change_version, "op 'astore': version -1 is negative"},
      {widen_constant, "op 'const': the constant is not a value of type f32"},
      {stop_loop, "op 'for': the step is 0, must be at least 1"},
      {flag_loop, "op 'for': unknown flags 128"},
      {flag_store, "op 'store': unknown flags 128"},
      {mask_loop, "op 'for': masked rounds are parallel"},
      {no_threads, "kernel 'k': 0 threads and a tile of 1 points in dimension 0; both must be at least 1"},
      {no_tile, "kernel 'k': 1 threads and a tile of 0 points in dimension 0; both must be at least 1"},
      {many_threads, "kernel 'k': more than 2147483647 threads"},
      {instead_of_nothing, "kernel 'k': there is no kernel number 8 to launch instead"},
      {no_multiple, "kernel 'k': a multiple of 0; must be at least 1"},
      {other_rank, "kernel 'k': rank 2, but the grid has rank 1"},
      {no_array_rank, "kernel 'k': array 's' has rank 0 and type f32"},
      {launch_nothing, "host: there is no kernel number 9"},
      {add_stencil, "module 't': a kernel module has no stencils"},
      {no_level, "module 't' is of no level"},
      {unsorted_bound, "kernel 'k': the terms of a bound are not sorted or one is zero"},
      {body_with_argument, "kernel 'k': a kernel has no body, or one with arguments or a parent"},
  };
  const char *text =
      "kernel module \"t\" { param @N : i64 grid [0 .. N - 1] steps 1 field @A : f32 on [0 .. N - 1] buffer @A : @A "
      "copy 0 buffer @B : @A copy 1\n"
      "kernel @k threads [1] covers [N] by [1] steps 1 { args (reads @A, writes @B, scalar @N) shared @s : f32[4]\n"
      "%0 = const 1.0 : f32 %1 = const 1 : i32 %2 = block 0 : i64 %3 = inside %2 in [0 .. N - 1] : bool\n"
      "%4 = add %0, %0 : f32 %5 = load @A[%2] : f32 astore %5, @s[%1] v0\n"
      "for %6 = %1 to %1 step 1 { barrier }\n"
      "%7 = if %3 : f32 { %8 = neg %5 : f32 yield %8 } else { yield %4 }\n"
      "store %7, @B[%2]\n"
      "} host { steps 1 { launch @k } } }";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    void *fresh;
    setup(&fresh);
    Fixture *f = fresh;
    Module *m = module_parse(f->arena, f->diags, "t", text);
    assert_non_null(m);
    module_renumber(m);
    rows[i].tamper(m, &m->kernels[0]);
    bool ok = module_verify(m, f->diags);
    if (ok || !strstr(f->messages.s, rows[i].message))
      fail_msg("row %d gives\n%s  and not  %s", (int)i, f->messages.s, rows[i].message);
    teardown(&fresh);
  }
}
