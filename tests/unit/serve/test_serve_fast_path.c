/*
 * Runs of plain gets. Goal: a get on the fast path is answered as on the slow one, byte by byte
 * and count by count, for all lengths of key and value, over TCP and UDP, alone, pipelined and
 * many to a line; and plain requests that come whole are answered as those that come byte by byte.
 * Method: values of every length behind keys of many, replies composed by the C library; the same
 * conversation twice, once with a watcher, which makes every request take the slow path, or once
 * in single bytes.
 */
#include "support/test.h"
#include "fake_stack.h"
#include "proto/mc_udp.h"
#include "store/store.h"

#include <stdlib.h>

#define VALUE_MAX 1200u
#define KEYS      40u

static struct rig *rig;
static char value[VALUE_MAX];

SETUP(start)
{
	rig = rig_create();
	for (uint32_t i = 0; i < sizeof value; i++)
		value[i] = (char)('!' + i % 90);
}

TEARDOWN(stop)
{
	rig_destroy(rig);
}

static void
key_make(char *key, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		key[i] = (char)('a' + (i + len) % 26);
	key[len] = 0;
}

static void
store_it(const char *key, uint32_t len)
{
	const struct view k = {(const uint8_t *)key, (uint32_t)strlen(key)};
	struct fill f;

	check_eq(store_begin(rig->core, &f, k, store_hash(rig->core, k), len, 0, 0), STORE_OK);
	store_fill(rig->core, &f, value, len);
	check_eq(store_finish(rig->core, &f, STORE_SET, 0), STORE_OK);
}

/* Writes a reply, from "VALUE" to the line end behind the value. Returns its length. */
static uint32_t
value_reply(char *to, const char *key, uint32_t len)
{
	const int n = sprintf(to, "VALUE %s 0 %u\r\n", key, len);

	memcpy(to + n, value, len);
	memcpy(to + n + len, "\r\n", 3);
	return (uint32_t)n + len + 2;
}

static void
stream_says(struct conn *c, const char *expect, uint32_t len)
{
	uint32_t sent_len;
	const char *sent = rig_sent(c, &sent_len);

	check_eq(sent_len, len);
	check_bytes(sent, expect, len);
	rig_acked(rig, c);
	rig_forget_sent(c);
}

static void
datagram_says(const char *expect, uint32_t len)
{
	const struct fake_sent *sent;

	check_eq(rig_datagrams_sent(rig, &sent), 1);
	check_eq(sent->len, MC_UDP_FRAME_BYTES + len);
	check_bytes(sent->bytes, "\x12\x34\0\0\0\1\0\0", MC_UDP_FRAME_BYTES);
	check_bytes(sent->bytes + MC_UDP_FRAME_BYTES, expect, len);
	rig_forget_datagrams(rig);
}

TEST(values_of_every_length_are_answered)
{
	static char expect[2 * VALUE_MAX], key[256], line[300];
	struct conn *c = rig_open(rig);

	for (uint32_t len = 0; len < VALUE_MAX; len++) {
		uint32_t n;

		key_make(key, 1 + len % 250);
		store_it(key, len);
		n = value_reply(expect, key, len);
		memcpy(expect + n, "END\r\n", 5);
		sprintf(line, "get %s\r\n", key);
		rig_receive_text(rig, c, line);
		rig_turn(rig);
		stream_says(c, expect, n + 5);
		if (n + 5 > MC_UDP_DATAGRAM_DATA_MAX)
			continue;
		rig_datagram_text(rig, 0x1234, line);
		rig_turn(rig);
		datagram_says(expect, n + 5);
	}
}

TEST(a_miss_is_the_end_alone)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "get nothing\r\nget no no no\r\n");
	rig_turn(rig);
	stream_says(c, "END\r\nEND\r\n", 10);
	rig_datagram_text(rig, 0x1234, "get nothing\r\n");
	rig_turn(rig);
	datagram_says("END\r\n", 5);
	check_eq(rig_count(rig, CMD_GET), 5);
	check_eq(rig_count(rig, GET_MISSES), 5);
	check_eq(rig_count(rig, REQ_TCP), 2);
	check_eq(rig_count(rig, REQ_UDP), 1);
}

/* ---- the same conversation by both paths ---- */

/* Makes lines of gets of some keys: a third of the keys is missing, some values are large, some
 * have flags. Returns their length. */
static uint32_t
lines_make(char *to, uint32_t seed)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < 60; i++) {
		const uint32_t keys = i % 3 == 0 ? 1 + (seed + i) % 5 : 1;

		len += (uint32_t)sprintf(to + len, i % 7 == 6 ? "gets" : "get");
		for (uint32_t k = 0; k < keys; k++)
			len += (uint32_t)sprintf(to + len, " key-%u", (seed * 31 + i * 7 + k) % 60);
		len += (uint32_t)sprintf(to + len, i % 11 == 10 ? " \r\n" : "\r\n");
		if (i % 13 == 12)
			len += (uint32_t)sprintf(to + len, "set key-%u %u 0 3\r\nabc\r\n", i,
						 i % 2);
	}
	return len;
}

struct counts {
	uint64_t of[SERVE_COUNTER_COUNT];
};

/* Sends the lines, a piece a turn; returns the reply, and the counts. ends: where pieces end,
 * ascending; NULL: each has `piece` bytes. */
static char *
talk_cut(const char *lines, uint32_t len, const uint32_t *ends, uint32_t piece, bool watched,
	 struct counts *counts)
{
	struct conn *watcher, *c;
	uint32_t sent_len;
	char *output;

	rig = rig_create();
	watcher = rig_open(rig);
	c = rig_open(rig);
	if (watched)
		rig_receive_text(rig, watcher, "watch fetchers\r\n");
	rig_turns(rig, 3);
	for (uint32_t i = 0; i < KEYS; i++) {
		char key[16];

		sprintf(key, "key-%u", i);
		store_it(key, i * i % 1100);
	}
	for (uint32_t i = 0; i < SERVE_COUNTER_COUNT; i++)
		counts->of[i] = rig_count(rig, i);
	for (uint32_t at = 0, end; at < len; at = end) {
		end = ends != NULL ? *ends++ : len - at < piece ? len : at + piece;
		rig_receive(rig, c, lines + at, end - at);
		rig_turn(rig);
		rig_acked(rig, c);
	}
	for (uint32_t i = 0; i < 100; i++) {
		rig_turn(rig);
		rig_acked(rig, c);
	}
	for (uint32_t i = 0; i < SERVE_COUNTER_COUNT; i++)
		counts->of[i] = rig_count(rig, i) - counts->of[i];
	output = strdup(rig_sent(c, &sent_len));
	rig_destroy(rig);
	return output;
}

static char *
talk(const char *lines, uint32_t len, uint32_t piece, bool watched, struct counts *counts)
{
	return talk_cut(lines, len, NULL, piece, watched, counts);
}

TEST(both_paths_reply_and_count_the_same, no_setup)
{
	static const enum serve_counter which[] = {CMD_GET,    CMD_SET, GET_HITS,
						   GET_MISSES, REQ_TCP, REQ_BAD};
	static char lines[1u << 16];

	for (uint32_t seed = 0; seed < 24; seed++) {
		const uint32_t len = lines_make(lines, seed);
		const uint32_t piece = seed % 4 == 0 ? len : 1 + seed * 37;
		struct counts fast, slow;
		char *a = talk(lines, len, piece, false, &fast);
		char *b = talk(lines, len, piece, true, &slow);

		check_str(a, b);
		for (uint32_t i = 0; i < sizeof which / sizeof which[0]; i++)
			check_eq(fast.of[which[i]], slow.of[which[i]]);
		check(fast.of[GET_HITS] > 20 && fast.of[GET_MISSES] > 20);
		check_eq(fast.of[EVENTS_LOGGED], 0);
		check(slow.of[EVENTS_LOGGED] > 0);
		free(a);
		free(b);
	}
}

/* ---- requests that come whole ---- */

#define REQUESTS 60u

/* Writes plain requests, and some that only begin like one. end: where each ends. */
static uint32_t
requests_make(char *to, uint32_t seed, uint32_t *end)
{
	static const char *const odd[] = {
		"set key-1 0 0 3\r\nabcd\r\n",
		"set key-2 0 0 3 noreply\r\nabc\r\n",
		"set\r\n",
		"get key-1 key-2\r\n",
		"set key-3 7 0 2\r\nab\r\n",
		"get \r\n",
		"get key-3 \r\n",
		"delete key-3\r\n",
	};
	uint32_t len = 0;

	for (uint32_t i = 0; i < REQUESTS; i++) {
		const uint32_t n = (seed * 17 + i * 5) % KEYS;

		if ((seed + i) % 4 == 3)
			len += (uint32_t)sprintf(to + len, "%s", odd[(seed + i / 4) % 8]);
		else if ((seed * 7 + i) % 3 == 0)
			len += (uint32_t)sprintf(to + len, "set key-%u 0 0 %u\r\n%.*s\r\n", n,
						 n * n % 1100, (int)(n * n % 1100), value);
		else
			len += (uint32_t)sprintf(to + len, "get key-%u\r\n", n);
		end[i] = len;
	}
	return len;
}

/* Joins requests to pieces of one to three, which end inside a request now and then. */
static void
pieces_make(uint32_t *piece, const uint32_t *end, uint32_t seed)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < REQUESTS; i++) {
		if ((seed + i) % 9 == 8 && i + 1 < REQUESTS)
			piece[count++] = end[i] + (end[i + 1] - end[i]) * (1 + i % 3) / 4;
		else if ((seed * i) % 5 < 3 || i + 1 == REQUESTS)
			piece[count++] = end[i];
	}
}

TEST(whole_requests_are_answered_as_single_bytes_are, no_setup)
{
	static char lines[1u << 16];
	uint32_t end[REQUESTS], piece[REQUESTS];

	for (uint32_t seed = 0; seed < 24; seed++) {
		const uint32_t len = requests_make(lines, seed, end);
		struct counts whole, bytes;
		char *a, *b;

		pieces_make(piece, end, seed);
		a = talk_cut(lines, len, piece, 0, false, &whole);
		b = talk(lines, len, 1, false, &bytes);
		check_str(a, b);
		for (uint32_t i = CMD_GET; i <= GET_MISSES; i++)
			check_eq(whole.of[i], bytes.of[i]);
		check_eq(whole.of[CMD_SET], bytes.of[CMD_SET]);
		check_eq(whole.of[REQ_TCP], bytes.of[REQ_TCP]);
		check_eq(whole.of[REQ_BAD], bytes.of[REQ_BAD]);
		free(a);
		free(b);
	}
}

/* Returns a connection that has asked in text: on a fresh one the protocol is not known, and no
 * request is plain. */
static struct conn *
text_open(void)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "get k\r\n");
	rig_turn(rig);
	stream_says(c, "END\r\n", 5);
	return c;
}

TEST(stream_that_ends_behind_a_plain_request_is_answered_and_closed)
{
	static const char *const requests[] = {"get k\r\n", "set k 0 0 1\r\nx\r\n"};
	static const char *const replies[] = {"END\r\n", "STORED\r\n"};

	for (uint32_t i = 0; i < 2; i++) {
		struct conn *c = text_open();

		rig_receive_text(rig, c, requests[i]);
		rig_eof(rig, c);
		rig_turn(rig);
		stream_says(c, replies[i], (uint32_t)strlen(replies[i]));
		check(rig_closed(c));
	}
}

/* The connection has no other request in the pass, and a datagram is behind it. */
TEST(datagram_behind_a_get_that_is_alone_is_answered)
{
	struct conn *c = rig_open(rig);

	for (uint32_t i = 0; i < 2; i++) {
		rig_receive_text(rig, c, "get nothing\r\n");
		rig_datagram_text(rig, 0x1234, "get nothing\r\n");
		rig_turn(rig);
		stream_says(c, "END\r\n", 5);
		datagram_says("END\r\n", 5);
	}
	check_eq(rig_count(rig, REQ_TCP), 2);
	check_eq(rig_count(rig, REQ_UDP), 2);
}

/* The queue is full, not the pool: while chunks are short no request is plain. */
TEST(plain_request_waits_for_room)
{
	static const char *const requests[] = {"get k\r\n", "set k 0 0 1\r\nx\r\n"};
	static const char *const replies[] = {"END\r\n", "STORED\r\n"};

	for (uint32_t i = 0; i < 2; i++) {
		struct conn *c = text_open();
		const uint64_t served = rig_count(rig, REQ_TCP);

		rig_set_queued(c, CONN_SENDQ_BYTES + 1);
		rig_receive_text(rig, c, requests[i]);
		rig_turn(rig);
		check_eq(rig_count(rig, REQ_TCP), served);
		check_eq(rig_count(rig, CMD_SET), 0);
		rig_acked(rig, c);
		rig_turn(rig);
		stream_says(c, replies[i], (uint32_t)strlen(replies[i]));
		check_eq(rig_count(rig, REQ_TCP), served + 1);
	}
}
