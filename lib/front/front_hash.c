/*
 * front_hash.c - the hash functions: libhashkit's, and replacements where its own do not serve.
 * Debian's libhashkit lacks three of nutcracker's. Others depend on the CPU: they read bytes as
 * `char`, which is signed on x86 and unsigned on arm64. Here bytes are signed on both, so that both
 * send a key to the same server. The most common hash is inline, since a call would cost more than
 * the hash.
 */
#include "front_hash.h"

#include "base/check.h"

#include <isa-l/crc.h>
#include <libhashkit-1.0/hashkit.h>

#define CRC16_POLYNOMIAL 0x1021u

#define FNV_64_BASIS ((uint32_t)0xcbf29ce484222325) /* the upper half never affects the result */
#define FNV_64_PRIME ((uint32_t)0x100000001b3)
#define FNV_32_BASIS 0x811c9dc5u
#define FNV_32_PRIME 0x01000193u

static inline uint32_t
signed_byte(char byte)
{
	return (uint32_t)(int32_t)(int8_t)byte;
}

static inline uint32_t
fnv1a_step(uint32_t h, char byte)
{
	return (h ^ signed_byte(byte)) * FNV_64_PRIME;
}

/* Computes FNV-1a in 32 bits, with the constants of the 64-bit version cut to 32 bits. */
static inline uint32_t
fnv1a_64(const char *key, size_t len)
{
	uint32_t h = FNV_64_BASIS;

	for (; len >= 4; key += 4, len -= 4) {
		h = fnv1a_step(h, key[0]);
		h = fnv1a_step(h, key[1]);
		h = fnv1a_step(h, key[2]);
		h = fnv1a_step(h, key[3]);
	}
	for (size_t i = 0; i < len; i++)
		h = fnv1a_step(h, key[i]);
	return h;
}

static uint32_t
fnv1_64(const char *key, size_t len)
{
	uint32_t h = FNV_64_BASIS;

	for (size_t i = 0; i < len; i++)
		h = h * FNV_64_PRIME ^ signed_byte(key[i]);
	return h;
}

static uint32_t
fnv1_32(const char *key, size_t len)
{
	uint32_t h = FNV_32_BASIS;

	for (size_t i = 0; i < len; i++)
		h = h * FNV_32_PRIME ^ signed_byte(key[i]);
	return h;
}

static uint32_t
fnv1a_32(const char *key, size_t len)
{
	uint32_t h = FNV_32_BASIS;

	for (size_t i = 0; i < len; i++)
		h = (h ^ signed_byte(key[i])) * FNV_32_PRIME;
	return h;
}

/* Computes Jenkins' one-at-a-time hash. */
static uint32_t
one_at_a_time(const char *key, size_t len)
{
	uint32_t h = 0;

	for (size_t i = 0; i < len; i++) {
		h += signed_byte(key[i]);
		h += h << 10;
		h ^= h >> 6;
	}
	h += h << 3;
	h ^= h >> 11;
	return h + (h << 15);
}

/* Computes CRC-16/XMODEM bit by bit, in a register that is not cut to 16 bits, as nutcracker
 * does. */
static uint32_t
crc16(const char *key, size_t len)
{
	uint32_t crc = 0;

	for (size_t i = 0; i < len; i++) {
		uint32_t top = (crc >> 8 ^ (uint8_t)key[i]) << 8 & 0xff00;

		for (int bit = 0; bit < 8; bit++)
			top = (top << 1 ^ (top & 0x8000 ? CRC16_POLYNOMIAL : 0)) & 0xffff;
		crc = crc << 8 ^ top;
	}
	return crc;
}

/* Computes zlib's CRC-32 of the key. */
static uint32_t
crc32a(const char *key, size_t len)
{
	return crc32_gzip_refl(0, (const unsigned char *)key, len);
}

/* Computes Hsieh's SuperFastHash. Of a rest of three bytes the third is signed; a rest of one byte
 * is unsigned. */
static uint32_t
hsieh(const char *key, size_t len)
{
	uint32_t h = 0;

	for (; len >= 4; key += 4, len -= 4) {
		h += load_u16(key);
		h = h << 16 ^ ((uint32_t)load_u16(key + 2) << 11 ^ h);
		h += h >> 11;
	}
	switch (len) {
	case 3:
		h += load_u16(key);
		h ^= h << 16;
		h ^= signed_byte(key[2]) << 18;
		h += h >> 11;
		break;
	case 2:
		h += load_u16(key);
		h ^= h << 11;
		h += h >> 17;
		break;
	case 1:
		h += (uint8_t)key[0];
		h ^= h << 10;
		h += h >> 1;
		break;
	default:
		break;
	}
	h ^= h << 3;
	h += h >> 5;
	h ^= h << 4;
	h += h >> 17;
	h ^= h << 25;
	return h + (h >> 6);
}

static const struct {
	const char *name;
	uint32_t (*of)(const char *key, size_t len);
} hashes[FRONT_HASHES_COUNT] = {
#define X(symbol, name, function) {name, function},
	FRONT_HASHES(X)
#undef X
};

uint32_t
front_hash(enum front_hash hash, struct view key)
{
	if (likely(hash == FRONT_HASH_FNV1A_64))
		return fnv1a_64((const char *)key.data, key.len);
	return hashes[hash].of((const char *)key.data, key.len);
}

const char *
front_hash_name(enum front_hash hash)
{
	return hashes[hash].name;
}

bool
front_hash_by_name(const char *name, enum front_hash *hash)
{
	for (int i = 0; i < FRONT_HASHES_COUNT; i++) {
		if (strcmp(name, hashes[i].name) == 0) {
			*hash = (enum front_hash)i;
			return true;
		}
	}
	return false;
}

void
front_hash_points(struct view name, uint32_t points[4])
{
	uint8_t digest[16];

	libhashkit_md5_signature(name.data, name.len, digest);
	for (int i = 0; i < 4; i++)
		points[i] = load_u32(digest + 4 * i);
}
