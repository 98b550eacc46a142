/*
 * binary_talk.h - packets of the binary protocol, written and read for tests.
 *
 * Shape:  a packet without an op of its own (BINARY_END) ends a list. Request i carries opaque
 *         BINARY_OPAQUE + i; a reply names the request it answers.
 */
#ifndef CLOCKOO_BINARY_TALK_H
#define CLOCKOO_BINARY_TALK_H

#include "fake_stack.h"

#define BINARY_OPAQUE 0xa0b0c000u
#define BINARY_END    0xffu
#define BINARY_MAX    16u

/* The cas of a reply: 0 must be 0, SOME any other number. */
#define SOME 1u

/* Opcodes. */
enum binary_op {
	GET = 0x00,
	SET = 0x01,
	ADD = 0x02,
	REPLACE = 0x03,
	DELETE = 0x04,
	INCR = 0x05,
	DECR = 0x06,
	QUIT = 0x07,
	FLUSH = 0x08,
	GETQ = 0x09,
	NOOP = 0x0a,
	VERSION = 0x0b,
	GETK = 0x0c,
	GETKQ = 0x0d,
	APPEND = 0x0e,
	PREPEND = 0x0f,
	STAT = 0x10,
	SETQ = 0x11,
	ADDQ = 0x12,
	REPLACEQ = 0x13,
	DELETEQ = 0x14,
	INCRQ = 0x15,
	DECRQ = 0x16,
	QUITQ = 0x17,
	FLUSHQ = 0x18,
	APPENDQ = 0x19,
	PREPENDQ = 0x1a,
	TOUCH = 0x1c,
	GAT = 0x1d,
	GATQ = 0x1e,
	SASL_LIST = 0x20,
	SASL_AUTH = 0x21,
	GATK = 0x23,
	GATKQ = 0x24,
};

struct packet {
	uint8_t op;
	uint8_t extras_len;
	uint16_t status; /* of a reply; its text is the value, if there is none */
	uint32_t to;     /* reply: number of the request */
	const char *extras;
	const char *key;
	const char *value;
	uint32_t value_len; /* 0: the length of the text */
	uint64_t cas;
};

#define EXTRAS(bytes) .extras = bytes, .extras_len = sizeof(bytes) - 1
/* The value of a reply to arithmetic. */
#define NUMBER(low) .value = "\0\0\0\0\0\0\0" low, .value_len = 8

#define LAST                                                                                       \
	{                                                                                          \
		.op = BINARY_END                                                                   \
	}

/* Writes the requests at `at`; returns how many bytes. */
uint32_t packets_put(uint8_t *at, const struct packet *list);
/* Fails the test unless the bytes are these replies and nothing else. */
void packets_match(struct view bytes, const struct packet *list);

/* Clears the cas of consecutive binary replies: numbers of versions differ from run to run. */
static inline void
binary_clear_cas(uint8_t *reply, uint32_t len)
{
	for (uint32_t at = 0; at + 24 <= len && reply[at] == 0x81;) {
		const uint32_t body = (uint32_t)reply[at + 8] << 24 |
				      (uint32_t)reply[at + 9] << 16 |
				      (uint32_t)reply[at + 10] << 8 | reply[at + 11];

		memset(reply + at + 16, 0, 8);
		at += 24 + body;
	}
}

#endif
