/*
 * The ends of pending requests. Goal: each request to the backend has one end, in every state
 * of its connection, the backend and the table; the number of pending requests is bounded, and
 * they take turns. Method: a table of few places (FEW_PENDING) and a backend that is held up; each
 * test is a case of the table of ends in backend.h. test_pending_order.c compares whole
 * conversations.
 */
#include "few_pending.h"
#include "backend/pending.h"

#include <stdlib.h>

SETUP(start)
{
	begin(&(struct late_config){.misses_on_failure = false});
}

static void
start_with_misses(void)
{
	begin(&(struct late_config){.misses_on_failure = true});
}

static void
start_with_writes(void)
{
	begin(&(struct late_config){.seed = 1, .writes = true});
}

static void
start_with_flash(void)
{
	begin(&(struct late_config){.flash = true});
}

TEST(keys_that_have_arrived_are_sent_at_once_and_the_end_last)
{
	struct conn *c = say("set l 0 0 1 noreply\r\nx\r\nget l s1 l\r\nget l\r\n");

	late_hold(late, true);
	turns(3);
	SAYS(c, S0);
	late_hold(late, false);
	turns(3);
	SAYS(c, S0 S1 S0 "END\r\n" S0 "END\r\n");
	rig_acked(rig, c);
}

TEST(a_key_without_answer_fails_at_its_deadline)
{
	struct conn *text = say("get d1\r\nget s1 d1 s1\r\nversion\r\n"),
		    *meta = say("mg d2 v\r\nmn\r\n");

	turns(2);
	check_eq(backend_next_timer(rig->serve), (uint64_t)(1 + TIMEOUT_TURNS) * LATE_TURN_NS);
	turns(TIMEOUT_TURNS - 2);
	SAYS(text, "");
	turns(4);
	SAYS(meta, NO_ANSWER "MN\r\n");
	turns(TIMEOUT_TURNS + 10);
	SAYS(text, NO_ANSWER S1 NO_ANSWER "VERSION 9.8.7\r\n");
	check(rig_count(rig, AWAITS_EXPIRED) >= 3);
}

TEST(a_failed_key_is_a_miss_if_the_backend_says_so, start_with_misses, stop)
{
	struct conn *c = say("get s1 d1 s1\r\nmg d2 v\r\ngat 0 d3\r\nversion\r\n");

	turns(4 * TIMEOUT_TURNS);
	SAYS(c, S1 S1 "END\r\nEN\r\n" NO_ANSWER "VERSION 9.8.7\r\n");
}

TEST(a_lost_connection_drops_its_pending_requests)
{
	struct conn *c = say("get d1 d2 d3\r\n");

	turns(2);
	check_eq(OPEN, 3);
	rig_lose(rig, c);
	check_eq(OPEN, 0);
	/* The next connection in the slot does not receive the lost one's answers. */
	check(say("get s5\r\n") == c);
	turns(5);
	SAYS(c, "END\r\n");
	check_eq(late_stale(late), 3);
}

TEST(a_connection_that_ends_is_answered_and_closed)
{
	struct conn *c = say("get s1\r\nget s5\r\n");

	rig_eof(rig, c);
	late_hold(late, true);
	turns(5);
	check(!rig_closed(c));
	late_hold(late, false);
	turns(5);
	SAYS(c, S1 "END\r\nEND\r\n");
	check(rig_closed(c));
}

/* In the turn's second pass no request is pending; late_turn() checks that the
 * backend still sees the end. */
TEST(send_follows_a_pass_that_asked_for_nothing_more)
{
	char hits[16 * 8] = "";

	say("set l 0 0 1 noreply\r\nx\r\n");
	turns(1);
	for (uint32_t i = 0; i < 16; i++)
		strcat(hits, "get l\r\n");
	say("get s1\r\n");
	for (uint32_t i = 0; i < OPS_MAX / 16; i++)
		say(hits);
	turns(1);
	check_eq(OPEN, 1);
	check_eq(rig_count(rig, GET_HITS), OPS_MAX);
}

TEST(a_connection_has_a_share)
{
	late_hold(late, true);
	say("get s1 s2 s3 s4 s6 s7 s8 s9 s11 s12 s13 s14 s16 s17 s18 s19\r\n");
	turns(3);
	check_eq(OPEN, PENDING_SESSION_MAX);
}

/* Requests of the same pass take the places of those that are completed. */
TEST(a_key_without_a_place_is_asked_for_when_others_are_answered)
{
	struct conn *c = say("get s1 s6 s11 s16 d1 d2 d3\r\nget d4\r\nget d5 d6 d7\r\n");

	turns(5);
	check(strstr(rig_sent(c, NULL), "VALUE s16 ") != NULL);
	check_eq(OPEN, PENDING_SESSION_MAX);
	turns(8 * TIMEOUT_TURNS);
	check_eq(OPEN, 0);
}

static bool
is_answered(struct conn *c)
{
	const char *sent = rig_sent(c, NULL);
	const size_t len = strlen(sent);

	return len > 5 && memcmp(sent, "VALUE", 5) == 0 && strcmp(sent + len - 5, "END\r\n") == 0;
}

TEST(a_lane_that_stalls_leaves_places_for_others)
{
	struct conn *c;

	fill_lane(0);
	c = say(line_of('s', 1, 1, 0));
	turns(3);
	check(is_answered(c));
}

TEST(a_session_without_a_place_waits_for_one)
{
	struct conn *c;

	fill_lane(0);
	c = say(line_of('s', 0, 1, 0));
	turns(3);
	SAYS(c, "");
	turns(TIMEOUT_TURNS + 10);
	check(is_answered(c));
}

/* The request waits to promote an item, and its body arrives in pieces. By its turn another core
 * has set the key. */
TEST(a_place_that_a_body_in_pieces_needs_no_more_goes_back, start_with_flash, stop)
{
	const struct view key = {(const uint8_t *)"l1", 2};
	struct conn *c;

	late_put(late, 1);
	late_evict(late, 1);
	fill_lane(store_hash(rig->core, key) % LATE_LANES);
	c = say("add l1 0 0 2\r\nx");
	turns(1);
	rig_receive_text(rig, c, "y\r\n");
	turns(2);
	check_eq(OPEN, PENDING_MAX / 2);
	late_put(late, 1);
	SAYS(c, "");
	turns(TIMEOUT_TURNS + 2);
	SAYS(c, "NOT_STORED\r\n");
	check_eq(late_promotions(late), 0);
	turns(2 * TIMEOUT_TURNS);
	check_eq(OPEN, 0);
}

/* The client does not read, so there is no room for its replies. */
TEST(a_client_that_does_not_read_keeps_no_places)
{
	struct conn *c = say("get s1 s2\r\n");

	late_hold(late, true);
	turns(3);
	check_eq(OPEN, 2);
	rig_set_chunks(rig, rig_chunks_used(rig));
	late_hold(late, false);
	turns(3);
	check_eq(OPEN, 2);
	turns(TIMEOUT_TURNS + 2);
	check_eq(OPEN, 0);
	rig_set_chunks(rig, 4096);
	rig_acked(rig, c);
	turns(5);
	check(is_answered(c));
}

TEST(a_client_that_does_not_read_is_granted_no_place)
{
	struct conn *c;

	fill_lane(0);
	c = say(line_of('s', 0, 1, 0));
	turns(2);
	rig_set_chunks(rig, rig_chunks_used(rig));
	turns(3 * TIMEOUT_TURNS);
	check_eq(OPEN, 0);
	rig_set_chunks(rig, 4096);
	rig_acked(rig, c);
	turns(5);
	SAYS(c, NO_ANSWER);
}

/* Read buffers are a quarter of the chunks, and half of them may wait for answers. */
TEST(pending_requests_leave_read_buffers_to_others)
{
	struct conn *c;

	late_hold(late, true);
	rig_set_chunks(rig, 16);
	say("get s1\r\n");
	turns(1);
	say("get s1\r\n");
	turns(1);
	c = say("get s1\r\n");
	turns(2);
	check_eq(OPEN, 2);
	SAYS(c, NO_ANSWER);
	rig_set_chunks(rig, 4096);
}

/* The first client's line arrives in two parts, so its session has a place among the read
 * buffers. */
TEST(who_waits_for_an_answer_yields_no_read_buffer)
{
	struct conn *c[2], *cut;

	late_hold(late, true);
	rig_set_chunks(rig, 20);
	c[0] = say("get s");
	turns(2);
	rig_receive_text(rig, c[0], "1\r\n");
	c[1] = say("get s1\r\n");
	turns(2);
	cut = say("get s");
	turns(2);
	rig_set_chunks(rig, 8);
	say("get s");
	turns(3);
	check(rig_aborted(cut));
	check(!rig_aborted(c[0]) && !rig_aborted(c[1]));
	rig_set_chunks(rig, 4096);
	late_hold(late, false);
	turns(3);
	SAYS(c[0], S1 "END\r\n");
	SAYS(c[1], S1 "END\r\n");
}

/* A pipeline reads one key several times. Requests for it that are open at once may be answered
 * in any order. */
TEST(a_connection_reads_no_older_value_after_a_newer_one)
{
	for (uint32_t round = 0; round < 200; round++) {
		struct conn *c = say("get v1 s2 v1 s3 v1\r\nget v1\r\nmg v1 v\r\nget s1 v1\r\n");
		long last = 0;

		late_pace(late, 7, 0);
		turns(120);
		for (const char *p = rig_sent(c, NULL); (p = strstr(p, "\r\n0")) != NULL; p += 3) {
			const long now = strtol(p + 2, NULL, 10);

			check(now >= last);
			last = now;
		}
		check(last > 0);
		rig_lose(rig, c);
	}
}

/* The value of v1 is the number of answers so far. */
TEST(a_line_asks_for_a_key_once)
{
	for (uint32_t round = 0; round < 50; round++) {
		struct conn *c = say("get v1 s2 v1 s3 v1 v1\r\nget v1\r\n");
		long stamps[5];
		uint32_t n = 0;

		late_pace(late, 7, 0);
		turns(60);
		for (const char *p = rig_sent(c, NULL); (p = strstr(p, "\r\n0")) != NULL; p += 3) {
			check(n < 5);
			stamps[n++] = strtol(p + 2, NULL, 10);
		}
		check_eq(n, 5);
		check(stamps[0] == stamps[1] && stamps[0] == stamps[2] && stamps[0] == stamps[3]);
		check(stamps[4] > stamps[0]);
		rig_lose(rig, c);
	}
}

TEST(a_drain_asks_for_no_key)
{
	struct conn *a = say("get s1\r\n"), *b;

	late_hold(late, true);
	turns(2);
	check(!backend_drain(rig->serve, false));
	b = say("get s1\r\nversion\r\n");
	turns(2);
	SAYS(b, NO_ANSWER "VERSION 9.8.7\r\n");
	SAYS(a, "");
	late_hold(late, false);
	turns(3);
	SAYS(a, S1 "END\r\n");
	check(backend_drain(rig->serve, false));
}

TEST(a_hurried_drain_ends_pending_requests)
{
	struct conn *full, *c;

	fill_lane(0);
	full = say(line_of('s', 0, 1, 0));
	turns(1);
	late_hold(late, true);
	rig_lose_slot(rig, 0); /* the pending one has its place */
	rig_datagram_text(rig, 7, "get d9\r\n");
	check(!backend_drain(rig->serve, false));
	c = say("get s1\r\n");
	turns(2);
	SAYS(full, NO_ANSWER);
	SAYS(c, NO_ANSWER);
	check(!backend_drain(rig->serve, true));
	turns(1);
	check(backend_drain(rig->serve, true));
	turns(3);
	check(backend_drain(rig->serve, true));
	check_eq(OPEN, 0);
}

TEST(a_datagram_is_answered_when_all_its_keys_are_known)
{
	const struct fake_sent *sent;

	late_hold(late, true);
	rig_datagram_text(rig, 7, "get s1 s5 s1\r\n");
	rig_datagram_text(rig, 8, "version\r\n");
	turns(3);
	check_eq(rig_datagrams_sent(rig, &sent), 1);
	late_hold(late, false);
	turns(3);
	check_eq(rig_datagrams_sent(rig, &sent), 2);
	check_eq(sent[1].len, 8 + strlen(S1 S1 "END\r\n"));
	check_bytes(sent[1].bytes + 8, S1 S1 "END\r\n", sent[1].len - 8);
	/* A line beyond the number of places is dropped, and counted. */
	late_hold(late, true);
	for (uint32_t i = 0; i <= PENDING_LINES_MAX; i++)
		rig_datagram_text(rig, (uint16_t)(20 + i), "get s1\r\n");
	turns(2);
	check_eq(rig_count(rig, UDP_DROP_NO_MEMORY), 1);
	check_eq(rig_count(rig, REQ_UDP), 2 + PENDING_LINES_MAX + 1);
}

TEST(a_request_is_counted_once)
{
	say("get s1\r\nget s5 s1\r\nmg s1 v\r\nget d1\r\n");
	turns(3 * TIMEOUT_TURNS);
	check_eq(rig_count(rig, REQ_TCP), 4);
	check_eq(rig_count(rig, CMD_GET), 5);
	check_eq(rig_count(rig, GET_HITS), 3);
	check_eq(rig_count(rig, CMD_META), 1);
}

static uint32_t
stamps_of(struct conn *c, long *stamps, uint32_t most)
{
	uint32_t n = 0;

	for (const char *p = rig_sent(c, NULL); (p = strstr(p, "\r\n0")) != NULL && n < most;
	     p += 3)
		stamps[n++] = strtol(p + 2, NULL, 10);
	return n;
}

/* The second get of v1 is not sent early, since the first one is pending. The third arrives when
 * the first is completed, and is sent. */
TEST(a_get_asked_ahead_is_no_newer_than_one_not_asked_yet)
{
	struct conn *c = say("get v1\r\nget d1\r\nget v1\r\n");
	long stamps[3];

	late_pace(late, 0, 0);
	turns(TIMEOUT_TURNS / 2);
	rig_receive_text(rig, c, "get v1\r\n");
	turns(TIMEOUT_TURNS / 2 + 8);
	check_eq(stamps_of(c, stamps, 3), 3);
	check(stamps[1] <= stamps[2]);
}

/* The first get finds a copy when it arrives, and the copy is then deleted. */
TEST(a_get_asked_ahead_is_no_newer_than_one_whose_copy_went)
{
	const struct view key = {(const uint8_t *)"v1", 2};
	struct conn *c;
	long stamps[2];

	late_pace(late, 0, 10);
	c = say("get v1\r\n");
	turns(4);
	c = say("get d1\r\nget v1\r\n");
	turns(4);
	store_delete(rig->core, key, store_hash(rig->core, key));
	late_pace(late, 0, 0);
	turns(TIMEOUT_TURNS / 2);
	rig_receive_text(rig, c, "get v1\r\n");
	turns(TIMEOUT_TURNS / 2 + 8);
	check_eq(stamps_of(c, stamps, 2), 2);
	check(stamps[0] <= stamps[1]);
}

/* Deletes the copy, as another core would, while the requests behind d1 are checked. */
static bool
copy_goes_meanwhile(void *arg, struct view key, uint64_t hash)
{
	const struct view gone = {(const uint8_t *)"v1", 2};

	if (key.data[0] == 's')
		store_delete(rig->core, gone, store_hash(rig->core, gone));
	return true;
}

TEST(a_copy_that_goes_during_a_search_makes_no_later_get_newer)
{
	long stamps[2];
	struct conn *c;

	late_pace(late, 0, 10);
	say("get v1\r\n");
	turns(4);
	late_pace(late, 0, 0);
	rig->serve->pending->backend.tier.may_have = copy_goes_meanwhile;
	c = say("get d1\r\nget v1\r\nget s1\r\nget v1\r\n");
	turns(2);
	check_eq(OPEN, 2); /* d1, and s1, which is answered: v1 is requested at its turn */
	turns(TIMEOUT_TURNS + 8);
	check_eq(stamps_of(c, stamps, 2), 2);
	check(stamps[0] <= stamps[1]);
}

/* The hashes of two keys end in the same eleven bits, and one of the keys has a copy. */
TEST(a_copy_in_front_holds_up_no_other_key)
{
	char keys[2][16], line[64];
	uint64_t hash[2] = {0};
	struct conn *c;

	for (uint32_t n = 1; n == 1 || (hash[0] ^ hash[1]) % 2048 != 0; n += 5) {
		char *key = keys[n != 1];
		const struct view v = {(const uint8_t *)key, (uint32_t)sprintf(key, "s%u", n)};

		check(n < 200000);
		hash[n != 1] = store_hash(rig->core, v);
	}
	late_pace(late, 0, 10);
	say("get s1\r\n");
	turns(4);
	late_hold(late, true);
	snprintf(line, sizeof line, "get d1 s1 %s\r\n", keys[1]);
	c = say(line);
	turns(2);
	SAYS(c, "");
	check_eq(OPEN, 2);
}

/* The second v1 waits for room behind the long value s3, the third behind s17. */
TEST(a_line_that_repeats_a_key_repeats_its_answer)
{
	const struct view key = {(const uint8_t *)"v1", 2};
	const uint64_t hash = store_hash(rig->core, key);
	struct conn *c;
	struct fill fill;
	char line[64];
	long stamps[3];

	snprintf(line, sizeof line, "get v1 s%u v1 s%u v1\r\n", 3u, 17u);
	late_pace(late, 0, 0);
	rig_set_pieces(rig, 0);
	c = say(line);
	turns(6);
	check_eq(stamps_of(c, stamps, 3), 1);
	check_eq(store_begin(rig->core, &fill, key, hash, 6, 0, 0), STORE_OK);
	store_fill(rig->core, &fill, (const uint8_t *)"000900", 6);
	store_finish(rig->core, &fill, STORE_SET, 0);
	rig_set_pieces(rig, 1);
	turns(2);
	check_eq(stamps_of(c, stamps, 3), 2);
	store_delete(rig->core, key, hash);
	rig_set_pieces(rig, 10);
	turns(6);
	check_eq(stamps_of(c, stamps, 3), 3);
	check(stamps[0] <= stamps[1] && stamps[1] <= stamps[2]);
}

/* Checks that these replies were sent, in this order. */
static void
replies(const char *const *list, uint32_t count)
{
	const struct fake_sent *sent;

	check_eq(rig_datagrams_sent(rig, &sent), count);
	for (uint32_t i = 0; i < count; i++) {
		check_eq(sent[i].len, 8 + strlen(list[i]));
		check_bytes(sent[i].bytes + 8, list[i], sent[i].len - 8);
	}
	rig_forget_datagrams(rig);
}

TEST(requests_of_a_datagram_are_answered_in_their_order)
{
	late_hold(late, true);
	rig_datagram_text(rig, 7, "version\r\nget s1\r\nversion\r\nmn\r\nget s1 s5\r\n");
	rig_datagram_text(rig, 8, "mn\r\n");
	turns(3);
	replies((const char *const[]){"MN\r\n", "VERSION 9.8.7\r\n"}, 2); /* #8 in its frame */
	late_hold(late, false);
	turns(6);
	replies((const char *const[]){S1 "END\r\n", "VERSION 9.8.7\r\n", "MN\r\n", S1 "END\r\n"},
		4);
	check_eq(rig_count(rig, REQ_UDP), 6);
}

/* A pass ends within a line, behind hits. The next pass, which misses, has the whole line. */
TEST(a_line_of_two_passes_is_answered_whole)
{
	char line[8 + 2 * OPS_MAX + 8] = "get", want[OPS_MAX * sizeof S0 + sizeof S1 + 8] = "";

	say("set l 0 0 1 noreply\r\nx\r\n");
	turns(1);
	for (uint32_t i = 0; i < OPS_MAX; i++) {
		strcat(line, " l");
		strcat(want, S0);
	}
	strcat(line, " s1\r\n");
	strcat(strcat(want, S1), "END\r\n");
	rig_datagram_text(rig, 7, line);
	turns(6);
	replies((const char *const[]){want}, 1);
}

TEST(keys_of_later_lines_are_asked_for_with_a_line)
{
	const uint64_t asked = late_asked(late);

	late_hold(late, true);
	rig_datagram_text(rig, 7, "get s1\r\nget s2\r\ngets s1\r\nget s1\r\nmn\r\nget s3\r\n");
	turns(3);
	check_eq(late_asked(late) - asked, 2); /* s1 again at its turn, s3 behind another one */
	late_hold(late, false);
	turns(8);
	check_eq(late_asked(late) - asked, 5);
}

#define D1 "get d1\r\n"

/* A line that is complete does not wait for other lines' requests, and a datagram
 * does not wait for ever. */
TEST(a_line_waits_for_its_own_keys_only)
{
	const struct fake_sent *sent;

	rig_datagram_text(rig, 7, "get s1\r\nget d1\r\nget d2\r\nget d1\r\nget d2\r\nget d1\r\n");
	turns(8);
	check_eq(rig_datagrams_sent(rig, &sent), 1);
	turns(3 * TIMEOUT_TURNS + 8);
	check_eq(rig_datagrams_sent(rig, &sent), 6);
	check_bytes(sent[5].bytes + 8, NO_ANSWER, strlen(NO_ANSWER));
	check_eq(OPEN, 0);
	rig_forget_datagrams(rig);
	rig_datagram_text(rig, 8, D1 D1 D1 "set d1 0 0 1\r\nx\r\n" D1 D1 D1 D1 D1 "mn\r\n");
	turns(4 * TIMEOUT_TURNS + 16);
	check_eq(rig_datagrams_sent(rig, &sent), 10);
	check_bytes(sent[9].bytes + 8, "MN\r\n", 4);
}

/* Calls that the backend got: the keys that it may be asked for are prefetched
 * before they are checked. */
static struct {
	uint64_t hashes[OPS_MAX];
	uint32_t count, calls, asked;
} heard;

static void
hear_missed(void *arg, const uint64_t *hashes, uint32_t count)
{
	check_eq(heard.asked, 0);
	check(count <= OPS_MAX);
	memcpy(heard.hashes, hashes, count * sizeof *hashes);
	heard.count = count;
	heard.calls++;
}

static bool
was_heard(void *arg, struct view key, uint64_t hash)
{
	uint32_t i = 0;

	while (i < heard.count && heard.hashes[i] != hash)
		i++;
	check(i < heard.count);
	heard.asked++;
	return key.data[0] != 'd';
}

TEST(misses_of_a_pass_are_prefetched_together_and_hits_are_not)
{
	struct conn *c = say("set l 0 0 1 noreply\r\nx\r\n");

	turns(1);
	rig->serve->pending->backend.tier.prefetch = hear_missed;
	rig->serve->pending->backend.tier.may_have = was_heard;
	memset(&heard, 0, sizeof heard);
	say("get l l\r\nmg l v\r\n");
	turns(2);
	check_eq(heard.calls, 0);
	rig_receive_text(rig, c, "get d1 l\r\nmn\r\nget d2 d3\r\n");
	rig_datagram_text(rig, 7, "get d4 l d5\r\n");
	turns(2);
	check_eq(heard.calls, 1);
	check_eq(heard.count, 5);
	check_eq(heard.asked, 5);
	SAYS(c, S0 "END\r\nMN\r\nEND\r\n");
	heard.asked = heard.count = 0;
	rig_receive_text(rig, c, "get s1\r\n");
	turns(4);
	check_eq(heard.calls, 2);
	check_eq(heard.count, 1);
	SAYS(c, S0 "END\r\nMN\r\nEND\r\n" S1 "END\r\n");
	rig_forget_datagrams(rig);
}

/* Misses of sets in a pass are prefetched together. A single set's is not, nor are those of keys
 * with an item. */
TEST(missed_keys_that_a_pass_sets_are_prefetched_together, start_with_flash, stop)
{
	struct conn *c = say("set l1 0 0 1 noreply\r\nx\r\n");

	turns(1);
	rig->serve->pending->backend.tier.prefetch = hear_missed;
	memset(&heard, 0, sizeof heard);
	rig_receive_text(rig, c, "set l2 0 0 1 noreply\r\nx\r\n");
	turns(1);
	rig_receive_text(rig, c, "set l1 0 0 1 noreply\r\nx\r\nset l2 0 0 1 noreply\r\nx\r\n");
	turns(1);
	check_eq(heard.calls, 0);
	rig_receive_text(rig, c,
			 "set l1 0 0 1 noreply\r\nx\r\nset l3 0 0 1 noreply\r\nx\r\n"
			 "set l4 0 0 1\r\nx\r\n");
	turns(1);
	check_eq(heard.calls, 1);
	check_eq(heard.count, 2);
	SAYS(c, "STORED\r\n");
}

static void
put_here(const char *name)
{
	const struct view key = {(const uint8_t *)name, (uint32_t)strlen(name)};
	struct fill f;

	check(store_begin(rig->core, &f, key, store_hash(rig->core, key), 1, 0, 0) == STORE_OK);
	store_fill(rig->core, &f, "x", 1);
	check(store_finish(rig->core, &f, STORE_SET, 0) == STORE_OK);
}
static uint32_t
lane_at(const char *name)
{
	const struct view key = {(const uint8_t *)name, (uint32_t)strlen(name)};

	return store_hash(rig->core, key) % LATE_LANES;
}

/* Finds a name with this letter that is on another lane, and is not `other`. */
static void
name_elsewhere(char name[3], char letter, uint32_t lane, const char *other)
{
	for (uint32_t n = 3; n < 10; n++) {
		sprintf(name, "%c%u", letter, n);
		if (n % 5 != 0 && lane_at(name) != lane && strcmp(name, other) != 0)
			return;
	}
	check(false);
}

/* The answer that a connection waits for is dropped before the connection is checked again. The
 * next requests are elsewhere in its buffer, and the next miss finds no place. Gets behind it
 * must be requested by their present place. */
TEST(a_dropped_answer_ends_the_search_ahead)
{
	struct pending_table *pt = rig->serve->pending;
	const uint32_t lane = lane_at("s2");
	char all[64], first[3], last[3], said[32];
	struct conn *c;

	name_elsewhere(first, 's', lane, "");
	name_elsewhere(last, 's', lane, first);
	put_here("l");
	late_hold(late, true);
	c = say("get s1\r\nget l\r\nget s2\r\n");
	turns(1);
	check_eq(OPEN, 2);
	for (uint32_t i = 0; i < 2; i++) { /* others use up the turn's share */
		rig->clock.now_ns += LATE_TIMEOUT_NS;
		serve_turn(rig->serve, &rig->clock);
	}
	late_hold(late, false);
	check_eq(OPEN, 0);
	put_here("s1");
	pt->lanes[lane].open += PENDING_MAX;
	turns(1);
	sprintf(all, "get %s\r\nget l\r\nget %s\r\n", first, last);
	rig_receive_text(rig, c, all);
	turns(3);
	pt->lanes[lane].open -= PENDING_MAX;
	turns(TIMEOUT_TURNS * 3);
	sprintf(said, "VALUE %s ", first);
	check_ptr(strstr(rig_sent(c, NULL), said));
	check_null(strstr(strstr(rig_sent(c, NULL), said) + 1, said));
	sprintf(said, "VALUE %s ", last);
	check_ptr(strstr(rig_sent(c, NULL), said));
}

#define LONG_KEY 200u

/* Long hits are between the gets, so that the former read-ahead place is beyond the buffer. */
TEST(a_dropped_answer_leaves_no_offset_beyond_the_buffer)
{
	struct pending_table *pt = rig->serve->pending;
	const uint32_t lane = lane_at("s2");
	char key[LONG_KEY + 1], hits[9 * (LONG_KEY + 6) + 1] = "", all[sizeof hits + 32];
	char many[64 * 2 + 6] = "get", first[3], last[3];
	struct conn *c, *others[4];

	name_elsewhere(first, 's', lane, "");
	name_elsewhere(last, 'd', lane, "");
	memset(key, 'l', LONG_KEY);
	key[LONG_KEY] = '\0';
	put_here(key);
	put_here("l");
	for (uint32_t i = 0; i < 9; i++)
		sprintf(hits + strlen(hits), "get %s\r\n", key);
	for (uint32_t i = 0; i < 64; i++)
		strcat(many, " l");
	strcat(many, "\r\n");
	late_hold(late, true);
	for (uint32_t i = 0; i < 4; i++)
		others[i] = rig_open(rig);
	sprintf(all, "get s1\r\n%sget s2\r\n", hits);
	c = say(all);
	turns(1);
	check_eq(OPEN, 2);
	for (uint32_t i = 0; i < 4; i++)
		rig_receive_text(rig, others[i], many);
	rig->clock.now_ns += LATE_TIMEOUT_NS;
	late_turn(late); /* four passes of others */
	rig->clock.now_ns += LATE_TIMEOUT_NS;
	late_hold(late, false);
	put_here("s1");
	pt->lanes[lane].open += PENDING_MAX;
	turns(1);
	check_eq(OPEN, 0);
	sprintf(all, "get %s\r\n%sget %s\r\n", first, hits, last);
	rig_receive_text(rig, c, all);
	turns(1);
	rig_receive_text(rig, c, hits);
	turns(6);
	pt->lanes[lane].open -= PENDING_MAX;
	turns(TIMEOUT_TURNS * 3);
	check_eq(OPEN, 0);
}

/* Returns a connection whose first get is completed, whose second found no place, as its server
 * stalls, and whose third has its answer. */
static struct conn *
say_to_one_that_stalls(uint32_t *places)
{
	struct conn *c;

	late_hold(late, true);
	c = say("get s1\r\nget s1\r\nget s2\r\n");
	turns(1);
	*places = lane_at("s1");
	rig->serve->pending->lanes[*places].open += PENDING_MAX;
	late_hold(late, false);
	turns(3);
	return c;
}

/* The wait for a place and the wait for the answer are one timeout. */
TEST(a_request_fails_in_time_however_long_it_waits_for_a_place)
{
	const uint32_t lane = lane_at("s1");
	struct pending_lane *l = &rig->serve->pending->lanes[lane];

	late_hold(late, true);
	for (uint32_t wait = 1; wait < TIMEOUT_TURNS; wait++) {
		struct conn *c;
		uint32_t took = 1;

		l->open += PENDING_MAX;
		c = say("get s1\r\n");
		turns(1);
		for (; took < 2 * TIMEOUT_TURNS && strlen(rig_sent(c, NULL)) == 0; took++) {
			if (took == wait)
				l->open -= PENDING_MAX;
			turns(1);
		}
		if (took <= wait)
			l->open -= PENDING_MAX;
		SAYS(c, NO_ANSWER);
		check(took >= TIMEOUT_TURNS && took <= TIMEOUT_TURNS + 3);
		rig_lose(rig, c);
		turns(1);
	}
}

/* A copy of a key arrives after a place was granted for it: the reply uses the copy, and the
 * place is returned. */
TEST(a_place_that_a_copy_makes_needless_goes_back)
{
	uint32_t lane;
	struct conn *c = say_to_one_that_stalls(&lane);

	put_here("s1");
	rig->serve->pending->lanes[lane].open -= PENDING_MAX;
	turns(30);
	check_ptr(strstr(rig_sent(c, NULL), "VALUE s2 "));
	check_eq(OPEN, 0);
	check_eq(rig->serve->pending->granted, 0);
}

/* The request waited for a place too long, but a copy arrived: the next
 * request is not refused. */
TEST(a_refusal_that_a_copy_makes_needless_is_forgotten)
{
	uint32_t lane;
	struct conn *c = say_to_one_that_stalls(&lane);

	for (uint32_t k = 0; k < PENDING_MAX; k++) /* as if s2 was answered two turns later */
		if (rig->serve->pending->table[k].state == PENDING_READY)
			rig->serve->pending->table[k].deadline_ns += 2 * LATE_TURN_NS;
	put_here("s1");
	turns(TIMEOUT_TURNS + 5);
	rig->serve->pending->lanes[lane].open -= PENDING_MAX;
	turns(30);
	rig_receive_text(rig, c, "get s3\r\n");
	turns(6);
	check_ptr(strstr(rig_sent(c, NULL), "VALUE s3 "));
	check_null(strstr(rig_sent(c, NULL), "SERVER_ERROR"));
}

/* A place is granted when most of the timeout is over, and its server does not answer. */
TEST(a_wait_for_a_place_counts_in_the_timeout)
{
	struct conn *c;
	uint32_t lane;

	late_hold(late, true);
	c = say("get s1\r\n");
	turns(1);
	lane = lane_at("s1");
	rig_lose(rig, c);
	turns(1);
	rig->serve->pending->lanes[lane].open += PENDING_MAX;
	c = say("get s1\r\n");
	turns(TIMEOUT_TURNS - 10);
	SAYS(c, "");
	rig->serve->pending->lanes[lane].open -= PENDING_MAX;
	turns(2);
	check_eq(OPEN, 1);
	turns(8 + TIMEOUT_TURNS / PENDING_WAIT_PARTS + 2);
	SAYS(c, NO_ANSWER);
	check_eq(OPEN, 0);
}

/* The wait for an earlier place does not count when the connection waits for another one. */
TEST(a_second_wait_for_a_place_has_its_own_deadline)
{
	const struct view key = {(const uint8_t *)"s1", 2};
	uint32_t lane;
	struct conn *c = say_to_one_that_stalls(&lane);
	size_t len;

	put_here("s1");
	rig->serve->pending->lanes[lane].open -= PENDING_MAX;
	turns(2 * TIMEOUT_TURNS);
	store_delete(rig->core, key, store_hash(rig->core, key));
	len = strlen(rig_sent(c, NULL));
	rig->serve->pending->lanes[lane].open += PENDING_MAX;
	rig_receive_text(rig, c, "get s1\r\n");
	turns(3);
	rig->serve->pending->lanes[lane].open -= PENDING_MAX;
	check_eq(strlen(rig_sent(c, NULL)), len);
	turns(6);
	check_ptr(strstr(rig_sent(c, NULL) + len, "VALUE s1 "));
}

/* A line never returns a newer value of a key than it has returned before, even if a copy arrives
 * meanwhile. */
TEST(a_line_repeats_its_answer_although_a_copy_is_newer)
{
	const struct view key = {(const uint8_t *)"v1", 2};
	const uint64_t hash = store_hash(rig->core, key);

	for (uint32_t round = 0; round < 100; round++) {
		struct conn *c = say("mn\r\n");
		long stamps[5];

		turns(1);
		late_pace(late, 7, 0);
		rig_receive_text(rig, c, "get v1 s2 v1 s3 v1 v1\r\n");
		for (uint32_t i = 0; i < 60; i++) {
			struct fill fill;

			turns(1);
			if (stamps_of(c, stamps, 5) != 1)
				continue;
			check_eq(store_begin(rig->core, &fill, key, hash, 6, 0, 0), STORE_OK);
			store_fill(rig->core, &fill, (const uint8_t *)"900000", 6);
			store_finish(rig->core, &fill, STORE_SET, 0);
		}
		check_ptr(strstr(rig_sent(c, NULL), "END"));
		check_null(strstr(rig_sent(c, NULL), "900000"));
		store_delete(rig->core, key, hash);
		rig_lose(rig, c);
	}
}

#define CROWD      8u
#define CROWD_HITS 60u /* of a line */

/* Each connection of a crowd has many hits behind one pending get; all
 * are answered in one turn. */
TEST(hits_between_those_that_wait_are_bounded_a_turn)
{
	char text[600] = "get s1\r\n";
	uint64_t most = 0;

	put_here("l");
	for (uint32_t i = 0; i < 3 * CROWD_HITS; i++)
		strcat(text, i % CROWD_HITS == 0               ? "get l"
			     : i % CROWD_HITS < CROWD_HITS - 1 ? " l"
							       : " l\r\n");
	late_hold(late, true);
	for (uint32_t i = 0; i < CROWD; i++) {
		struct conn *c = say("mn\r\n");

		turns(1);
		rig_receive_text(rig, c, text);
		turns(1);
	}
	late_hold(late, false);
	for (uint32_t i = 0; i < 40; i++) {
		const uint64_t before = rig_count(rig, CMD_GET);

		turns(1);
		most = rig_count(rig, CMD_GET) - before > most ? rig_count(rig, CMD_GET) - before
							       : most;
	}
	check(most >= 1 && most <= HITS_PER_TURN + PASSES_MAX * OPS_MAX + CROWD);
}

/* Hits between pending gets are sampled for hot keys like all others. */
TEST(hits_between_those_that_wait_are_sampled)
{
	struct conn *c = say("mn\r\n");
	char text[600] = "get s1\r\n";
	uint32_t before;

	put_here("l");
	for (uint32_t i = 0; i < 60; i++)
		strcat(text, "get l\r\n");
	turns(1);
	late_hold(late, true);
	rig_receive_text(rig, c, text);
	turns(2);
	before = rig->serve->hot.left = 1000;
	late_hold(late, false);
	turns(6);
	check(rig->serve->hot.left <= before - 60);
}

/* Sends lines of hits behind one pending get. Returns how many hits are answered without being
 * executed; *most is the most in one turn. */
static uint32_t
hits_answered(uint32_t *most)
{
	struct conn *c = say("mn\r\n");
	char text[600] = "get s1\r\n";
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 60; i++)
		strcat(text, "get l\r\n");
	turns(1);
	late_hold(late, true);
	rig_receive_text(rig, c, text);
	turns(2);
	late_hold(late, false);
	*most = 0;
	for (uint32_t i = 0; i < 20; i++) {
		turns(1);

		const uint32_t answered = HITS_PER_TURN - rig->serve->pending->hits_left;

		sum += answered;
		*most = answered > *most ? answered : *most;
	}
	rig_lose(rig, c);
	return sum;
}

TEST(no_copy_answers_while_they_are_bypassed, start_with_writes, stop)
{
	uint32_t most;

	put_here("l");
	check(hits_answered(&most) > 0);
	backend_copies_bypass(rig->serve, true);
	check_eq(hits_answered(&most), 0);
}

TEST(hits_between_pending_gets_count_as_requests)
{
	uint32_t most;

	put_here("l");
	rig->serve->cfg.conn_requests_max = 5;
	check(hits_answered(&most) > 0);
	check(most <= 5);
}
