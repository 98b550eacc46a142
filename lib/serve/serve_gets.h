/*
 * serve_gets.h - what the fast paths of plain gets share: whose bytes they may read, how a reply
 * is written, what is counted of a run.
 *
 * Private to serve_fast_path.c and lib/backend.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_GETS_H
#define CLOCKOO_SERVE_GETS_H

#include "serve_lines.h"
#include "serve_record.h"

#include "base/copy.h"
#include "proto/mc_fast_path.h"
#include "store/item_simple.h"

static inline bool
gets_fast_allowed(const struct serve *sv, const struct session *ss)
{
	const struct mc_parser *ps = &ss->parser;

	if (unlikely(ps->protocol != MC_PROTOCOL_TEXT || ps->swallow || sv->under_pressure))
		return false;
	if (ps->in_line && ps->verb != MC_GET)
		return false;
	return likely(!sv->auth) || ss->role != MC_ROLE_NONE;
}

/* Into a line, or out of it. */
static inline bool
parser_move(struct mc_parser *ps, bool out)
{
	*ps = (struct mc_parser){.verb = MC_GET, .in_line = !out, .protocol = MC_PROTOCOL_TEXT};
	return !out;
}

/* What goes around a value is written as words of eight bytes, of which fewer may count: what the
 * last one writes too much is room that was reserved. */
#define WORD_BYTES    8u
#define MISS_BYTES    WORD_BYTES
#define FRAMING_BYTES (6u + 2 * WORD_BYTES) /* "VALUE ", flags and length, the tail */

static inline uint8_t *
end_put(uint8_t *at)
{
	store_u64(at, load_u64("END\r\n\0\0"));
	return at + 5;
}

/* "VALUE key 0 length", the value, and what stands behind it. */
static inline uint8_t *
value_put(const struct serve *sv, uint8_t *at, const struct item *it, struct item_lengths bare,
	  bool last)
{
	const uint32_t len = bare.value_len;

	store_u64(at, load_u64("VALUE \0"));
	bytes_copy(at + 6, it->body, bare.key_len);
	at += 6 + bare.key_len;
	store_u64(at, sv->get_lengths[len]);
	at += sv->get_length_bytes[len];
	bytes_copy(at, it->body + bare.key_len, len);
	at += len;
	store_u64(at, load_u64("\r\nEND\r\n"));
	return at + (last ? 7 : 2);
}

/* Counters of a run, but for its keys. */
struct tally {
	uint32_t lines, misses;
	uint32_t single_misses; /* of lines of one key */
};

static inline void
tally_end(struct serve *sv, const struct tally *t, uint32_t keys, enum serve_counter lines)
{
	counter_add(&sv->counters[CMD_GET], keys);
	counter_add(&sv->counters[GET_HITS], keys - t->misses);
	counter_add(&sv->counters[GET_MISSES], t->misses);
	counter_add(&sv->counters[lines], t->lines);
}

/* Bytes of the reply to one key, with room for what is written too much; 0: not for this path. */
static inline uint32_t
reply_bytes(const struct item *it, struct item_lengths *bare, uint32_t miss_bytes)
{
	if (unlikely(it == NULL))
		return miss_bytes;
	if (unlikely(!item_is_simple(it)))
		return 0;
	*bare = item_simple_lengths(it);
	return likely(bare->value_len < GET_LENGTHS)
		       ? FRAMING_BYTES + bare->key_len + bare->value_len
		       : 0;
}

/* Where replies are written: to one connection after the other, as many a reservation as there is
 * room for. */
struct reply_writer {
	struct session *session;
	uint8_t *begin, *at, *end;
	const struct op *first; /* of this connection */
	struct tally before;    /* in a pass that may be late: of the run, up to first */
	uint32_t reserved;      /* times */
};

#endif
