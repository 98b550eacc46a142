/*
 * Listing keys. Goal: stats cachedump, lru_crawler metadump and mgdump name every item that does
 * not move during the walk, with its true fields, however slowly they are read and whichever
 * requests follow; the other connections are served meanwhile. Method: ten thousand items, a
 * reader that takes a little at a time, a writer beside it.
 */
#include "support/test.h"
#include "unit/serve/fake_stack.h"

#include "store/store_state.h"

#include <stdlib.h>

#define ITEMS 10000u

static struct rig *rig;
static uint8_t *times; /* how often each key was listed */

SETUP(start)
{
	struct conn *c;

	rig = rig_create();
	times = calloc(ITEMS, 1);
	c = rig_open(rig);
	for (uint32_t i = 0; i < ITEMS; i++) {
		char text[128];

		/* The items have two sizes; some have an expiry. */
		snprintf(text, sizeof text, "set key%u %u %u %u noreply\r\n%s\r\n", i, i % 7,
			 i % 3 == 0 ? 1000 : 0, i % 2 ? 3 : 40,
			 i % 2 ? "abc" : "0123456789012345678901234567890123456789");
		rig_receive_text(rig, c, text);
		rig_turn(rig);
	}
	rig_lose(rig, c);
}

TEARDOWN(stop)
{
	free(times);
	rig_destroy(rig);
}

/* Returns the whole reply to the request, read in small steps. */
static char *
dumped(const char *request, const char *last)
{
	struct conn *c = rig_open(rig), *other = rig_open(rig);
	uint32_t len, before;
	char *text;

	rig_receive_text(rig, c, request);
	rig_receive_text(rig, c, "version\r\n");
	for (uint32_t turn = 0; turn < 20000; turn++) {
		rig_sent(c, &before);
		rig_receive_text(rig, other, "set other 0 0 1\r\nx\r\ndelete other\r\n");
		rig_turn(rig);
		check_str(rig_sent(other, NULL), "STORED\r\nDELETED\r\n");
		rig_acked(rig, other);
		rig_forget_sent(other);
		rig_sent(c, &len);
		check(len - before <= 8 * CONN_RESERVE_MAX * 2); /* a part of a turn */
		if (turn % 3 == 0)
			rig_acked(rig, c);
		if (len > 15 && strcmp(rig_sent(c, NULL) + len - 15, "VERSION 9.8.7\r\n") == 0)
			break;
	}
	check(len >= 15 + strlen(last));
	check_bytes(rig_sent(c, NULL) + len - 15 - strlen(last), last, strlen(last));
	text = strndup(rig_sent(c, NULL), len - 15 - strlen(last));
	rig_lose(rig, other);
	rig_lose(rig, c);
	check_eq(rig_chunks_used(rig), 0);
	check_eq(rig->store->walks.active, 0);
	return text;
}

static void
every_key_is_listed(uint32_t first, uint32_t step)
{
	for (uint32_t i = first; i < ITEMS; i += step)
		check_eq(times[i], 1);
}

TEST(metadump_says_what_is_true_of_every_item)
{
	char *text = dumped("lru_crawler metadump all\r\n", "END\r\n"), *at = text + 4;

	check_bytes(text, "OK\r\n", 4);
	for (; *at != '\0'; at = strchr(at, '\n') + 1) {
		unsigned key, class, size, flags;
		long exp, la;
		unsigned long long cas;
		int end = 0;

		check_eq(sscanf(at,
				"key=key%u exp=%ld la=%ld cas=%llu fetch=no cls=%u size=%u "
				"flags=%u %n",
				&key, &exp, &la, &cas, &class, &size, &flags, &end),
			 7);
		check_eq(at[end - 1], '\n'); /* the last row is a space and a line feed */
		check_eq(at[end - 2], ' ');
		check(key < ITEMS);
		times[key]++;
		check_eq(exp, key % 3 == 0 ? FAKE_UNIX + 1000 : -1);
		check(la <= FAKE_UNIX && la > FAKE_UNIX - 1000);
		check_eq(flags, key % 7);
		check(size >= 8 + (key % 2 ? 3u : 40u));
		check(class >= 1 && cas > 0);
	}
	every_key_is_listed(0, 1);
	free(text);
}

TEST(mgdump_lists_requests)
{
	char *text = dumped("lru_crawler mgdump hash\r\n", "EN\r\n"), *at = text + 4;

	for (; *at != '\0'; at = strchr(at, '\n') + 1) {
		unsigned key;
		int end = 0;

		check_eq(sscanf(at, "mg key%u%n", &key, &end), 1);
		check_bytes(at + end, "\r\n", 2);
		times[key]++;
	}
	every_key_is_listed(0, 1);
	free(text);
}

TEST(classes_can_be_chosen)
{
	char *text = dumped("lru_crawler mgdump all\r\n", "EN\r\n");
	uint32_t in[2] = {0, 0};

	free(text);
	for (uint32_t class = 1; class < 20; class ++) {
		char request[64];

		snprintf(request, sizeof request, "lru_crawler mgdump %u\r\n", class);
		text = dumped(request, "EN\r\n");
		for (char *at = text + 4; *at != '\0'; at = strchr(at, '\n') + 1) {
			const unsigned key = (unsigned)atoi(at + 6);

			times[key]++;
			in[key % 2]++;
		}
		free(text);
	}
	every_key_is_listed(0, 1);
	check_eq(in[0], ITEMS / 2);
	check_eq(in[1], ITEMS / 2);
}

TEST(cachedump_lists_a_class_up_to_its_limit)
{
	uint32_t all = 0;

	for (uint32_t class = 1; class < 20; class ++) {
		char request[64], *text;

		snprintf(request, sizeof request, "stats cachedump %u 0\r\n", class);
		text = dumped(request, "END\r\n");
		for (char *at = text; *at != '\0'; at = strchr(at, '\n') + 1) {
			unsigned key, bytes;
			long exp;
			int end = 0;

			check_eq(sscanf(at, "ITEM key%u [%u b; %ld s]%n", &key, &bytes, &exp, &end),
				 3);
			check_bytes(at + end, "\r\n", 2);
			check_eq(bytes, key % 2 ? 3 : 40);
			check_eq(exp, key % 3 == 0 ? FAKE_UNIX + 1000 : 0);
			times[key]++;
			all++;
		}
		free(text);
		snprintf(request, sizeof request, "stats cachedump %u 7\r\n", class);
		text = dumped(request, "END\r\n");
		uint32_t lines = 0;
		for (char *at = text; *at != '\0'; at = strchr(at, '\n') + 1)
			lines++;
		check(lines == 7 || lines == 0);
		free(text);
	}
	check_eq(all, ITEMS);
	every_key_is_listed(0, 1);
}

TEST(a_reader_that_goes_leaves_nothing)
{
	for (uint32_t turns = 1; turns < 12; turns++) {
		struct conn *c = rig_open(rig);

		rig_receive_text(rig, c, "lru_crawler metadump all\r\nget a\r\n");
		for (uint32_t i = 0; i < turns; i++)
			rig_turn(rig);
		check_eq(rig->store->walks.active, 1);
		rig_lose(rig, c);
		check_eq(rig_chunks_used(rig), 0);
		check_eq(rig->store->walks.active, 0);
	}
}
