/* driver/artifact/manifest.h: what the files that make a manifest have in common. */
#ifndef STC_ARTIFACT_MANIFEST_H
#define STC_ARTIFACT_MANIFEST_H

#include "driver/files/json.h"
#include "driver/program/program.h"
#include "passes/transpose/transpose.h"

/* What every part of the manifest is made from. */
typedef struct ManifestWriter {
  Arena *arena;
  const StcProgram *program;
  const Module *m;
  const Target *target;
} ManifestWriter;

/* ---------------------------------------------------------------- manifest-values.c */

/* A constant as a JSON value; what JSON cannot say is a string. */
json_t *manifest_constant(Const c, Type t);
/* The text of a bound, "N - 2"; a bound: its text and its terms. */
const char *manifest_affine_text(const ManifestWriter *w, Affine x);
json_t *manifest_affine(const ManifestWriter *w, Affine x);
/* A box: lower and upper bounds, both inclusive. */
json_t *manifest_box(const ManifestWriter *w, const Box *b);
/* A launch-time expression as a list of operations; arguments are places in the list, the last element is the value. */
json_t *manifest_expression(const ManifestWriter *w, const Block *b);

/* The CRC-32 (that of zlib) of `n` bytes without those that stand in `but`, a string. */
uint32_t manifest_checksum(const char *bytes, size_t n, const char *but);

/* ---------------------------------------------------------------- manifest-host.c */

/* The host program: init, the sequences of the time loop and of the loops in it, reductions, probes. */
json_t *manifest_host(const ManifestWriter *w);

/* ---------------------------------------------------------------- manifest-gradient.c */

/* What a launcher must know of a backward program: what it was made of, and which fields must be given to be launched
 * (backward.c). */
typedef struct BackwardFacts {
  AdjointFacts facts;
  int ngiven;
  const char **given;
} BackwardFacts;
/* How the program's gradient is launched by its backward program, whose manifest stands within. NULL after an error. */
json_t *manifest_gradient(const ManifestWriter *w);

#endif
