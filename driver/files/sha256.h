/* driver/files/sha256.h: checksums that no two texts are known to share: SHA-256, FIPS 180-4 (sha256.c). */
#ifndef STC_FILES_SHA256_H
#define STC_FILES_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

/* A checksum being made. Start with sha256_begin. */
typedef struct Sha256 {
  uint32_t state[8];
  uint64_t length;
  unsigned char rest[64];
} Sha256;

void sha256_begin(Sha256 *s);
void sha256_add(Sha256 *s, const void *bytes, size_t n);
void sha256_end(Sha256 *s, unsigned char out[SHA256_BYTES]);

#endif
