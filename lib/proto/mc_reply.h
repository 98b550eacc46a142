/*
 * mc_reply.h - reply lines of the text protocol.
 *
 * Shape:  fixed lines are views of constant text, line end included; the others are composed at a
 *         pointer into room the caller has.
 * Errors: mc_error.h; meta replies: mc_meta.h; binary responses: mc_binary.h.
 * Thread: pure functions.
 * Bounds: MC_VALUE_HEAD_MAX bytes for the line in front of a value, MC_FIXED_LINE_MAX for any fixed
 *         line, MC_NUMBER_LINE_MAX for a number.
 * Source: memcached doc/protocol.txt; texts as observed on 1.6.45.
 */
#ifndef CLOCKOO_MC_REPLY_H
#define CLOCKOO_MC_REPLY_H

#include "mc_number.h"
#include "mc_req.h"

#define MC_REPLIES(X)                                                                              \
	X(MC_STORED, "STORED")                                                                     \
	X(MC_NOT_STORED, "NOT_STORED")                                                             \
	X(MC_EXISTS, "EXISTS")                                                                     \
	X(MC_NOT_FOUND, "NOT_FOUND")                                                               \
	X(MC_DELETED, "DELETED")                                                                   \
	X(MC_TOUCHED, "TOUCHED")                                                                   \
	X(MC_OK_LINE, "OK")                                                                        \
	X(MC_END, "END")                                                                           \
	X(MC_RESET, "RESET")                                                                       \
	X(MC_EN_LINE, "EN")                                                                        \
	X(MC_MN_LINE, "MN")                                                                        \
	X(MC_CERTS_REFUSED, "Error loading the certificates: the log has the reason")              \
	X(MC_TOO_MANY, "ERROR Too many open connections")

#define MC_REPLY_SYMBOL(symbol, text) symbol,
enum mc_reply { MC_REPLIES(MC_REPLY_SYMBOL) MC_REPLY_COUNT };

extern const struct view mc_reply_line[MC_REPLY_COUNT];

/* True if the line, with or without the rest of the stream, begins as a server's reply, ours or
 * memcached's, in any protocol. No request does. */
bool mc_is_reply(struct view line);

#define MC_NUMBER_LINE_MAX (MC_U64_DIGITS_MAX + 2)
/* "VALUE " key " " flags " " bytes " " cas CR LF */
#define MC_VALUE_HEAD_MAX (6 + MC_KEY_MAX + 1 + 10 + 1 + 10 + 1 + MC_U64_DIGITS_MAX + 2)

static inline uint8_t *
mc_put_line_end(uint8_t *at)
{
	memcpy(at, "\r\n", 2);
	return at + 2;
}

/* Writes the bytes of v, without a line end. */
static inline uint8_t *
mc_put_view(uint8_t *at, struct view v)
{
	memcpy(at, v.data, v.len);
	return at + v.len;
}

/* Writes the line in front of a value. cas NULL: not shown, for get and gat. */
static inline uint8_t *
mc_put_value_head(uint8_t *at, struct view key, uint32_t flags, uint32_t value_len,
		  const uint64_t *cas)
{
	memcpy(at, "VALUE ", 6);
	at = mc_put_view(at + 6, key);
	*at++ = ' ';
	/* The flags are nearly always 0, for which a call would cost more than the digit. */
	if (likely(flags < 10))
		*at++ = (uint8_t)('0' + flags);
	else
		at = mc_put_u64(at, flags);
	*at++ = ' ';
	at = mc_put_u64(at, value_len);
	if (cas != NULL) {
		*at++ = ' ';
		at = mc_put_u64(at, *cas);
	}
	return mc_put_line_end(at);
}

#endif
