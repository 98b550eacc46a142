/*
 * bytes.h - views of bytes, and numbers in the byte order of the network.
 *
 * A big-endian field is a struct type, so a forgotten swap does not compile.
 * Loads and stores work at any alignment.
 *
 * Shape:  struct view is len readable bytes at data; it owns nothing.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_BYTES_H
#define CLOCKOO_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct view {
	const uint8_t *data;
	uint32_t len;
};

struct be16 {
	uint8_t b[2];
};

struct be32 {
	uint8_t b[4];
};

struct be64 {
	uint8_t b[8];
};

static inline uint16_t
load_u16(const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint32_t
load_u32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t
load_u64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline void
store_u16(void *p, uint16_t v)
{
	memcpy(p, &v, sizeof v);
}

static inline void
store_u32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof v);
}

static inline void
store_u64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof v);
}

static inline uint16_t
be16_get(struct be16 f)
{
	return __builtin_bswap16(load_u16(f.b));
}

static inline uint32_t
be32_get(struct be32 f)
{
	return __builtin_bswap32(load_u32(f.b));
}

static inline uint64_t
be64_get(struct be64 f)
{
	return __builtin_bswap64(load_u64(f.b));
}

static inline struct be16
be16_of(uint16_t v)
{
	struct be16 f;
	v = __builtin_bswap16(v);
	memcpy(f.b, &v, sizeof v);
	return f;
}

static inline struct be32
be32_of(uint32_t v)
{
	struct be32 f;
	v = __builtin_bswap32(v);
	memcpy(f.b, &v, sizeof v);
	return f;
}

static inline struct be64
be64_of(uint64_t v)
{
	struct be64 f;
	v = __builtin_bswap64(v);
	memcpy(f.b, &v, sizeof v);
	return f;
}

/* Returns a text without its zero byte. */
static inline struct view
text_view(const char *text)
{
	return (struct view){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static inline bool
view_equal(struct view a, struct view b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

#endif
