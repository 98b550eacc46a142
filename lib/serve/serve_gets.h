/*
 * serve_gets.h - what the fast paths of plain gets share: which connections may use them, how a
 * reply is written, and the counts of a run.
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
#include "index/item_simple.h"

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

/* Notes whether the parser is within a retrieval line after this get. Returns true if it is. */
static inline bool
parser_move(struct mc_parser *ps, bool out)
{
	*ps = (struct mc_parser){.verb = MC_GET, .in_line = !out, .protocol = MC_PROTOCOL_TEXT};
	return !out;
}

/* The bytes around a value are written in words of eight bytes, of which not all are valid. The
 * surplus bytes of the last word are within reserved room. */
#define WORD_BYTES    8u
#define MISS_BYTES    WORD_BYTES
#define FRAMING_BYTES (6u + 2 * WORD_BYTES) /* "VALUE ", flags and length, the end */

static inline uint8_t *
end_put(uint8_t *at)
{
	store_u64(at, load_u64("END\r\n\0\0"));
	return at + 5;
}

/* Writes "VALUE key 0 length", the value, and its line end, or END if it is the last one. */
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

/* Counts of a run of gets, except for the number of its keys. */
struct tally {
	uint32_t lines, misses;
	uint32_t single_misses; /* misses of lines that have one key */
};

static inline void
tally_end(struct serve *sv, const struct tally *t, uint32_t keys, enum serve_counter lines)
{
	counter_add(&sv->counters[CMD_GET], keys);
	counter_add(&sv->counters[GET_HITS], keys - t->misses);
	counter_add(&sv->counters[GET_MISSES], t->misses);
	counter_add(&sv->counters[lines], t->lines);
}

/* Returns the room that the reply to one key needs, including surplus bytes. 0: the fast path
 * cannot send it. */
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

/* Writes replies to one connection after the other. A connection may need several reservations. */
struct reply_writer {
	struct session *session;
	uint8_t *begin, *at, *end;
	const struct op *first; /* first operation of the present connection */
	/* The counts before that operation; set only in a pass that may be late. */
	struct tally before;
	uint32_t reserved; /* number of reservations */
};

#endif
