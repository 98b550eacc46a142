/*
 * Streams under shortage. Goal: a client's replies do not depend on how its requests were cut, on
 * when the network took its replies, or on what ran short meanwhile. Method: random conversations
 * in text and meta commands or in binary packets (small and large values, bodies, bad lines,
 * lines longer than the parser's buffer), once in one piece with room for everything, then in
 * random pieces with pieces, chunks and acknowledgements withheld at random; both replies must be
 * equal.
 */
#include "binary_talk.h"
#include "support/test.h"

#include <stdlib.h>

#define CONVERSATIONS 90u
#define STREAM_BYTES  (1u << 20)
#define TURNS_MAX     20000u

static uint64_t rng_state;

static uint32_t
below(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % n;
}

static uint8_t stream[STREAM_BYTES];
static uint32_t stream_len;

static void
add(const char *text)
{
	const uint32_t len = (uint32_t)strlen(text);

	memcpy(stream + stream_len, text, len);
	stream_len += len;
}

static void
add_set(uint32_t key, uint32_t len)
{
	static const char *const verbs[] = {"set", "set", "add", "replace", "append"};
	char line[64];

	snprintf(line, sizeof line, "%s k%u %u 0 %u%s\r\n", verbs[below(5)], key, below(3), len,
		 below(8) == 0 ? " noreply" : "");
	add(line);
	for (uint32_t i = 0; i < len; i++)
		stream[stream_len++] = (uint8_t)('a' + (i * 31 + key + len) % 26);
	add(below(30) == 0 ? "xx" : "\r\n");
}

static void
add_get(uint32_t keys)
{
	char word[16];

	add("get");
	for (uint32_t i = 0; i < keys; i++) {
		snprintf(word, sizeof word, " k%u", below(6));
		add(word);
	}
	add("\r\n");
}

static void
add_value(uint32_t len, uint32_t from)
{
	for (uint32_t i = 0; i < len; i++)
		stream[stream_len++] = (uint8_t)('a' + (i * 31 + from) % 26);
}

/* Adds up to four different flags that any meta command takes. */
static void
add_flags(const char *const *flags, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (below(3) == 0)
			add(flags[i]);
	add("\r\n");
}

#define ADD_FLAGS(list) add_flags(list, sizeof(list) / sizeof((list)[0]))

static void
add_meta(void)
{
	static const char *const get[] = {" v", " v", " k", " Oabc", " q",  " s",
					  " f", " h", " t", " T60",  " N9", " R30"};
	static const char *const set[] = {" k", " O1", " q", " F5", " ME", " T30", " s", " N20"};
	static const char *const change[] = {" k", " O123456789012345678901234", " q", " I", " x"};
	static const char *const sum[] = {" k", " v", " q", " N0", " J7", " MD", " t", " O9"};
	const uint32_t len = below(8) == 0 ? 1024 + below(20000) : below(1500);
	char word[64];

	switch (below(6)) {
	case 0:
	case 1:
		snprintf(word, sizeof word, "ms k%u %u", below(6), len);
		add(word);
		ADD_FLAGS(set);
		add_value(len, len);
		add(below(30) == 0 ? "xx" : "\r\n");
		break;
	case 2:
		snprintf(word, sizeof word, "md k%u", below(6));
		add(word);
		ADD_FLAGS(change);
		break;
	case 3:
		add(below(2) == 0 ? "ma bg== b" : "ma k1");
		ADD_FLAGS(sum);
		break;
	default:
		snprintf(word, sizeof word, "mg k%u", below(6));
		add(word);
		ADD_FLAGS(get);
		break;
	}
}

static void
add_packet(void)
{
	static const uint8_t ops[] = {GET,   GETQ, GETK, GETKQ,   GET,    GETQ,    SET,     SETQ,
				      ADDQ,  SET,  SETQ, REPLACE, APPEND, DELETE,  INCR,    TOUCH,
				      GATKQ, NOOP, 0x1b, GATK,    FLUSHQ, DELETEQ, VERSION, GET};
	static const char zeros[20];
	const uint8_t op = ops[below(sizeof ops)];
	const bool stores = op == SET || op == SETQ || op == ADDQ || op == REPLACE;
	const bool touches = op == TOUCH || op == GATK || op == GATKQ;
	const uint32_t len = below(6) == 0 ? 1024 + below(20000) : below(1500);
	char key[8];
	struct packet list[] = {{.op = op, .extras = zeros, .key = key}, LAST};
	uint32_t at = stream_len, body;

	snprintf(key, sizeof key, "k%u", below(6));
	list[0].extras_len = (uint8_t)(stores ? 8 : touches ? 4 : op == INCR ? 20 : 0);
	if (op == NOOP || op == VERSION || op == FLUSHQ)
		list[0].key = NULL;
	stream_len += packets_put(stream + at, list);
	if (!stores && op != APPEND)
		return;
	body = stream_len - at - 24 + len;
	for (uint32_t i = 0; i < 4; i++)
		stream[at + 8 + i] = (uint8_t)(body >> (24 - 8 * i));
	add_value(len, len);
}

/* Adds a get line longer than the parser's buffer; one key in it may be over-long. */
static void
add_long_get(void)
{
	add("get");
	for (uint32_t i = 0; i < 240; i++) {
		add("  no-such-key");
		if (below(200) != 0)
			continue;
		stream[stream_len++] = ' ';
		memset(stream + stream_len, 'x', 260);
		stream_len += 260;
	}
	add(" k1\r\n");
}

static void
add_request(void)
{
	static const char *const others[] = {
		"version\r\n", "delete k2\r\n",   "touch k3 0\r\n",          "incr n 1\r\n",
		"bogus\r\n",   "get\r\n",         "set k1 x 0 3\r\nabc\r\n", "set k1 0 0 -1\r\n",
		"\r\n",        "gat 0 k1 k2\r\n", "verbosity 1\r\n",
	};

	switch (below(18)) {
	case 12:
	case 13:
	case 14:
	case 15:
	case 16:
	case 17:
		add_meta();
		break;
	case 0:
		add_set(below(6), 1024 + below(30000));
		break;
	case 1:
	case 2:
		add_set(below(6), below(1600));
		break;
	case 3:
		add_long_get();
		break;
	case 4:
	case 5:
		add_get(1 + below(9));
		break;
	case 6:
	case 7:
	case 8:
		add_get(1);
		break;
	default:
		add(others[below(sizeof others / sizeof others[0])]);
		break;
	}
}

/* Returns a new connection to an emptied cache: both runs begin with one. */
static struct conn *
fresh(struct rig *rig)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "flush_all noreply\r\n");
	rig_turn(rig);
	rig_lose(rig, c);
	return rig_open(rig); /* which may speak another protocol */
}

/* Returns the reply without cas numbers, which continue from one run to the next. */
static const uint8_t *
without_cas(const uint8_t *sent, uint32_t len)
{
	static uint8_t reply[16u << 20];

	memcpy(reply, sent, len);
	binary_clear_cas(reply, len);
	return reply;
}

static char *
replies_unconstrained(struct rig *rig, uint32_t *len)
{
	struct conn *c = fresh(rig);
	char *reply;

	rig_receive(rig, c, stream, stream_len);
	for (uint32_t i = 0; i < 2000; i++) {
		rig_turn(rig);
		rig_acked(rig, c);
	}
	check(!rig_aborted(c));
	rig_sent(c, len);
	reply = malloc(*len + 1);
	memcpy(reply, without_cas((const uint8_t *)rig_sent(c, NULL), *len), *len);
	rig_lose(rig, c);
	return reply;
}

static void
replies_under_shortage(struct rig *rig, const char *reply, uint32_t reply_len, bool few_chunks)
{
	struct conn *c = fresh(rig);
	uint32_t arrived = 0, len = 0;

	for (uint32_t i = 0; i < TURNS_MAX && len < reply_len; i++) {
		uint32_t n = below(4) == 0 ? 1 + below(20) : 1 + below(3000);

		for (uint32_t k = below(4); k > 0 && arrived < stream_len; k--) {
			n = n < stream_len - arrived ? n : stream_len - arrived;
			rig_receive(rig, c, stream + arrived, n);
			arrived += n;
		}
		rig_set_pieces(rig, below(3) == 0 ? 0 : below(6));
		/* With plenty of chunks requests are deferred; with few
		 * they are not even parsed. */
		if (few_chunks)
			rig_set_chunks(rig, rig_chunks_used(rig) + 5 + below(20));
		rig_turn(rig);
		check(!rig_aborted(c));
		if (below(3) == 0)
			rig_acked(rig, c);
		rig_sent(c, &len);
	}
	check_eq(len, reply_len);
	rig_acked(rig, c); /* pieces are unchanged */
	check_bytes(without_cas((const uint8_t *)rig_sent(c, NULL), reply_len), reply, reply_len);
	rig_set_pieces(rig, 4096);
	rig_set_chunks(rig, 4096);
	rig_lose(rig, c);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(replies_depend_on_the_bytes_of_the_requests_alone)
{
	struct rig *rig = rig_create();

	for (uint32_t seed = 1; seed <= CONVERSATIONS; seed++) {
		uint32_t len;
		char *reply;

		rng_state = seed;
		stream_len = 0;
		for (uint32_t n = 5 + below(60); n > 0; n--)
			if (seed % 3 == 0)
				add_packet();
			else
				add_request();
		if (seed % 3 != 0)
			add("version\r\n");
		reply = replies_unconstrained(rig, &len);
		check_eq((uint8_t)reply[0] == 0x81, seed % 3 == 0);
		replies_under_shortage(rig, reply, len, seed % 2 == 0);
		free(reply);
	}
	check(rig_count(rig, CONN_DEFERRED) > CONVERSATIONS);
	rig_destroy(rig);
}
