/* ir/base/decimal.c: decimal text to floats, each rounded once. */
#define _GNU_SOURCE /* strtod_l: numbers do not depend on the locale of the program that uses the library */
#include "ir/base/base.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A positive decimal number: 0.DIGITS times ten to the power `exponent`. Its digits do not begin with zeros; they end
 * before `end`. Other characters among them, such as the point, are skipped. */
typedef struct Decimal {
  const char *digits, *end;
  int64_t exponent;
} Decimal;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Parses the well-formed number `text` without its sign. */
static Decimal decimal(const char *text) {
  Decimal d = {.digits = text + strcspn(text, "123456789eE")};
  d.end = d.digits + strcspn(d.digits, "eE");
  bool fraction = false;
  for (const char *s = text; s < d.end; s++) {
    fraction |= !is_digit(*s) && *s != '-' && *s != '+';
    d.exponent += s >= d.digits && !fraction;
    d.exponent -= s < d.digits && fraction && *s == '0';
  }
  if (*d.end)
    d.exponent += strtoll(d.end + 1, NULL, 10);
  return d;
}

/* Returns the next digit of `d` and advances; 0 after the last one. */
static int next_digit(Decimal *d) {
  while (d->digits < d->end && !is_digit(*d->digits))
    d->digits++;
  return d->digits < d->end ? *d->digits++ - '0' : 0;
}

/* The sign of |text| - |x|, computed exactly. `x` is not 0 and has at most 800 digits; this is true of all midpoints
 * between narrow floats. */
static int compare_with(const char *text, double x) {
  char exact[1024];
  snprintf(exact, sizeof exact, "%.800e", fabs(x));
  Decimal a = decimal(text), b = decimal(exact);
  if (a.exponent != b.exponent)
    return a.exponent < b.exponent ? -1 : 1;
  while (a.digits < a.end || b.digits < b.end) {
    int p = next_digit(&a), q = next_digit(&b);
    if (p != q)
      return p < q ? -1 : 1;
  }
  return 0;
}

/* The number `text`, rounded once to the narrow type `t`; `x` is the f64 nearest to it. Rounding x instead gives a
 * wrong result only if x is the midpoint of two values of `t` and the text's number is not. */
static Const round_text(const char *text, double x, Type t) {
  Const at = const_convert((Const){.f = x}, TY_F64, t);
  if (x == 0 || !isfinite(x) || strpbrk(text, "xX"))
    return at;
  Const inner = const_convert((Const){.f = nextafter(x, 0)}, TY_F64, t),
        outer = const_convert((Const){.f = nextafter(x, copysign(HUGE_VAL, x))}, TY_F64, t);
  int side = inner.f == outer.f ? 0 : compare_with(text, x);
  return side < 0 ? inner : side > 0 ? outer : at;
}

bool const_parse_float(const char *text, Type t, Const *out) {
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!c)
    return false;
  char *end;
  double x = t == TY_F32 ? (double)strtof_l(text, &end, c) : strtod_l(text, &end, c);
  freelocale(c);
  bool whole = end != text && !*end;
  out->f = x;
  if (whole && (t == TY_F16 || t == TY_BF16))
    *out = round_text(text, x, t);
  return whole && !isinf(out->f);
}
