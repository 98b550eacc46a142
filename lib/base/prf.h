/*
 * prf.h - the one interface to a keyed pseudorandom function: SipHash-2-4 (Aumasson and Bernstein,
 * Indocrypt 2012), from libsodium.
 *
 * For numbers that a peer sees and must not be able to predict: the outputs so far reveal nothing
 * about the next one. A seeded hash (hash.h) is faster and has no such property.
 *
 * Thread: pure functions.
 */
#ifndef CLOCKOO_PRF_H
#define CLOCKOO_PRF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sodium/crypto_shorthash.h>

struct prf_key {
	uint8_t b[crypto_shorthash_KEYBYTES]; /* 16 bytes from the system's random source */
};

static inline uint64_t
prf_bytes(const void *data, size_t len, const struct prf_key *key)
{
	uint8_t out[crypto_shorthash_BYTES];
	uint64_t n;

	crypto_shorthash(out, data, len, key->b);
	memcpy(&n, out, sizeof n);
	return n;
}

#endif
