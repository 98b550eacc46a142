/*
 * Requests over UDP. Goal: a reply is sent in the frame of its request if it fits, else as one
 * message of n datagrams numbered 0 to n-1; a datagram that is wrong or cut is dropped, counted,
 * and spoils nothing; all requests are answered, over as many turns as that takes. Method: tables
 * of datagrams and of the expected messages.
 */
#include "support/test.h"
#include "one_rig.h"
#include "base/check.h"
#include "core/core.h"
#include "serve/serve_policy.h"
#include "proto/mc_req.h"
#include "proto/mc_udp.h"
#include "index/item_layout.h"

/* Returns all messages sent so far, put together again, with " | " between them. Fails if a frame
 * is wrong, or a piece is missing or out of order. */
static const char *
messages(void)
{
	static char text[1u << 20];
	const struct fake_sent *sent;
	const uint32_t count = rig_datagrams_sent(rig, &sent);
	uint32_t len = 0, total = 0;

	for (uint32_t i = 0, next = 0; i < count; i++) {
		struct mc_udp_frame frame;

		check(sent[i].len >= 8 && sent[i].len <= MC_UDP_PAYLOAD_MAX);
		memcpy(&frame, sent[i].bytes, sizeof frame);
		if (next == 0) {
			total = be16_get(frame.total);
			if (i > 0)
				len += (uint32_t)sprintf(text + len, " | ");
		}
		check_eq(be16_get(frame.id), 0x1234);
		check_eq(be16_get(frame.sequence), next);
		check_eq(be16_get(frame.total), total);
		check_eq(be16_get(frame.reserved), 0);
		if (next + 1 < total)
			check_eq(sent[i].len, MC_UDP_PAYLOAD_MAX);
		memcpy(text + len, sent[i].bytes + 8, sent[i].len - 8);
		len += sent[i].len - 8;
		next = next + 1 == total ? 0 : next + 1;
	}
	text[len] = 0;
	return text;
}

static uint32_t
sent_here(void)
{
	const struct fake_sent *sent;
	const uint32_t count = rig_datagrams_sent(rig, &sent);
	uint32_t here = 0;

	for (uint32_t i = 0; i < count; i++)
		here += sent[i].here;
	return here;
}

TEST(a_datagram_gets_its_answers)
{
	const struct {
		const char *in;
		const char *out;
		uint32_t here; /* of them, in the frame of their request */
	} rows[] = {
		{"get a\r\n", "END\r\n", 1},
		{"set a 7 0 5\r\nhello\r\n", "STORED\r\n", 1},
		{"get a\r\n", "VALUE a 7 5\r\nhello\r\nEND\r\n", 1},
		{"gat 100 a\r\n", "VALUE a 7 5\r\nhello\r\nEND\r\n", 1},
		{"get a b a\r\n", "VALUE a 7 5\r\nhello\r\nVALUE a 7 5\r\nhello\r\nEND\r\n", 0},
		{"get a\r\nget b\r\nversion\r\n",
		 "VALUE a 7 5\r\nhello\r\nEND\r\n | END\r\n | VERSION 9.8.7\r\n", 0},
		{"set a 0 0 1 noreply\r\nx\r\n", "", 0},
		{"set a 0 0 1 noreply\r\ny\r\nget a\r\n", "VALUE a 0 1\r\ny\r\nEND\r\n", 0},
		{"set n 0 0 1\r\n5\r\n", "STORED\r\n", 1},
		{"incr n 6\r\n", "11\r\n", 1},
		{"delete n\r\n", "DELETED\r\n", 1},
		{"bogus\r\n", "ERROR\r\n", 1},
		{"verbosity 1\r\n", "CLIENT_ERROR not allowed over UDP\r\n", 1},
		{"set a 0 0 3\r\nabcde\r\n", /* the rest is an empty line */
		 "CLIENT_ERROR bad data chunk\r\n | CLIENT_ERROR bad command line format\r\n", 0},
		{"quit\r\n", "", 0},
		{"version\r\nquit\r\nversion\r\n", "VERSION 9.8.7\r\n", 0},
		{"flush_all\r\n", "CLIENT_ERROR not allowed over UDP\r\n", 1},
		{"flush_all noreply\r\nget a\r\n", "VALUE a 0 1\r\ny\r\nEND\r\n", 0},
		{"version\r\nget a", "VERSION 9.8.7\r\n", 0}, /* the cut one is dropped */
		{"GET / HTTP/1.1\r\n", "", 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		rig_forget_datagrams(rig);
		rig_datagram_text(rig, 0x1234, rows[i].in);
		rig_turn(rig);
		check_str(messages(), rows[i].out);
		check_eq(sent_here(), rows[i].here);
		check_eq(rig_chunks_used(rig), 0);
	}
}

TEST(a_bad_datagram_is_dropped_counted_and_forgotten)
{
	const struct {
		const char *bytes;
		uint16_t total;
		enum serve_counter why;
	} rows[] = {
		{"", 1, UDP_DROP_SHORT},
		{"version\r\n", 2, UDP_DROP_MULTI_DATAGRAM},
		{"version\r\n", 0, UDP_DROP_MULTI_DATAGRAM},
		{"get a", 1, UDP_DROP_TRUNCATED},
		{"set a 0 0 10\r\nhello\r\n", 1, UDP_DROP_TRUNCATED},
		{"set a 0 0 5\r\nhello", 1, UDP_DROP_TRUNCATED},
		{"set a x 0 5\r\nhell", 1, UDP_DROP_TRUNCATED},
		{"GET / HTTP/1.1\r\n", 1, UDP_DROP_HTTP},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const uint64_t before = rig_count(rig, rows[i].why);

		rig_forget_datagrams(rig);
		rig_datagram(rig, 0x1234, rows[i].total, rows[i].bytes,
			     (uint32_t)strlen(rows[i].bytes));
		rig_datagram_text(rig, 0x1234, "version\r\n");
		rig_turn(rig);
		check_str(messages(), "VERSION 9.8.7\r\n");
		check_eq(rig_count(rig, rows[i].why), before + 1);
	}
}

TEST(a_datagram_cut_at_any_byte_does_nothing)
{
	const char *in = "set a 0 0 5\r\nhello\r\n";

	for (uint32_t cut = 1; cut < strlen(in); cut++)
		rig_datagram(rig, 0x1234, 1, in, cut);
	rig_datagram_text(rig, 0x1234, "get a\r\n");
	rig_turn(rig);
	check_str(messages(), "END\r\n");
}

/* Stores a value of len bytes c over a connection. */
static void
store_value(const char *name, char c, uint32_t len)
{
	static char text[1u << 20];
	struct conn *conn = rig_open(rig);
	const int head = sprintf(text, "set %s 0 0 %u\r\n", name, len);

	memset(text + head, c, len);
	memcpy(text + head + len, "\r\n", 3);
	rig_receive_text(rig, conn, text);
	rig_turn(rig);
	rig_turn(rig);
	check_str(rig_sent(conn, NULL), "STORED\r\n");
	rig_lose(rig, conn);
}

static void
turns_until_all_is_sent(void)
{
	for (uint32_t i = 0; i < 100 && rig_chunks_used(rig) != 0; i++)
		rig_turn(rig);
}

TEST(a_large_value_is_one_message_of_many_datagrams)
{
	const uint32_t sizes[] = {1023, 1024, 1360, 1370, 1380, 2767, 5000, 100000, 300000};

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		const struct fake_sent *sent;
		const char *text;
		char head[64];

		store_value("v", 'v', sizes[i]);
		rig_forget_datagrams(rig);
		rig_datagram_text(rig, 0x1234, "get v\r\n");
		rig_turn(rig);
		turns_until_all_is_sent();
		text = messages();
		sprintf(head, "VALUE v 0 %u\r\n", sizes[i]);
		check_eq(strlen(text), strlen(head) + sizes[i] + 7);
		check_bytes(text, head, strlen(head));
		check_str(text + strlen(head) + sizes[i], "\r\nEND\r\n");
		check_eq(rig_datagrams_sent(rig, &sent), mc_udp_datagrams((uint32_t)strlen(text)));
		check_eq(rig_chunks_used(rig), 0);
	}
}

TEST(a_long_message_is_sent_over_turns_and_the_next_one_stands_behind_it)
{
	const struct fake_sent *sent;

	store_value("v", 'v', 700000);
	rig_datagram_text(rig, 0x1234, "get v\r\n");
	rig_datagram_text(rig, 0x1234, "get a b\r\n");
	rig_turn(rig);
	check_eq(rig_datagrams_sent(rig, &sent), 64);
	rig_turn(rig);
	check_eq(rig_datagrams_sent(rig, &sent), 128);
	rig_turns(rig, 6);
	check_str(messages() + 700000 + 18, "\r\nEND\r\n | END\r\n");
	check_eq(rig_chunks_used(rig), 0);
}

TEST(a_reply_too_long_for_any_client_is_not_sent)
{
	static char in[1400];
	const struct fake_sent *sent;

	store_value("v", 'v', 1000000);
	strcpy(in, "get");
	for (int i = 0; i < 8; i++)
		strcat(in, " v");
	strcat(in, "\r\n");
	rig_datagram_text(rig, 0x1234, in);
	rig_turn(rig);
	check_eq(rig_datagrams_sent(rig, &sent), 0);
	check_eq(rig_count(rig, UDP_DROP_TOO_LONG), 1);
	check_eq(rig_chunks_used(rig), 0);
}

/* No reply is dropped because earlier ones have not left yet: datagrams of
 * those sources are not read. */
TEST(replies_without_room_wait_for_it)
{
	const struct fake_sent *sent;

	store_value("v", 'v', 5000);
	rig_set_tx_room(rig, 0);
	for (uint32_t turn = 0; turn < 3; turn++) {
		for (uint32_t i = 0; i < 40; i++)
			rig_datagram_text(rig, 0x1234, "get v\r\n");
		rig_turn(rig);
	}
	check_eq(rig_datagrams_kept(rig), 120 - 40);
	rig_set_tx_room(rig, 100);
	rig_turns(rig, 8);
	check_eq(rig_datagrams_sent(rig, &sent), 120 * 4);
	check_eq(rig_count(rig, UDP_DROP_NO_MEMORY), 0);
	check_eq(rig_datagrams_kept(rig), 0);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(what_a_stop_does_not_send_holds_no_item)
{
	const struct view key = {(const uint8_t *)"v", 1};
	const struct item *it;

	store_value("v", 'v', 5000);
	it = store_get(rig->core, key, store_hash(rig->core, key));
	check_ptr(it);
	rig_set_tx_room(rig, 0);
	for (uint32_t i = 0; i < 3; i++)
		rig_datagram_text(rig, 0x1234, "get v v\r\n");
	rig_turn(rig);
	check_eq(atomic_load(item_pins_at(it)), 6);
	serve_drop_messages(rig->serve);
	check_eq(atomic_load(item_pins_at(it)), 0);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(a_reply_without_memory_is_dropped_and_counted)
{
	store_value("v", 'v', 5000);
	rig_set_chunks(rig, 0);
	rig_datagram_text(rig, 0x1234, "get v\r\n");
	rig_datagram_text(rig, 0x1234, "version\r\n");
	rig_turn(rig);
	check_str(messages(), "VERSION 9.8.7\r\n");
	check_eq(rig_count(rig, UDP_DROP_NO_MEMORY), 1);
}

TEST(datagrams_leave_half_of_the_chunks_to_connections)
{
	struct conn *c = rig_open(rig);
	char in[300] = "get";

	store_value("v", 'v', 900);
	rig_set_tx_room(rig, 0);
	rig_set_chunks(rig, 80);
	for (uint32_t i = 0; i < 100; i++)
		strcat(in, " v");
	strcat(in, "\r\n");
	rig_datagram_text(rig, 0x1234, in);
	rig_datagram_text(rig, 0x1234, "get v v v v v v\r\n");
	rig_turns(rig, 2);
	check(rig_chunks_used(rig) <= 40);
	check_eq(rig_count(rig, UDP_DROP_NO_MEMORY), 1);
	rig_receive_text(rig, c, "version\r\n");
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "VERSION 9.8.7\r\n");
	rig_acked(rig, c);

	rig_set_tx_room(rig, 256);
	rig_turns(rig, 2);
	check_eq(rig_chunks_used(rig), 0);
}

/* A request, in text, meta or binary, with its length. */
struct ask {
	char bytes[8500];
	uint32_t len;
};

static void
ask_text(struct ask *a, const char *text)
{
	memcpy(a->bytes + a->len, text, strlen(text));
	a->len += (uint32_t)strlen(text);
}

static void
ask_binary(struct ask *a, uint8_t opcode, const char *key)
{
	const uint8_t len = (uint8_t)strlen(key);
	uint8_t head[24] = {MC_BIN_REQUEST_MAGIC, opcode, 0, len};

	head[11] = len;
	memcpy(a->bytes + a->len, head, sizeof head);
	a->len += sizeof head;
	ask_text(a, key);
}

static void
ask_many(struct ask *a, uint32_t kind, uint32_t keys)
{
	a->len = 0;
	if (kind == 0)
		ask_text(a, "get");
	for (uint32_t i = 0; i < keys; i++)
		if (kind == 2)
			ask_binary(a, 0x09, "a");
		else
			ask_text(a, kind == 0 ? " a" : "mg a v\r\n");
	if (kind == 2)
		ask_binary(a, 0x0a, "");
	else
		ask_text(a, kind == 0 ? "\r\n" : "mn\r\n");
}

static uint32_t
count_of(const char *bytes, uint32_t len, const char *what, uint32_t what_len)
{
	uint32_t count = 0;

	for (uint32_t at = 0; at + what_len <= len; at++)
		count += memcmp(bytes + at, what, what_len) == 0;
	return count;
}

/* Returns how often the text was sent, over all datagrams. A long value may be split over two
 * datagrams, a short one rarely is. */
static uint32_t
sent_count_of(const char *what)
{
	const struct fake_sent *sent;
	const uint32_t n = rig_datagrams_sent(rig, &sent);
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += count_of((const char *)sent[i].bytes + 8, sent[i].len - 8, what,
				  (uint32_t)strlen(what));
	return count;
}

/* A datagram has more keys than a turn answers. The turns are counted, to show that
 * it took more than one. */
TEST(a_datagram_of_more_keys_than_a_turn_answers_is_answered_whole)
{
	const struct {
		uint32_t kind, keys;
		const char *end; /* the end of each reply, and how often it appears */
		uint32_t turns;
	} rows[] = {
		{0, PASSES_MAX * OPS_MAX, "END\r\n", 1},
		{0, PASSES_MAX * OPS_MAX + 1, "END\r\n", 2},
		{0, 4000, "END\r\n", 16},
		{1, 300, "MN\r\n", 2},
		{1, 900, "MN\r\n", 4},
		{2, 200, NULL, 1},
		{2, 330, NULL, 2},
	};

	store_value("a", 'x', 10);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char noop[] = {(char)0x81, 0x0a};
		static struct ask a;
		const struct fake_sent *sent;
		uint32_t turns = 0, n;

		ask_many(&a, rows[i].kind, rows[i].keys);
		rig_forget_datagrams(rig);
		rig_datagram(rig, 0x1234, 1, a.bytes, a.len);
		do
			rig_turn(rig);
		while (++turns < 100 && rig_datagrams_kept(rig) != 0);
		check_eq(turns, rows[i].turns);
		turns_until_all_is_sent();
		n = rig_datagrams_sent(rig, &sent);
		if (rows[i].kind == 0) {
			const char *text = messages();

			check_eq(count_of(text, (uint32_t)strlen(text),
					  "VALUE a 0 10\r\nxxxxxxxxxx\r\n", 26),
				 rows[i].keys);
			check_str(text + strlen(text) - 5, "END\r\n");
		} else {
			check_eq(sent_count_of("xxxxxxxxxx"), rows[i].keys);
			check_eq(n, rows[i].keys + 1);
		}
		check_bytes(sent[n - 1].bytes + sent[n - 1].len -
				    (rows[i].end != NULL ? strlen(rows[i].end) : 24),
			    rows[i].end != NULL ? rows[i].end : noop,
			    rows[i].end != NULL ? strlen(rows[i].end) : 2);
		check_eq(rig_chunks_used(rig), 0);
	}
}

/* Bursts of multi-gets have more keys than a turn answers, with sets among them that must not be
 * overtaken. */
TEST(what_a_turn_has_no_time_for_is_answered_in_the_next_ones_in_order)
{
	enum { BURSTS = 4, DATAGRAMS = 60, KEYS = 20 };
	char want[200], in[80] = "get";
	uint32_t turns = 0;

	for (uint32_t i = 0; i < KEYS; i++)
		strcat(in, " a");
	strcat(in, "\r\n");
	for (uint32_t burst = 0; burst < BURSTS; burst++) {
		for (uint32_t i = 0; i < DATAGRAMS; i++)
			rig_datagram_text(rig, 0x1234, in);
		sprintf(want, "set a 0 0 1\r\n%u\r\n", burst);
		rig_datagram_text(rig, 0x1234, want);
		rig_turn(rig);
		check(rig_datagrams_kept(rig) > burst * 40);
	}
	while (rig_datagrams_kept(rig) != 0 && ++turns < 100)
		rig_turn(rig);
	check(turns >= (BURSTS * DATAGRAMS * KEYS) / (PASSES_MAX * OPS_MAX) - BURSTS);
	for (uint32_t burst = 1; burst < BURSTS; burst++) {
		sprintf(want, "VALUE a 0 1\r\n%u\r\n", burst - 1);
		check_eq(sent_count_of(want), DATAGRAMS * KEYS);
	}
	check_eq(sent_count_of("END\r\n"), BURSTS * DATAGRAMS);
	check_eq(sent_count_of("STORED\r\n"), BURSTS);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(a_flood_of_datagrams_does_not_starve_a_connection)
{
	struct conn *c = rig_open(rig);
	static char in[1400];

	for (int i = 0; i < 90; i++)
		strcat(in, "version\r\n");
	for (int i = 0; i < 60; i++)
		rig_datagram_text(rig, 0x1234, in);
	rig_receive_text(rig, c, "version\r\n");
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "VERSION 9.8.7\r\n");
}

/* ---- the guard ---- */

static uint32_t
payload_sent(uint32_t *datagrams)
{
	const struct fake_sent *sent;
	uint32_t bytes = 0;

	*datagrams = rig_datagrams_sent(rig, &sent);
	for (uint32_t i = 0; i < *datagrams; i++)
		bytes += sent[i].len;
	return bytes;
}

TEST(other_sources_get_no_more_than_their_limit)
{
	const struct serve_policy policy = {.udp_rate_limit = true, .udp_bytes_per_s = 10000};
	uint32_t before, bytes, datagrams;
	struct conn *c = rig_open(rig);

	serve_shared_set_policy(rig->shared, &policy);
	rig_receive_text(rig, c, "set a 0 0 300\r\n");
	for (uint32_t i = 0; i < 30; i++)
		rig_receive_text(rig, c, "0123456789");
	rig_receive_text(rig, c, "\r\n");
	rig_turn(rig);
	for (uint32_t second = 0; second < 3; second++) {
		rig->clock.now_s++;
		rig_forget_datagrams(rig);
		before = (uint32_t)rig_count(rig, UDP_DROP_RATE_LIMIT);
		for (uint32_t i = 0; i < 200; i++) {
			/* a small datagram, or one with a longer reply */
			rig_datagram_text(rig, 1,
					  i % 10 != 0 ? "get a\r\n" : "get a a a a a a\r\n");
			rig_turn(rig);
		}
		bytes = payload_sent(&datagrams);
		/* Each message has 20 bytes and more. */
		check(bytes > 9000 && bytes < 10000 + datagrams * 40);
		check(rig_count(rig, UDP_DROP_RATE_LIMIT) > before + 100);
	}
	check_eq(rig_chunks_used(rig), 1); /* the replies to the connection */
}

TEST(short_replies_and_exempt_networks_are_not_limited)
{
	const struct serve_policy policies[] = {
		{.udp_rate_limit = true, .udp_bytes_per_s = 0},
		{.udp_rate_limit = true,
		 .udp_bytes_per_s = 0,
		 .network_count = 2,
		 .networks = {{ip_addr_v4(0xc0a80000), 96 + 16},
			      {ip_addr_v4(FAKE_PEER & ~0xffu), 96 + 24}}},
	};

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t datagrams;

		rig_destroy(rig);
		rig = rig_create();
		serve_shared_set_policy(rig->shared, &policies[i]);
		for (uint32_t k = 0; k < 50; k++) {
			rig_datagram_text(rig, 1,
					  "set a 0 0 100\r\n"
					  "01234567890123456789012345678901234567890123456789"
					  "01234567890123456789012345678901234567890123456789"
					  "\r\n");
			rig_turn(rig);
		}
		payload_sent(&datagrams);
		check_eq(datagrams, 50);
		rig_datagram_text(rig, 1, "get a\r\n");
		rig_datagram_text(rig, 1, "stats\r\n");
		rig_turn(rig);
		payload_sent(&datagrams);
		check_eq(datagrams, i == 0 ? 50 : 53);
	}
}
