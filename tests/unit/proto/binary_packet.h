/*
 * binary_packet.h - requests of the binary protocol, as a client writes them.
 *
 * They are written by shifts, not by the product's structs, so that a wrong struct cannot make both
 * sides agree.
 */
#ifndef CLOCKOO_BINARY_PACKET_H
#define CLOCKOO_BINARY_PACKET_H

#include <stdint.h>
#include <string.h>

struct packet {
	uint8_t opcode;
	uint32_t extras_len, key_len, value_len;
	const void *extras, *key, *value; /* NULL: bytes of 'x' */
	uint32_t opaque;
	uint64_t cas;
	uint32_t body_len; /* 0: the sum of the parts */
};

#define P(opcode_, extras_, key_, value_, ...)                                                     \
	{                                                                                          \
		.opcode = (opcode_), .extras_len = (extras_), .key_len = (key_),                   \
		.value_len = (value_), __VA_ARGS__                                                 \
	}

static inline void
put_be(uint8_t *at, uint32_t bytes, uint64_t v)
{
	for (uint32_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
}

static inline uint8_t *
put_part(uint8_t *at, const void *bytes, uint32_t len)
{
	if (bytes != NULL)
		memcpy(at, bytes, len);
	else
		memset(at, 'x', len);
	return at + len;
}

/* Returns the byte after the packet. */
static inline uint8_t *
put_packet(uint8_t *at, const struct packet *p)
{
	const uint32_t sum = p->extras_len + p->key_len + p->value_len;

	memset(at, 0, 24);
	at[0] = 0x80;
	at[1] = p->opcode;
	put_be(at + 2, 2, p->key_len);
	at[4] = (uint8_t)p->extras_len;
	put_be(at + 8, 4, p->body_len != 0 ? p->body_len : sum);
	put_be(at + 12, 4, p->opaque);
	put_be(at + 16, 8, p->cas);
	at = put_part(at + 24, p->extras, p->extras_len);
	at = put_part(at, p->key, p->key_len);
	return put_part(at, p->value, p->value_len);
}

#endif
