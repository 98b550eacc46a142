/*
 * Replies of many datagrams to several sources. Goal: a source that waits for its own replies
 * does not delay those of others; sources take turns, and each one's replies are whole and in
 * order; no reply is lost, wherever in a datagram a pass ends. Method: the transmit queue takes few
 * frames a turn; the test joins the sent frames of each source to replies, and counts the turns of
 * each reply.
 */
#include "support/test.h"
#include "one_rig.h"
#include "base/check.h"
#include "core/core.h"
#include "proto/mc_udp.h"

#define HUGE_BYTES    700000u
#define BIG_BYTES     50000u
#define BIG_DATAGRAMS 36u /* of its reply */
#define HOG           1u
#define PEER          2u
#define OTHER_HOG     3u
#define LIKE_HOG      (HOG + FAKE_SOURCES) /* has the same hash */

static const struct {
	const char *name;
	uint32_t bytes;
} stored[] = {
	{"huge", HUGE_BYTES}, {"big", BIG_BYTES}, {"middle", 2000}, {"page", 500}, {"small", 5}};

static void
store_values(void)
{
	static char text[HUGE_BYTES + 100];
	struct conn *c = rig_open(rig);

	for (uint32_t i = 0; i < sizeof stored / sizeof stored[0]; i++) {
		const uint32_t len = stored[i].bytes;
		const int head = sprintf(text, "set %s 0 0 %u\r\n", stored[i].name, len);

		memset(text + head, 'x', len);
		memcpy(text + head + len, "\r\n", 3);
		rig_receive_text(rig, c, text);
		rig_turns(rig, 2);
	}
	check_str(rig_sent(c, NULL), "STORED\r\nSTORED\r\nSTORED\r\nSTORED\r\nSTORED\r\n");
	rig_acked(rig, c);
	rig_lose(rig, c);
}

/* The replies that one source received so far. */
struct replies {
	uint32_t next;      /* datagrams received of the last reply; 0: it is whole */
	uint32_t count;     /* whole replies */
	uint32_t bytes;     /* payload of all of them */
	uint32_t ids[4096]; /* the request id of each reply */
};

static void
replies_to(uint32_t to, struct replies *got)
{
	const struct fake_sent *sent;
	const uint32_t count = rig_datagrams_sent(rig, &sent);

	memset(got, 0, sizeof *got);
	for (uint32_t i = 0; i < count; i++) {
		struct mc_udp_frame frame;

		if (sent[i].to != to)
			continue;
		memcpy(&frame, sent[i].bytes, sizeof frame);
		if (got->next == 0)
			got->ids[got->count] = be16_get(frame.id);
		check_eq(be16_get(frame.sequence), got->next);
		check_eq(be16_get(frame.id), got->ids[got->count]);
		got->bytes += sent[i].len - 8;
		if (++got->next == be16_get(frame.total)) {
			got->next = 0;
			got->count++;
		}
	}
}

static struct replies hog, peer;

/* Checks that all requests are answered, in the order of ids from 0 on. */
static void
check_all(uint32_t to, uint32_t count)
{
	static struct replies got;

	replies_to(to, &got);
	check_eq(got.count, count);
	check_eq(got.next, 0);
	for (uint32_t i = 0; i < count; i++)
		check_eq(got.ids[i], i);
}

static void
turns_until_all_is_sent(void)
{
	for (uint32_t i = 0;
	     i < 5000 && (rig_datagrams_kept(rig) != 0 || rig_chunks_used(rig) != 0); i++)
		rig_turn(rig);
	check_eq(rig_datagrams_kept(rig), 0);
	check_eq(rig_chunks_used(rig), 0);
	check_eq(rig_count(rig, UDP_DROP_NO_MEMORY), 0);
}

TEST(a_source_of_large_replies_does_not_delay_small_ones)
{
	enum { TURNS = 300, FRAMES = 20, ASKED = 120 };
	uint32_t big = 0, small = 0;

	store_values();
	rig_set_tx_room(rig, FRAMES);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		for (uint32_t i = 0; i < 3 && big < ASKED; i++)
			rig_datagram_from(rig, HOG, (uint16_t)big++, "get big\r\n");
		rig_datagram_from(rig, PEER, (uint16_t)small++, "get small\r\n");
		rig_turn(rig);
		/* A datagram behind a waiting one is read one turn later. */
		replies_to(PEER, &peer);
		check(peer.count + 1 >= small);
	}
	replies_to(HOG, &hog);
	check(hog.count >= TURNS * FRAMES / BIG_DATAGRAMS - 1 || hog.count == ASKED);
	turns_until_all_is_sent();
	check_all(PEER, small);
	check_all(HOG, big);
}

TEST(a_reply_of_few_datagrams_does_not_wait_behind_megabytes)
{
	enum { FRAMES = 32 };

	store_values();
	rig_set_tx_room(rig, FRAMES);
	for (uint32_t i = 0; i < 4; i++)
		rig_datagram_from(rig, HOG, (uint16_t)i, "get huge\r\n");
	rig_turn(rig);
	rig_datagram_from(rig, PEER, 0, "get small big small\r\n");
	rig_turn(rig); /* the hog's replies are passed over */
	for (uint32_t i = 0; i < (BIG_DATAGRAMS + 15) / 16 + 1; i++)
		rig_turn(rig); /* half of the frames are the peer's */
	check_all(PEER, 1);
	turns_until_all_is_sent();
	check_all(HOG, 4);
}

/* Datagrams of one source are read in order, and none while its own message is being sent. */
TEST(one_source_is_answered_in_order)
{
	store_values();
	rig_set_tx_room(rig, 7);
	for (uint32_t i = 0; i < 200; i++) {
		rig_datagram_from(rig, PEER, (uint16_t)i,
				  i % 2 == 0 ? "get small small\r\n" : "get small small big\r\n");
		if (i % 3 == 2)
			rig_turn(rig);
	}
	turns_until_all_is_sent();
	check_all(PEER, 200);
}

TEST(sources_of_one_hash_wait_for_each_other_and_are_answered)
{
	store_values();
	rig_set_tx_room(rig, 10);
	for (uint32_t i = 0; i < 60; i++) {
		rig_datagram_from(rig, HOG, (uint16_t)i, "get big\r\n");
		rig_datagram_from(rig, LIKE_HOG, (uint16_t)i, "get small small\r\n");
		rig_datagram_from(rig, PEER, (uint16_t)i, "get small small\r\n");
		rig_turn(rig);
	}
	turns_until_all_is_sent();
	check_all(HOG, 60);
	check_all(LIKE_HOG, 60);
	check_all(PEER, 60);
}

static void
ask_lines(uint32_t source, uint16_t id, uint32_t lines, const char *line)
{
	char in[2000] = "";

	check(lines * strlen(line) < sizeof in);
	for (uint32_t i = 0; i < lines; i++)
		strcat(in, line);
	rig_datagram_from(rig, source, id, in);
}

/* A datagram of many requests: `lines` lines of `first`, "get" and `keys` repetitions of `name`. */
struct many {
	const char *first, *name;
	uint32_t keys, lines;
};

static void
ask_many_of(uint32_t source, uint16_t id, const struct many *many)
{
	static char in[8900];
	uint32_t len = 0;

	for (uint32_t i = 0; i < many->lines; i++) {
		len += (uint32_t)sprintf(in + len, "%sget", many->first);
		for (uint32_t k = 0; k < many->keys; k++)
			len += (uint32_t)sprintf(in + len, " %s", many->name);
		len += (uint32_t)sprintf(in + len, "\r\n");
	}
	rig_datagram_from(rig, source, id, in);
}

/* A datagram has more requests than a pass takes. It is put aside between two requests and resumed
 * there; a line that has begun is finished first. A source's pending requests are bounded. */
TEST(a_datagram_of_many_requests_is_put_aside_and_resumed)
{
	static const struct many rows[] = {
		{"", "big", 1, 150},   {"", "small", 2, 150},
		{"", "small", 5, 90},  {"version\r\n", "small", 3, 90},
		{"", "small", 600, 2}, {"", "small", 300, 4},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint32_t asked = 0, waited = 0, answers;

		stop();
		start();
		store_values();
		rig_set_tx_room(rig, 5);
		rig_datagram_from(rig, HOG, 1, "get big\r\n");
		ask_many_of(HOG, 2, &rows[i]);
		rig_datagram_from(rig, HOG, 3, "get small small\r\n");
		for (uint32_t turn = 0; turn < 200; turn++) {
			rig_datagram_from(rig, PEER, (uint16_t)asked++, "get small\r\n");
			rig_turn(rig);
			replies_to(PEER, &peer);
			waited = asked - peer.count > waited ? asked - peer.count : waited;
			check(rig_chunks_used(rig) < 2 * OPS_MAX);
		}
		check(waited <= 4); /* lines of 600 keys take that long */
		rig_set_tx_room(rig, 200);
		turns_until_all_is_sent();
		check_all(PEER, asked);
		replies_to(HOG, &hog);
		answers = rows[i].lines * (*rows[i].first != 0 ? 2 : 1);
		check_eq(hog.count, answers + 2);
		check_eq(hog.next, 0);
		check_eq(hog.ids[0], 1);
		for (uint32_t k = 1; k <= answers; k++)
			check_eq(hog.ids[k], 2);
		check_eq(hog.ids[answers + 1], 3);
		check_eq(rig_count(rig, GET_HITS), 3 + asked + rows[i].keys * rows[i].lines);
		check_eq(rig_count(rig, GET_MISSES) + rig_count(rig, REQ_BAD), 0);
		check_eq(rig_count(rig, UDP_DROP_TRUNCATED), 0);
	}
}

/* In one pass a source takes at most an eighth of the free places for waiting replies. No reply is
 * lost, whether a source asks in one datagram or in many. */
TEST(no_reply_is_lost_while_all_sources_wait)
{
	enum { SOURCES = 11, EACH = 50 };

	for (uint32_t lines = 1; lines <= EACH; lines *= EACH) {
		stop();
		start();
		store_values();
		rig_set_tx_room(rig, 0);
		for (uint32_t source = 0; source < SOURCES; source++) {
			for (uint32_t i = 0; i < EACH / lines; i++)
				ask_lines(source, (uint16_t)i, lines, "get middle\r\n");
			rig_turn(rig);
		}
		check(rig_datagrams_kept(rig) > 0);
		rig_set_tx_room(rig, 40);
		turns_until_all_is_sent();
		for (uint32_t source = 0; source < SOURCES; source++) {
			replies_to(source, &hog);
			check_eq(hog.count, EACH);
		}
	}
}

/* If too many sources wait, some large replies are lost and counted, and the small gets of another
 * source are answered. */
TEST(small_gets_are_answered_beside_more_sources_than_places)
{
	enum { SOURCES = FAKE_SOURCES, EACH = 12 };
	uint32_t small = 0, answered = 0;

	store_values();
	rig_set_tx_room(rig, 0);
	for (uint32_t source = 0; source < SOURCES; source++) {
		if (source == PEER)
			continue;
		for (uint32_t i = 0; i < EACH; i++)
			rig_datagram_from(rig, source, (uint16_t)i, "get middle\r\n");
		rig_turn(rig);
		rig_datagram_from(rig, PEER, (uint16_t)small++, "get small\r\n");
		rig_turns(rig, 2); /* a datagram behind a waiting one is read one turn later */
		replies_to(PEER, &peer);
		check_eq(peer.count, small);
	}
	check(rig_count(rig, UDP_DROP_NO_MEMORY) > 0);
	rig_set_tx_room(rig, 40);
	for (uint32_t i = 0; i < 200; i++)
		rig_turn(rig);
	check_eq(rig_datagrams_kept(rig) + rig_chunks_used(rig), 0);
	for (uint32_t source = 0; source < SOURCES; source++) {
		replies_to(source, &hog);
		answered += source != PEER ? hog.count : 0;
	}
	check_eq(answered + rig_count(rig, UDP_DROP_NO_MEMORY), (SOURCES - 1) * EACH);
}

/* A turn sends at most BURST_MAX datagrams of long replies, and one more if some are short. */
TEST(a_turn_sends_at_most_a_burst_of_long_replies)
{
	const struct fake_sent *sent;
	uint32_t before = 0;

	store_values();
	rig_set_tx_room(rig, 200);
	for (uint32_t i = 0; i < 3; i++)
		rig_datagram_from(rig, HOG, (uint16_t)i, "get huge\r\n");
	for (uint32_t turn = 0; turn < 20; turn++) {
		uint32_t all;

		rig_turn(rig);
		all = rig_datagrams_sent(rig, &sent);
		check(all - before == BURST_MAX || all - before == BURST_MAX + 1);
		before = all;
	}
	turns_until_all_is_sent();
	check_all(HOG, 3);
}

/* Each of these passes composes sixteen chunks or more, so a turn has only two passes. */
TEST(a_turn_composes_no_more_than_its_share)
{
	uint64_t before;

	store_values();
	rig_set_tx_room(rig, 200);
	for (uint32_t i = 0; i < 3; i++)
		ask_many_of(HOG + i, 0, &(struct many){"", "page", 600, 1});
	for (before = rig_count(rig, GET_HITS); before < 3 * 600 - 2 * OPS_MAX;
	     before = rig_count(rig, GET_HITS)) {
		rig_turn(rig);
		check_eq(rig_count(rig, GET_HITS) - before, 2 * OPS_MAX);
	}
	turns_until_all_is_sent();
	for (uint32_t i = 0; i < 3; i++)
		check_all(HOG + i, 1);
}

/* All replies together need more chunks than replies may use. Each source composes one reply at a
 * time, so none is lost. */
TEST(waiting_replies_leave_chunks_to_other_sources)
{
	enum { SOURCES = 15, KEYS = 300 };
	char in[6 * KEYS + 10] = "get";

	store_values();
	for (uint32_t i = 0; i < KEYS; i++)
		strcat(in, " small");
	strcat(in, "\r\n");
	rig_set_tx_room(rig, 0);
	rig_set_chunks(rig, 300);
	for (uint32_t i = 0; i < 2 * SOURCES; i++) {
		rig_datagram_from(rig, i % SOURCES, (uint16_t)(i / SOURCES), in);
		rig_turns(rig, 2);
	}
	check(rig_chunks_used(rig) > 75 && rig_chunks_used(rig) < 150);
	rig_set_tx_room(rig, 1);
	turns_until_all_is_sent();
	for (uint32_t i = 0; i < SOURCES; i++)
		check_all(i, 2);
}

/* Pending replies may use two thirds of the chunks for replies. A reply that needs more than what
 * is left of them is dropped, so that smaller ones are answered. */
TEST(a_reply_larger_than_the_chunks_left_is_dropped)
{
	uint32_t used;

	store_values();
	rig_set_tx_room(rig, 0);
	rig_set_chunks(rig, 200);
	ask_many_of(HOG, 0, &(struct many){"", "page", 190, 1});
	rig_turns(rig, 3);
	used = rig_chunks_used(rig);
	check(used > 60 && used < 67);
	ask_many_of(OTHER_HOG, 0, &(struct many){"", "page", 100, 1});
	rig_turns(rig, 3);
	check_eq(rig_chunks_used(rig), used);
	check_eq(rig_count(rig, UDP_DROP_NO_MEMORY), 1);
	ask_many_of(PEER, 0, &(struct many){"", "page", 50, 1});
	rig_datagram_from(rig, LIKE_HOG + 1, 0, "get small\r\n");
	rig_turns(rig, 3);
	check_all(LIKE_HOG + 1, 1);
	rig_set_tx_room(rig, 40);
	rig_turns(rig, 20);
	check_all(HOG, 1);
	check_all(PEER, 1);
	check_eq(rig_chunks_used(rig), 0);
}
