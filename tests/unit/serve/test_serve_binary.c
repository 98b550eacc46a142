/*
 * The binary protocol. Goal: every opcode is answered as memcached 1.6.45 answers it, loud and
 * quiet, wherever the stream is cut; a connection that begins with its magic speaks it to the
 * end, a datagram by itself. Method: packets as tables; replies were observed on a 1.6.45.
 */
#include "binary_talk.h"
#include "one_rig.h"
#include "conversation.h"
#include "support/test.h"
#include "proto/mc_udp.h"

struct talk {
	struct packet in[BINARY_MAX];
	struct packet out[BINARY_MAX];
	bool closed;  /* at the end */
	bool flushes; /* a flush may wait for a free generation */
};

static void
talk_holds(const struct talk *talk)
{
	static uint8_t in[8192];
	const uint32_t len = packets_put(in, talk->in);

	for (uint32_t cut = 0; cut <= len; cut++) {
		struct conn *c;
		struct view sent;

		empty_cache(rig);
		c = rig_open(rig);
		rig_receive(rig, c, in, cut);
		rig_turns(rig, 2);
		if (!rig_closed(c))
			rig_receive(rig, c, in + cut, len - cut);
		rig_turns(rig, talk->flushes ? FLUSH_TURNS : 3);
		sent.data = (const uint8_t *)rig_sent(c, &sent.len);
		packets_match(sent, talk->out);
		check_eq(rig_closed(c), talk->closed);
		rig_lose(rig, c);
		check_eq(rig_chunks_used(rig), 0);
	}
}

#define TALKS_HOLD(talks)                                                                          \
	for (size_t i = 0; i < sizeof(talks) / sizeof((talks)[0]); i++)                            \
	talk_holds(&(talks)[i])

#define ZERO8 EXTRAS("\0\0\0\0\0\0\0\0")
#define FLAGS EXTRAS("\0\0\0\7\0\0\0\0")
#define SEVEN EXTRAS("\0\0\0\7")
#define TEN_S EXTRAS("\0\0\0\12")
#define NONE  EXTRAS("\0\0\0\0")

TEST(a_get_shows_flags_and_value_and_a_quiet_one_hides_its_miss)
{
	const struct talk talks[] = {
		{.in = {{GET, .key = "a"},
			{GETQ, .key = "a"},
			{GETK, .key = "a"},
			{GETKQ, .key = "a"},
			{.op = NOOP},
			LAST},
		 .out = {{GET, .status = 1, .to = 0},
			 {GETK, .status = 1, .to = 2, .key = "a", .value = ""},
			 {NOOP, .to = 4},
			 LAST}},
		{.in = {{SET, FLAGS, .key = "a", .value = "hello"},
			{GET, .key = "a"},
			{GETQ, .key = "a"},
			{GETK, .key = "a"},
			{GETKQ, .key = "a"},
			{GETQ, .key = "b"},
			{.op = NOOP},
			LAST},
		 .out = {{SET, .cas = SOME},
			 {GET, SEVEN, .to = 1, .value = "hello", .cas = SOME},
			 {GETQ, SEVEN, .to = 2, .value = "hello", .cas = SOME},
			 {GETK, SEVEN, .to = 3, .key = "a", .value = "hello", .cas = SOME},
			 {GETKQ, SEVEN, .to = 4, .key = "a", .value = "hello", .cas = SOME},
			 {NOOP, .to = 6},
			 LAST}},
		{.in = {{SET, ZERO8, .key = "a"}, {GET, .key = "a"}, LAST},
		 .out = {{SET, .cas = SOME}, {GET, NONE, .to = 1, .cas = SOME}, LAST}},
	};

	TALKS_HOLD(talks);
}

TEST(a_set_that_is_quiet_says_only_what_went_wrong)
{
	const struct talk talks[] = {
		{.in = {{SETQ, ZERO8, .key = "a", .value = "x"},
			{ADDQ, ZERO8, .key = "a", .value = "y"},
			{REPLACEQ, ZERO8, .key = "b", .value = "y"},
			{REPLACEQ, ZERO8, .key = "a", .value = "z"},
			{ADDQ, ZERO8, .key = "b", .value = "y"},
			{.op = NOOP},
			LAST},
		 .out = {{ADDQ, .status = 2, .to = 1},
			 {REPLACEQ, .status = 1, .to = 2},
			 {NOOP, .to = 5},
			 LAST}},
		{.in = {{SET, ZERO8, .key = "a", .value = "x"},
			{ADD, ZERO8, .key = "a", .value = "y"},
			{REPLACE, ZERO8, .key = "b", .value = "y"},
			{REPLACE, ZERO8, .key = "a", .value = "zz"},
			{ADD, ZERO8, .key = "b", .value = "y"},
			{GET, .key = "a"},
			LAST},
		 .out = {{SET, .cas = SOME},
			 {ADD, .status = 2, .to = 1},
			 {REPLACE, .status = 1, .to = 2},
			 {REPLACE, .to = 3, .cas = SOME},
			 {ADD, .to = 4, .cas = SOME},
			 {GET, NONE, .to = 5, .value = "zz", .cas = SOME},
			 LAST}},
		/* With a cas, each of these commands compares it. */
		{.in = {{SET, ZERO8, .key = "a", .value = "x", .cas = ~0ull},
			{ADD, ZERO8, .key = "a", .value = "x", .cas = ~0ull},
			{SET, ZERO8, .key = "a", .value = "x"},
			{SET, ZERO8, .key = "a", .value = "y", .cas = ~0ull},
			{REPLACE, ZERO8, .key = "a", .value = "y", .cas = ~0ull},
			{ADD, ZERO8, .key = "a", .value = "y", .cas = ~0ull},
			LAST},
		 .out = {{SET, .status = 1},
			 {ADD, .status = 1, .to = 1},
			 {SET, .to = 2, .cas = SOME},
			 {SET, .status = 2, .to = 3},
			 {REPLACE, .status = 2, .to = 4},
			 {ADD, .status = 2, .to = 5},
			 LAST}},
		{.in = {{APPEND, .key = "a", .value = "x"},
			{APPENDQ, .key = "a", .value = "x"},
			{SET, FLAGS, .key = "a", .value = "m"},
			{APPEND, .key = "a", .value = ">"},
			{PREPEND, .key = "a", .value = "<"},
			{APPENDQ, .key = "a", .value = ")"},
			{PREPENDQ, .key = "a", .value = "("},
			{APPEND, .key = "a", .value = "x", .cas = ~0ull},
			{GET, .key = "a"},
			LAST},
		 .out = {{APPEND, .status = 5},
			 {APPENDQ, .status = 5, .to = 1},
			 {SET, .to = 2, .cas = SOME},
			 {APPEND, .to = 3, .cas = SOME},
			 {PREPEND, .to = 4, .cas = SOME},
			 {APPEND, .status = 2, .to = 7},
			 {GET, SEVEN, .to = 8, .value = "(<m>)", .cas = SOME},
			 LAST}},
	};

	TALKS_HOLD(talks);
}

TEST(a_delete_says_so_and_compares)
{
	const struct talk talks[] = {
		{.in = {{DELETE, .key = "a"},
			{DELETEQ, .key = "a"},
			{SET, ZERO8, .key = "a", .value = "x"},
			{DELETE, .key = "a", .cas = ~0ull},
			{DELETE, .key = "a"},
			{SET, ZERO8, .key = "a", .value = "x"},
			{DELETEQ, .key = "a"},
			{GET, .key = "a"},
			LAST},
		 .out = {{DELETE, .status = 1},
			 {DELETEQ, .status = 1, .to = 1},
			 {SET, .to = 2, .cas = SOME},
			 {DELETE, .status = 2, .to = 3},
			 {DELETE, .to = 4},
			 {SET, .to = 5, .cas = SOME},
			 {GET, .status = 1, .to = 7},
			 LAST}},
	};

	TALKS_HOLD(talks);
}

#define SUM(delta, initial, expiry) EXTRAS("\0\0\0\0\0\0\0" delta "\0\0\0\0\0\0\0" initial expiry)

TEST(arithmetic_creates_a_missing_item_unless_forbidden)
{
	const struct talk talks[] = {
		{.in = {{INCR, SUM("\1", "\12", "\377\377\377\377"), .key = "n"},
			{INCRQ, SUM("\1", "\12", "\377\377\377\377"), .key = "n"},
			{DECR, SUM("\1", "\12", "\377\377\377\377"), .key = "n"},
			{INCR, SUM("\1", "\12", "\0\0\0\0"), .key = "n"},
			{INCRQ, SUM("\5", "\12", "\0\0\0\0"), .key = "n"},
			{GET, .key = "n"},
			{DECRQ, SUM("\144", "\12", "\0\0\0\0"), .key = "n"},
			{GET, .key = "n"},
			{INCR, SUM("\1", "\12", "\0\0\0\0"), .key = "n", .cas = ~0ull},
			{SET, ZERO8, .key = "n", .value = "x"},
			{DECRQ, SUM("\1", "\12", "\0\0\0\0"), .key = "n"},
			LAST},
		 .out = {{INCR, .status = 1},
			 {INCRQ, .status = 1, .to = 1},
			 {DECR, .status = 1, .to = 2},
			 {INCR, NUMBER("\12"), .to = 3, .cas = SOME},
			 {GET, NONE, .to = 5, .value = "15", .cas = SOME},
			 {GET, NONE, .to = 7, .value = "0 ", .cas = SOME},
			 {INCR, .status = 2, .to = 8},
			 {SET, .to = 9, .cas = SOME},
			 {DECRQ, .status = 6, .to = 10},
			 LAST}},
		{.in = {{INCRQ, SUM("\1", "\5", "\0\0\0\0"), .key = "n"},
			{INCR, SUM("\2", "\5", "\0\0\0\0"), .key = "n"},
			{DECR, SUM("\1", "\5", "\0\0\0\0"), .key = "n"},
			{DECR, SUM("\144", "\5", "\0\0\0\0"), .key = "n"},
			LAST},
		 .out = {{INCR, NUMBER("\7"), .to = 1, .cas = SOME},
			 {DECR, NUMBER("\6"), .to = 2, .cas = SOME},
			 {DECR, NUMBER("\0"), .to = 3, .cas = SOME},
			 LAST}},
	};

	TALKS_HOLD(talks);
}

TEST(a_touch_shows_flags_and_a_get_and_touch_the_value)
{
	const struct talk talks[] = {
		{.in = {{TOUCH, TEN_S, .key = "a"},
			{GAT, TEN_S, .key = "a"},
			{GATQ, TEN_S, .key = "a"},
			{GATK, TEN_S, .key = "a"},
			{GATKQ, TEN_S, .key = "a"},
			{SET, FLAGS, .key = "a", .value = "x"},
			{TOUCH, TEN_S, .key = "a"},
			{GAT, TEN_S, .key = "a"},
			{GATQ, TEN_S, .key = "a"},
			{GATK, TEN_S, .key = "a"},
			{GATKQ, TEN_S, .key = "a"},
			LAST},
		 .out = {{TOUCH, .status = 1},
			 {GAT, .status = 1, .to = 1},
			 {GATK, .status = 1, .to = 3, .key = "a", .value = ""},
			 {SET, .to = 5, .cas = SOME},
			 {TOUCH, SEVEN, .to = 6, .cas = SOME},
			 {GAT, SEVEN, .to = 7, .value = "x", .cas = SOME},
			 {GATQ, SEVEN, .to = 8, .value = "x", .cas = SOME},
			 {GATK, SEVEN, .to = 9, .key = "a", .value = "x", .cas = SOME},
			 {GATKQ, SEVEN, .to = 10, .key = "a", .value = "x", .cas = SOME},
			 LAST}},
	};

	TALKS_HOLD(talks);
}

TEST(other_opcodes_are_answered_and_quit_closes)
{
	const struct talk talks[] = {
		{.in = {{.op = NOOP}, {.op = VERSION}, {.op = QUIT}, {.op = NOOP}, LAST},
		 .out = {{.op = NOOP}, {VERSION, .to = 1, .value = "9.8.7"}, {QUIT, .to = 2}, LAST},
		 .closed = true},
		{.in = {{.op = NOOP}, {.op = QUITQ}, {.op = NOOP}, LAST},
		 .out = {{.op = NOOP}, LAST},
		 .closed = true},
		{.in = {{SET, ZERO8, .key = "a", .value = "x"},
			{.op = FLUSHQ},
			{GET, .key = "a"},
			{.op = FLUSH},
			{FLUSH, NONE},
			{FLUSHQ, TEN_S},
			{.op = NOOP},
			LAST},
		 .out = {{SET, .cas = SOME},
			 {GET, .status = 1, .to = 2},
			 {FLUSH, .to = 3},
			 {FLUSH, .to = 4},
			 {NOOP, .to = 6},
			 LAST},
		 .flushes = true},
		/* Unknown opcodes are swallowed to their end. */
		{.in = {{0x1b, .key = "abc"},
			{0x30, EXTRAS("1234"), .key = "abc", .value = "some more"},
			{.op = SASL_LIST},
			{SASL_AUTH, .key = "PLAIN", .value = "a"},
			{.op = NOOP},
			LAST},
		 .out = {{0x1b, .status = 0x81},
			 {0x30, .status = 0x81, .to = 1},
			 {SASL_LIST, .status = 0x81, .to = 2},
			 {SASL_AUTH, .status = 0x81, .to = 3},
			 {NOOP, .to = 4},
			 LAST}},
	};

	TALKS_HOLD(talks);
}

TEST(a_packet_of_wrong_lengths_gets_an_error_and_is_the_last)
{
	const struct packet wrong[] = {
		{.op = GET},
		{GET, EXTRAS("1234"), .key = "a"},
		{GETQ, .key = "a", .value = "v"},
		{SET, .key = "a", .value = "v"},
		{SET, ZERO8, .value = "v"},
		{DELETE, .key = "a", .value = "v"},
		{INCR, ZERO8, .key = "a"},
		{APPEND, ZERO8, .key = "a", .value = "v"},
		{TOUCH, TEN_S},
		{TOUCH, .key = "a"},
		{NOOP, .key = "a"},
		{VERSION, .value = "a"},
		{QUIT, EXTRAS("1")},
		{FLUSH, EXTRAS("1")},
		{STAT, EXTRAS("1")},
	};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		const struct talk talk = {
			.in = {{.op = NOOP}, wrong[i], {.op = NOOP}, LAST},
			.out = {{.op = NOOP}, {wrong[i].op, .status = 4, .to = 1}, LAST},
			.closed = true,
		};

		talk_holds(&talk);
	}
}

/* Lengths in the header that contradict each other. */
TEST(a_contradictory_header_gets_an_error_and_is_the_last)
{
	const struct {
		uint8_t bytes[12];
		uint16_t status;
		bool silent;
	} rows[] = {
		{{0x80, GET, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1}, 0x81, false},
		{{0x80, SET, 0, 5, 8, 0, 0, 0, 0, 0, 0, 10}, 0x81, false},
		{{0x80, SET, 0, 1, 8, 0, 0, 0, 0x40, 0, 0, 1}, 0x04, false},
		{{0x80, GET, 0, 251, 0, 0, 0, 0, 0, 0, 0, 251}, 0x04, false},
		{{0x81, NOOP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, true},
		{{'g', 'e', 't', ' ', 'a', '\r', '\n', 0, 0, 0, 0, 0}, 0, true},
	};
	const struct packet noop[] = {{.op = NOOP}, LAST};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct packet out[] = {
			{.op = NOOP}, {rows[i].bytes[1], .status = rows[i].status, .to = 1}, LAST};
		uint8_t in[512] = {0};
		const uint32_t first = packets_put(in, noop);
		struct conn *c = rig_open(rig);
		struct view sent;

		memcpy(in + first, rows[i].bytes, sizeof rows[i].bytes);
		memcpy(in + first + 12, "\xa0\xb0\xc0\x01", 4);
		rig_receive(rig, c, in, sizeof in);
		rig_turns(rig, 3);
		sent.data = (const uint8_t *)rig_sent(c, &sent.len);
		packets_match(sent, rows[i].silent ? noop : out);
		check(rig_closed(c));
		rig_lose(rig, c);
		check_eq(rig_chunks_used(rig), 0);
	}
}
