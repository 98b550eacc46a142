/*
 * Meta and binary commands in parts. Goal: a large value is received and sent under a meta or
 * binary head as under a VALUE line, waits for room if there is none, and the requests behind it
 * wait in order; a datagram in either protocol is answered like a connection, in its frame or in
 * parts. Method: a stack whose pieces, chunks and acknowledgements the test controls.
 */
#include "binary_talk.h"
#include "support/test.h"
#include "proto/mc_udp.h"

#define BIG_MAX 1000000u

static struct rig *rig;
static uint8_t value[BIG_MAX];

SETUP(start)
{
	rig = rig_create();
	for (uint32_t i = 0; i < sizeof value; i++)
		value[i] = (uint8_t)(i * 2654435761u >> 24);
}

TEARDOWN(stop)
{
	rig_destroy(rig);
}

/* Receives the value in segments, some of them a turn apart. */
static void
receive_value(struct conn *c, uint32_t len)
{
	const uint32_t mss = 1460;

	for (uint32_t at = 0; at < len; at += mss) {
		rig_receive(rig, c, value + at, len - at < mss ? len - at : mss);
		if (at / mss % 7 == 0)
			rig_turn(rig);
	}
}

static void
forget(struct conn *c)
{
	rig_acked(rig, c);
	rig_forget_sent(c);
}

/* Checks that the bytes sent from `at` on are this head, the value, and this tail; returns where
 * the next reply begins. */
static uint32_t
stands_at(struct conn *c, uint32_t at, struct view head, uint32_t len, const char *tail)
{
	uint32_t sent_len;
	const char *sent = rig_sent(c, &sent_len) + at;
	const uint32_t tail_len = (uint32_t)strlen(tail);

	check(sent_len >= at + head.len + len + tail_len);
	check_bytes(sent, head.data, head.len);
	check_bytes(sent + head.len, value, len);
	check_bytes(sent + head.len + len, tail, tail_len);
	return at + head.len + len + tail_len;
}

static void
meta_set(struct conn *c, const char *key, uint32_t len)
{
	char line[128];

	snprintf(line, sizeof line, "ms %s %u O77 k s c E5\r\n", key, len);
	rig_receive_text(rig, c, line);
	receive_value(c, len);
	rig_receive_text(rig, c, "\r");
	rig_turns(rig, 1);
	rig_receive_text(rig, c, "\n");
	rig_turns(rig, 2);
	snprintf(line, sizeof line, "HD O77 k%s s%u c5\r\n", key, len);
	check_str(rig_sent(c, NULL), line);
	forget(c);
}

static const uint32_t sizes[] = {0, 1, 1023, 1024, 1025, 1460, 4096, 65536, 500000, BIG_MAX};
#define SIZES (sizeof sizes / sizeof sizes[0])

TEST(a_meta_value_of_any_size_comes_back)
{
	for (size_t i = 0; i < SIZES; i++) {
		struct conn *c = rig_open(rig);
		char head[128];
		uint32_t len;

		meta_set(c, "big", sizes[i]);
		rig_receive_text(rig, c, "mg big k v O1 s\r\nmn\r\n");
		rig_turns(rig, 2);
		snprintf(head, sizeof head, "VA %u kbig O1 s%u\r\n", sizes[i], sizes[i]);
		check_eq(stands_at(c, 0, text_view(head), sizes[i], "\r\nMN\r\n"),
			 (rig_sent(c, &len), len));
		rig_acked(rig, c);
		rig_lose(rig, c);
		check_eq(rig_chunks_used(rig), 0);
	}
}

/* Receives a request whose value has len bytes still to come. */
static void
receive_head(struct conn *c, const struct packet *p, uint32_t len)
{
	const struct packet list[] = {*p, LAST};
	uint8_t bytes[512];
	const uint32_t n = packets_put(bytes, list);
	const uint32_t body = n - 24 + len;

	for (uint32_t i = 0; i < 4; i++)
		bytes[8 + i] = (uint8_t)(body >> (24 - 8 * i));
	rig_receive(rig, c, bytes, n);
}

static void
receive_binary(struct conn *c, const struct packet *p, uint32_t len)
{
	receive_head(c, p, len);
	receive_value(c, len);
	rig_turns(rig, 2);
}

/* Checks the head of a get's reply. Returns where its value begins. */
static uint32_t
binary_stands_at(struct conn *c, uint32_t at, uint8_t op, uint32_t len)
{
	uint32_t sent_len;
	const uint8_t *sent = (const uint8_t *)rig_sent(c, &sent_len) + at;
	const uint32_t body = 4 + len;

	check(sent_len >= at + 28 + len);
	check_eq(sent[0], 0x81);
	check_eq(sent[1], op);
	check_eq(sent[4], 4);
	for (uint32_t i = 0; i < 4; i++)
		check_eq(sent[8 + i], (uint8_t)(body >> (24 - 8 * i)));
	check_bytes(sent + 24, "\0\0\0\7", 4);
	check_bytes(sent + 28, value, len);
	return at + 28 + len;
}

static const struct packet set_big = {SET, EXTRAS("\0\0\0\7\0\0\0\0"), .key = "big"};
static const struct packet get_big = {GET, .key = "big"};

TEST(a_binary_value_of_any_size_comes_back)
{
	const struct packet stored[] = {{SET, .cas = SOME}, LAST};

	for (size_t i = 0; i < SIZES; i++) {
		struct conn *c = rig_open(rig);
		struct view sent;

		receive_binary(c, &set_big, sizes[i]);
		sent.data = (const uint8_t *)rig_sent(c, &sent.len);
		packets_match(sent, stored);
		forget(c);
		receive_binary(c, &get_big, 0);
		check_eq(binary_stands_at(c, 0, GET, sizes[i]), (rig_sent(c, &sent.len), sent.len));
		rig_acked(rig, c);
		rig_lose(rig, c);
		check_eq(rig_chunks_used(rig), 0);
	}
}

/* Receives more bytes than fit, as announced. */
static void
receive_too_much(struct conn *c)
{
	for (uint32_t at = 0; at < STORE_VALUE_MAX + 1; at += 1000)
		rig_receive(rig, c, value,
			    STORE_VALUE_MAX + 1 - at < 1000 ? STORE_VALUE_MAX + 1 - at : 1000);
}

TEST(a_value_too_large_is_swallowed_and_takes_the_old_one_along)
{
	const struct packet expected[] = {
		{SET, .cas = SOME}, {SET, .status = 3}, {GET, .status = 1}, LAST};
	struct conn *binary = rig_open(rig);
	struct conn *meta = rig_open(rig);
	struct view sent;
	char line[64];

	receive_binary(binary, &set_big, 100);
	receive_head(binary, &set_big, STORE_VALUE_MAX + 1);
	receive_too_much(binary);
	receive_binary(binary, &get_big, 0);
	rig_turns(rig, 3);
	sent.data = (const uint8_t *)rig_sent(binary, &sent.len);
	packets_match(sent, expected);
	snprintf(line, sizeof line, "ms big 2\r\nhi\r\nms big %u k MR q\r\n", STORE_VALUE_MAX + 1);
	rig_receive_text(rig, meta, line);
	receive_too_much(meta);
	rig_receive_text(rig, meta, "\r\nmg big\r\n");
	rig_turns(rig, 3);
	check_str(rig_sent(meta, NULL), "HD\r\nSERVER_ERROR object too large for cache\r\nEN\r\n");
}

TEST(a_value_that_finds_no_piece_waits_and_what_follows_waits_too)
{
	struct conn *meta = rig_open(rig);
	struct conn *binary = rig_open(rig);
	const struct packet behind[] = {
		{SET, EXTRAS("\0\0\0\7\0\0\0\0"), .key = "s", .value = "abc"},
		{GETQ, .key = "no"},
		{GETK, .key = "s"},
		{.op = NOOP},
		LAST};
	const struct packet expected[] = {
		{SET, .cas = SOME},
		{GETK, EXTRAS("\0\0\0\7"), .to = 2, .key = "s", .value = "abc", .cas = SOME},
		{NOOP, .to = 3},
		LAST};
	uint8_t bytes[512];
	const uint32_t bytes_len = packets_put(bytes, behind);
	uint32_t at;

	receive_binary(binary, &set_big, 100000);
	forget(binary);
	for (uint32_t pieces = 0; pieces < 4; pieces++) {
		struct view sent;

		rig_set_pieces(rig, pieces);
		rig_receive_text(rig, meta, "mg big v k O1\r\nms t 3 q\r\nabc\r\nmg t v k");
		rig_receive_text(rig, meta, " O2\r\nmn\r\nms t 5 O3\r\nhe");
		receive_binary(binary, &get_big, 0);
		rig_receive(rig, binary, bytes, bytes_len - 10);
		rig_turns(rig, 2);
		check_null(strstr(rig_sent(meta, NULL), "MN"));
		rig_receive(rig, binary, bytes + bytes_len - 10, 10);
		rig_receive_text(rig, meta, "llo\r\n");
		rig_turns(rig, 2);
		rig_set_pieces(rig, 1000);
		rig_turns(rig, 4);
		at = stands_at(meta, 0, text_view("VA 100000 kbig O1\r\n"), 100000, "\r\n");
		check_str(rig_sent(meta, NULL) + at, "VA 3 kt O2\r\nabc\r\nMN\r\nHD O3\r\n");
		at = binary_stands_at(binary, 0, GET, 100000);
		sent.data = (const uint8_t *)rig_sent(binary, &sent.len) + at;
		sent.len -= at;
		packets_match(sent, expected);
		forget(meta);
		forget(binary);
		check_eq(rig_chunks_used(rig), 0);
	}
	check(rig_count(rig, CONN_DEFERRED) > 0);
}

/* The requests behind it are deferred in one chunk, so no more than that is read. */
TEST(more_bytes_than_a_read_buffer_behind_a_waiting_value_are_not_lost)
{
	struct conn *meta = rig_open(rig);
	struct conn *binary = rig_open(rig);
	static char text[8192], thousand[1001];
	struct packet all[8] = {get_big};
	static const struct packet noop[] = {{.op = NOOP, .to = 6}, LAST};
	struct view sent;
	uint32_t at;

	receive_binary(binary, &set_big, 50000);
	forget(binary);
	rig_set_pieces(rig, 0);
	strcpy(text, "mg big v\r\n");
	for (char k = 'a'; k < 'f'; k++)
		sprintf(text + strlen(text), "ms %c 1000 q\r\n%01000d\r\n", k, 0);
	strcat(text, "mn\r\n");
	rig_receive_text(rig, meta, text);
	memset(thousand, 'x', 1000);
	for (uint32_t i = 1; i <= 5; i++)
		all[i] = (struct packet){SETQ, EXTRAS("\0\0\0\7\0\0\0\0"), .key = "k",
					 .value = thousand};
	all[6] = noop[0];
	all[7] = noop[1];
	rig_receive(rig, binary, text, packets_put((uint8_t *)text, all));
	rig_turns(rig, 3);
	rig_set_pieces(rig, 1000);
	rig_turns(rig, 3);
	at = stands_at(meta, 0, text_view("VA 50000\r\n"), 50000, "\r\n");
	check_str(rig_sent(meta, NULL) + at, "MN\r\n");
	at = binary_stands_at(binary, 0, GET, 50000);
	sent.data = (const uint8_t *)rig_sent(binary, &sent.len) + at;
	sent.len -= at;
	packets_match(sent, noop);
}

TEST(a_value_stays_as_it_was_until_it_is_acknowledged)
{
	struct conn *meta = rig_open(rig);
	struct conn *binary = rig_open(rig);
	struct conn *other = rig_open(rig);

	receive_binary(binary, &set_big, 60000);
	forget(binary);
	rig_receive_text(rig, meta, "mg big v\r\n");
	receive_binary(binary, &get_big, 0);
	rig_turns(rig, 1);
	rig_receive_text(rig, other, "md big\r\n");
	for (int i = 0; i < 400; i++) {
		char line[64];

		snprintf(line, sizeof line, "ms fill%d 60000 q\r\n", i);
		rig_receive_text(rig, other, line);
		rig_receive(rig, other, value + i, 60000);
		rig_receive_text(rig, other, "\r\n");
		rig_turns(rig, 1);
	}
	stands_at(meta, 0, text_view("VA 60000\r\n"), 60000, "\r\n");
	binary_stands_at(binary, 0, GET, 60000);
	rig_acked(rig, meta); /* compares the pieces with their state when queued */
	rig_acked(rig, binary);
}

/* The values need more memory than a turn can evict: their lines, or the heads of their packets,
 * are read again and again. */
TEST(large_sets_wait_for_memory_and_lose_nothing)
{
	/* Together the values are as much as may be begun: a quarter of the memory. */
	enum { CONNS = FAKE_CONNS - FAKE_SPARE - 1, LEN = 800000 };
	const struct packet stored[] = {{SET, .cas = SOME}, LAST};
	struct conn *c[CONNS], *reader;
	uint32_t waited = 0;
	char line[64];

	rig_fill(rig);
	for (uint32_t i = 0; i < CONNS; i++) {
		snprintf(line, sizeof line, "big%u", i);
		c[i] = rig_open(rig);
		if (i % 2 == 0) {
			const struct packet set = {SET, EXTRAS("\0\0\0\0\0\0\0\0"), .key = line};

			receive_head(c[i], &set, LEN);
		} else {
			snprintf(line, sizeof line, "ms big%u %u k O%u\r\n", i, LEN, i);
			rig_receive_text(rig, c[i], line);
		}
		rig_receive(rig, c[i], value, LEN / 2);
	}
	for (; rig_count(rig, CMD_SET) < CONNS && waited < 400; waited++)
		rig_turns(rig, 1);
	check(waited > 2);
	reader = rig_open(rig);
	for (uint32_t i = 0; i < CONNS; i++) {
		struct view sent;

		rig_receive(rig, c[i], value + LEN / 2, LEN / 2);
		if (i % 2 != 0)
			rig_receive_text(rig, c[i], "\r\n");
		rig_turns(rig, 2);
		sent.data = (const uint8_t *)rig_sent(c[i], &sent.len);
		snprintf(line, sizeof line, "HD kbig%u O%u\r\n", i, i);
		if (i % 2 == 0)
			packets_match(sent, stored);
		else
			check_str((const char *)sent.data, line);
		snprintf(line, sizeof line, "mg big%u v\r\n", i);
		rig_receive_text(rig, reader, line);
		rig_turns(rig, 2);
		stands_at(reader, 0, text_view("VA 800000\r\n"), LEN, "\r\n");
		forget(reader);
	}
	check_eq(rig_count(rig, STORE_NO_MEMORY_COUNT), 0);
	check_eq(rig_count(rig, REQ_TCP), 2 * CONNS);
}

/* ---- datagrams ---- */

/* Returns the replies to one datagram, put together; " | " between messages. */
static struct view
answered(const void *bytes, uint32_t len)
{
	static uint8_t all[1u << 18];
	const struct fake_sent *sent;
	struct view v = {all, 0};
	uint32_t count;

	rig_forget_datagrams(rig);
	rig_datagram(rig, 0x1234, 1, bytes, len);
	rig_turns(rig, 3); /* the time to send this many bytes */
	count = rig_datagrams_sent(rig, &sent);
	for (uint32_t i = 0; i < count; i++) {
		struct mc_udp_frame frame;

		memcpy(&frame, sent[i].bytes, sizeof frame);
		if (i > 0 && be16_get(frame.sequence) == 0) {
			memcpy(all + v.len, " | ", 3);
			v.len += 3;
		}
		memcpy(all + v.len, sent[i].bytes + 8, sent[i].len - 8);
		v.len += sent[i].len - 8;
	}
	all[v.len] = 0;
	check_eq(rig_chunks_used(rig), 0);
	return v;
}

TEST(a_datagram_of_meta_commands_gets_its_answers)
{
	const struct {
		const char *in, *out;
	} rows[] = {
		{"mg a v k O1\r\n", "EN ka O1\r\n"},
		{"ms a 5 c k O12345 E5 b\r\nhello\r\n", "CLIENT_ERROR error decoding key\r\n"},
		{"ms a 5 c k O12345 E5\r\nhello\r\n", "HD c5 ka O12345\r\n"},
		{"mg a v k O12345678 s c t f\r\n", "VA 5 ka O12345678 s5 c5 t-1 f0\r\nhello\r\n"},
		{"ms YWJj 1 b k O2\r\n1\r\n", "HD kYWJj b O2\r\n"},
		{"mg YWJj v b k O2\r\n", "VA 1 kYWJj b O2\r\n1\r\n"},
		{"ma YWJj b k v O3\r\n", "VA 1 kYWJj b O3\r\n2\r\n"},
		{"md YWJj b k O4\r\n", "HD kYWJj b O4\r\n"},
		{"md YWJj b k O4\r\n", "NF kYWJj b O4\r\n"},
		{"mg a q v\r\nmg b q v\r\nmn\r\n", "VA 5\r\nhello\r\n | MN\r\n"},
		{"mg b q\r\n", ""},
		{"ms a 5 q\r\nhel", ""},
		{"mn\r\n", "MN\r\n"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check_str((const char *)answered(rows[i].in, (uint32_t)strlen(rows[i].in)).data,
			  rows[i].out);
}

TEST(a_datagram_of_packets_gets_its_answers)
{
	const struct {
		struct packet in[3], out[3];
	} rows[] = {
		{{{GETK, .key = "a"}, LAST}, {{GETK, .status = 1, .key = "a", .value = ""}, LAST}},
		{{{SET, EXTRAS("\0\0\0\7\0\0\0\0"), .key = "a", .value = "hello"}, LAST},
		 {{SET, .cas = SOME}, LAST}},
		{{{GETK, .key = "a"}, LAST},
		 {{GETK, EXTRAS("\0\0\0\7"), .key = "a", .value = "hello", .cas = SOME}, LAST}},
		{{{GETQ, .key = "b"}, LAST}, {LAST}},
		{{{SETQ, EXTRAS("\0\0\0\0\0\0\0\0"), .key = "b", .value = "b"}, LAST}, {LAST}},
		{{{DELETE, .key = "b"}, LAST}, {{.op = DELETE}, LAST}},
		{{{.op = QUIT}, {.op = NOOP}, LAST}, {{.op = QUIT}, LAST}},
		{{{.op = QUITQ}, {.op = NOOP}, LAST}, {LAST}},
		{{{.op = GET}, {.op = NOOP}, LAST}, {{GET, .status = 4}, LAST}},
		{{{.op = NOOP}, LAST}, {{.op = NOOP}, LAST}},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t bytes[256];

		packets_match(answered(bytes, packets_put(bytes, rows[i].in)), rows[i].out);
	}
}

TEST(a_packet_cut_at_any_byte_does_nothing_and_spoils_nothing)
{
	const struct packet in[] = {{SET, EXTRAS("\0\0\0\7\0\0\0\0"), .key = "a", .value = "hello"},
				    LAST};
	const struct packet get[] = {{GET, .key = "a"}, LAST};
	const struct packet miss[] = {{GET, .status = 1}, LAST};
	uint8_t bytes[256];
	const uint32_t len = packets_put(bytes, in);

	for (uint32_t cut = 1; cut < len; cut++)
		check_eq(answered(bytes, cut).len, 0);
	check_eq(rig_count(rig, UDP_DROP_TRUNCATED), len - 1);
	packets_match(answered(bytes, packets_put(bytes, get)), miss);
}

TEST(a_large_value_is_one_message_in_either_protocol)
{
	struct conn *c = rig_open(rig);
	uint8_t bytes[256];
	const struct packet get[] = {get_big, LAST};
	struct view got;

	receive_binary(c, &set_big, 100000);
	forget(c);
	got = answered("mg big v O1\r\n", 13);
	check_eq(got.len, 14 + 100000 + 2);
	check_bytes(got.data, "VA 100000 O1\r\n", 14);
	check_bytes(got.data + 14, value, 100000);
	check_bytes(got.data + 100014, "\r\n", 2);
	got = answered(bytes, packets_put(bytes, get));
	check_eq(got.len, 28 + 100000);
	check_bytes(got.data + 28, value, 100000);
}
