/*
 * test_versions.c - a version word records the writer of its keys from the write's begin to its
 * end, and an earlier reader of the version word detects the write.
 *
 * Goal:   each rule of versions.h and in_doubt.h by itself; tests/sim/test_front_copies
 *         tests what they ensure together.
 * Method: hashes of one version word with equal and other prints, by hand.
 */
#include "copies/in_doubt.h"
#include "support/test.h"

#include <stdlib.h>

#define HASH  0x1234000000420007ull
#define OTHER 0x1234000000430007ull /* in HASH's version word, with another tag */
#define TWIN  0x9999000000420007ull /* in HASH's version word, with its tag */
#define ELSE  0x1234000000420008ull /* in another version word */

static struct versions *versions;
static struct in_doubt doubts;

SETUP(versions_make)
{
	versions = aligned_alloc(64, sizeof *versions);
	check_ptr(versions);
	memset(versions, 0xff, sizeof *versions);
	versions_init(versions);
	memset(&doubts, 0, sizeof doubts);
}

TEARDOWN(versions_free)
{
	free(versions);
}

static bool
is_clean(uint64_t hash)
{
	const bool loaded = version_load_mt(versions, hash).clean;

	check_eq(version_load_ordered_mt(versions, hash).clean, loaded);
	return loaded;
}

/* Begins a write; true if it is the version word's only one. */
static bool
begin(uint64_t hash)
{
	struct version own;

	check(version_write_begin_mt(versions, hash, &own));
	check_eq(version_write_is_alone_mt(versions, hash, &own), own.clean);
	return own.clean;
}

TEST(a_key_has_a_writer_until_its_end)
{
	check(is_clean(HASH));
	begin(HASH);
	check(!is_clean(HASH) && !is_clean(TWIN));
	check(is_clean(OTHER) && is_clean(ELSE));
	begin(HASH);
	version_write_end_mt(versions, HASH);
	check(!is_clean(HASH));
	version_write_end_mt(versions, HASH);
	check(is_clean(HASH));
}

TEST(writers_of_two_keys_are_everybodys)
{
	begin(HASH);
	begin(OTHER);
	check(!is_clean(HASH) && !is_clean(OTHER));
	version_write_end_mt(versions, HASH);
	check(!is_clean(HASH) && !is_clean(OTHER));
	begin(OTHER);
	check(!is_clean(HASH));
	version_write_end_mt(versions, OTHER);
	version_write_end_mt(versions, OTHER);
	check(is_clean(HASH) && is_clean(OTHER));
	begin(OTHER);
	check(is_clean(HASH) && !is_clean(OTHER));
}

TEST(what_was_seen_stands_until_the_next_write)
{
	struct version seen = version_load_mt(versions, HASH);

	check(version_is_current_mt(versions, HASH, &seen));
	begin(HASH);
	check(!version_is_current_mt(versions, HASH, &seen));
	version_write_end_mt(versions, HASH);
	check(!version_is_current_mt(versions, HASH, &seen));
	seen = version_load_ordered_mt(versions, HASH);
	check(version_is_current_mt(versions, HASH, &seen));
	version_advance_mt(versions, HASH);
	check(!version_is_current_mt(versions, HASH, &seen));
	begin(HASH);
	seen = version_load_mt(versions, HASH);
	version_write_end_mt(versions, HASH);
	check(!version_is_current_mt(versions, HASH, &seen));
}

TEST(a_write_is_alone_or_not)
{
	check(begin(HASH));
	check(!begin(HASH) && !begin(TWIN));
	check(begin(ELSE));
	version_write_end_mt(versions, HASH);
	check(!begin(HASH));
	for (uint32_t i = 0; i < 3; i++)
		version_write_end_mt(versions, HASH);
	version_advance_mt(versions, HASH);
	check(begin(HASH));
}

TEST(a_write_is_alone_until_another_begins)
{
	struct version own, flushed;

	check(version_write_begin_mt(versions, HASH, &own));
	check(version_write_begin_mt(versions, ELSE, &flushed));
	check(version_write_is_alone_mt(versions, HASH, &own));
	begin(HASH);
	version_write_end_mt(versions, HASH);
	check(!version_write_is_alone_mt(versions, HASH, &own));
	check(version_write_is_alone_mt(versions, ELSE, &flushed));
	versions_flush_begin_mt(versions);
	versions_flush_end_mt(versions);
	check(!version_write_is_alone_mt(versions, ELSE, &flushed));
}

TEST(a_flush_is_every_keys)
{
	const struct version before = version_load_mt(versions, HASH);
	struct version seen;

	versions_flush_begin_mt(versions);
	check(!is_clean(HASH) && !is_clean(ELSE));
	check(!version_is_current_mt(versions, HASH, &before));
	check(!begin(ELSE));
	versions_flush_begin_mt(versions);
	seen = version_load_mt(versions, HASH);
	versions_flush_end_mt(versions);
	check(!is_clean(HASH));
	versions_flush_end_mt(versions);
	check(is_clean(HASH));
	check(!version_is_current_mt(versions, HASH, &seen));
	check(!version_is_current_mt(versions, HASH, &before));
}

TEST(a_write_of_unknown_outcome_is_a_writer_for_ever)
{
	begin(HASH);
	begin(HASH);
	version_write_lost_mt(versions, HASH);
	check(!is_clean(HASH) && !is_clean(OTHER) && is_clean(ELSE));
	version_write_end_mt(versions, HASH);
	check(!is_clean(HASH) && !is_clean(OTHER));
	check(!begin(HASH));
	version_write_lost_mt(versions, HASH);
	check(!is_clean(HASH));
}

TEST(writers_have_a_bound)
{
	struct version own;

	for (uint32_t i = 0; i < VERSION_WRITERS_MAX; i++)
		begin(i % 2 ? HASH : OTHER);
	check(!version_write_begin_mt(versions, HASH, &own));
	for (uint32_t i = 0; i < VERSION_WRITERS_MAX; i++)
		version_write_end_mt(versions, HASH);
	check(is_clean(HASH));
}

/* ---- doubts ---- */

#define SERVER 3u
#define PORT   40000u

static enum in_doubt_result
lose(uint32_t server, uint16_t port, uint64_t hash)
{
	begin(hash);
	return in_doubt_add(&doubts, versions, server, port, hash);
}

/* Lists the server's connections: the one of this port, or none if the port is 0. Returns the
 * number of doubts that end. */
static uint32_t
list(uint32_t server, uint16_t port)
{
	const uint32_t pass = in_doubt_pass_begin(&doubts);

	if (port != 0)
		in_doubt_listed(&doubts, pass, server, port);
	return in_doubt_pass_end(&doubts, versions, pass, server);
}

TEST(a_list_without_its_connection_ends_a_doubt)
{
	check(!in_doubt_has(&doubts, SERVER));
	check_eq(lose(SERVER, PORT, HASH), IN_DOUBT_NOTED);
	check_eq(lose(SERVER, PORT, ELSE), IN_DOUBT_NOTED);
	check(in_doubt_has(&doubts, SERVER) && !in_doubt_has(&doubts, SERVER + 1));
	check_eq(list(SERVER, PORT), 0);
	check_eq(list(SERVER + 1, 0), 0);
	check(!is_clean(HASH) && !is_clean(ELSE) && is_clean(OTHER));
	check_eq(list(SERVER, PORT + 1), 2);
	check(is_clean(HASH) && is_clean(ELSE));
	check(!in_doubt_has(&doubts, SERVER));
	check_eq(list(SERVER, 0), 0);
}

/* A list under way ends no doubt that was added after its begin: the list may be older. */
TEST(a_list_says_nothing_of_what_is_lost_later)
{
	uint32_t pass;

	lose(SERVER, PORT, ELSE);
	pass = in_doubt_pass_begin(&doubts);
	lose(SERVER, PORT + 1, HASH);
	check_eq(lose(SERVER, PORT, OTHER), IN_DOUBT_NOTED);
	check_eq(in_doubt_pass_end(&doubts, versions, pass, SERVER), 0);
	check_eq(list(SERVER, 0), 3);
	check(is_clean(HASH) && is_clean(ELSE));
}

/* A version word becomes clean when all of its lost connections have ended. */
TEST(a_version_word_waits_for_each_of_its_connections)
{
	lose(SERVER, PORT, HASH);
	check_eq(lose(SERVER, PORT + 1, HASH), IN_DOUBT_NOTED);
	check_eq(lose(SERVER + 1, PORT, HASH), IN_DOUBT_NOTED);
	check_eq(list(SERVER, PORT + 1), 1);
	check_eq(list(SERVER, 0), 1);
	check(!is_clean(HASH));
	check_eq(list(SERVER + 1, 0), 1);
	check(is_clean(HASH));
}

TEST(a_key_that_is_lost_often_takes_one_place)
{
	check_eq(lose(SERVER, PORT, HASH), IN_DOUBT_NOTED);
	for (uint32_t i = 0; i < 2 * IN_DOUBT_MAX; i++)
		check_eq(lose(SERVER, PORT, i % 2 ? HASH : OTHER), IN_DOUBT_BEFORE);
	check_eq(list(SERVER, 0), 1);
	check(is_clean(HASH) && is_clean(OTHER));
}

TEST(what_finds_no_place_is_unknown_for_good)
{
	static enum in_doubt_result result[2 * IN_DOUBT_MAX];
	uint32_t noted = 0;

	for (uint32_t i = 0; i < 2 * IN_DOUBT_MAX; i++) {
		result[i] = lose(SERVER, (uint16_t)(PORT + i % 7), i);
		noted += result[i] == IN_DOUBT_NOTED;
	}
	check(noted > IN_DOUBT_MAX * 9 / 10 && noted <= IN_DOUBT_MAX);
	check_eq(list(SERVER, 0), noted);
	for (uint32_t i = 0; i < 2 * IN_DOUBT_MAX; i++)
		check_eq(is_clean(i), result[i] == IN_DOUBT_NOTED);
	for (uint32_t i = 0; i <= IN_DOUBT_CONNS; i++)
		result[i] = lose(SERVER, (uint16_t)(1 + i), 3 * IN_DOUBT_MAX + i);
	check_eq(result[IN_DOUBT_CONNS - 1], IN_DOUBT_NOTED);
	check_eq(result[IN_DOUBT_CONNS], IN_DOUBT_FOR_EVER);
	check_eq(list(SERVER, 0), IN_DOUBT_CONNS);
}

TEST(who_has_moved_tells_nothing)
{
	lose(SERVER, PORT, HASH);
	lose(SERVER + 1, PORT, ELSE);
	in_doubt_drop(&doubts, versions, SERVER);
	check(!in_doubt_has(&doubts, SERVER));
	check_eq(list(SERVER, 0), 0);
	check_eq(list(SERVER + 1, 0), 1);
	check(!is_clean(HASH) && is_clean(ELSE));
}

/* Only one core at a time may renew the copies; another core changes nothing. */
TEST(copies_are_fresh_once_one_core_has_ended_them)
{
	check(versions_are_fresh_mt(versions, 99, 100));
	check(!versions_are_fresh_mt(versions, 100, 100));
	check(versions_renew_begin_mt(versions));
	check(!versions_renew_begin_mt(versions));
	check(!versions_are_fresh_mt(versions, 100, 100));
	versions_renew_end_mt(versions, false, 100);
	check(!versions_are_fresh_mt(versions, 100, 100));
	check(versions_renew_begin_mt(versions));
	versions_renew_end_mt(versions, true, 100);
	/* The turn of this core began earlier. */
	check(versions_are_fresh_mt(versions, 50, 100) &&
	      versions_are_fresh_mt(versions, 199, 100));
	check(!versions_are_fresh_mt(versions, 200, 100));
}
