/* driver/files/sha256.h: SHA-256, FIPS 180-4, checksums for which no collision is known (sha256.c). */
#ifndef STC_FILES_SHA256_H
#define STC_FILES_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

/* A checksum during its computation, which sha256_begin starts. */
typedef struct Sha256 {
  uint32_t state[8];
  uint64_t length;
  unsigned char rest[64];
} Sha256;

void sha256_begin(Sha256 *s);
void sha256_add(Sha256 *s, const void *bytes, size_t n);
void sha256_end(Sha256 *s, unsigned char out[SHA256_BYTES]);

#endif
