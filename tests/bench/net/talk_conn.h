/*
 * talk_conn.h - one connection of a client that pipelines sets and gets and checks every byte.
 *
 * Keys belong to one connection and its requests are answered in order, so it knows what each get
 * must return. A cache may forget: a get may miss. It must not return another value: every wrong
 * byte is counted.
 *
 * Shape:  talk_fill keeps the pipeline full; talk_write and talk_read transfer as much as the
 *         socket allows. A connection that was reset is opened anew, with new keys.
 * Units:  bytes; ns on the caller's clock.
 * Thread: one.
 * Bounds: DEPTH_MAX requests in flight, KEYS_MAX keys, READS_A_VISIT reads a visit.
 */
#ifndef CLOCKOO_TALK_CONN_H
#define CLOCKOO_TALK_CONN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define DEPTH_MAX     64u
#define KEYS_MAX      64u
#define OUT_BYTES     65536u
#define LINE_BYTES    256u
#define READS_A_VISIT 4u

struct talk_plan {
	struct sockaddr_in server;
	uint32_t run;          /* part of every key, so that an earlier run's items do not match */
	uint32_t depth, keys;  /* of each connection */
	uint32_t value_max;    /* lengths are log-uniform, from 1 to this */
	uint32_t value_min;    /* shorter lengths are raised to this */
	uint32_t sets_percent; /* the others are gets */
};

struct talk_counts {
	uint64_t set_bytes, get_bytes; /* value bytes: of answered sets, of gets as they arrive */
	uint64_t sets, gets, misses, refused;
	uint64_t wrong_bytes, wrong_answers;
	uint64_t resets, connects;
};

/* A request in flight. */
struct talk_op {
	bool is_set;
	uint32_t key, version; /* version 0: the key was never set */
	uint32_t len;
};

enum talk_part {
	PART_LINE,  /* reading: an answer's line; writing: a request's */
	PART_VALUE, /* the value's bytes */
	PART_END,   /* the bytes after the value */
};

struct talk_conn {
	int fd;           /* -1: none */
	uint32_t run, id; /* parts of every key */
	bool blocked;     /* the socket accepts no more at present */
	bool hopeless;    /* an answer that no server sends: the connection is ignored */
	uint64_t chance;
	struct talk_counts *counts;

	struct talk_op ops[DEPTH_MAX]; /* a ring: reading <= writing <= asked */
	uint32_t reading, writing, asked;
	struct {
		uint32_t version, len;
	} keys[KEYS_MAX];

	enum talk_part write_part, read_part;
	uint32_t write_at, read_at; /* within the value */
	uint32_t out_at, out_len, line_len;
	char line[LINE_BYTES];
	uint8_t out[OUT_BYTES];

	uint64_t opened_ns, moved_ns; /* moved_ns: when bytes last went either way */
	uint64_t moved_bytes;
	bool connected;
};

/* Begins to connect. False: this machine cannot (errno). */
bool talk_open(struct talk_conn *c, const struct talk_plan *plan, uint64_t now_ns);
void talk_close(struct talk_conn *c);
/* Makes as many requests as the plan allows. */
void talk_fill(struct talk_conn *c, const struct talk_plan *plan);
/* Writes, or reads and compares. False: the connection has ended. */
bool talk_write(struct talk_conn *c);
bool talk_read(struct talk_conn *c);

static inline uint32_t
talk_waiting(const struct talk_conn *c)
{
	return c->asked - c->reading;
}

#endif
