/* driver/artifact/manifest.h: the common part of the files that make a manifest. */
#ifndef STC_ARTIFACT_MANIFEST_H
#define STC_ARTIFACT_MANIFEST_H

#include "driver/files/json.h"
#include "driver/program/program.h"
#include "passes/transpose/transpose.h"

/* The data from which all parts of the manifest are made. */
typedef struct ManifestWriter {
  Arena *arena;
  const StcProgram *program;
  const Module *m;
  const Target *target;
} ManifestWriter;

/* ---------------------------------------------------------------- manifest-values.c */

/* A constant as a JSON value; a value that JSON cannot express is a string. */
json_t *manifest_constant(Const c, Type t);
/* The text of a bound, "N - 2"; the other function returns an object with its text and its terms. */
const char *manifest_affine_text(const ManifestWriter *w, Affine x);
json_t *manifest_affine(const ManifestWriter *w, Affine x);
/* A box: lower and upper bounds, both inclusive. */
json_t *manifest_box(const ManifestWriter *w, const Box *b);
/* A launch-time expression as a list of operations. Their arguments are indices into the list; the last element is the
 * value. */
json_t *manifest_expression(const ManifestWriter *w, const Block *b);

/* The CRC-32 (that of zlib) of `n` bytes, leaving out the bytes that are in the string `but`. */
uint32_t manifest_checksum(const char *bytes, size_t n, const char *but);

/* ---------------------------------------------------------------- manifest-host.c */

/* The host program: init, the sequences of the time loop and of the loops in it, reductions, probes. */
json_t *manifest_host(const ManifestWriter *w);

/* ---------------------------------------------------------------- manifest-gradient.c */

/* The facts about a backward program that a launcher needs: the program from which it was made, and the fields that
 * must be given (backward.c). */
typedef struct BackwardFacts {
  AdjointFacts facts;
  int ngiven;
  const char **given;
} BackwardFacts;
/* How the backward program computes the program's gradient, with the backward program's manifest. NULL after an error.
 */
json_t *manifest_gradient(const ManifestWriter *w);

#endif
