/*
 * test_front_cells.c - a cell records the writer of its keys from the write's begin to its end,
 * and an earlier reader of the cell detects the write.
 *
 * Goal:   each rule of front_cells.h and front_fates.h by itself; tests/sim/test_front_copies
 *         tests what they ensure together.
 * Method: hashes of one cell with equal and other prints, by hand.
 */
#include "front/front_fates.h"
#include "support/test.h"

#include <stdlib.h>

#define HASH  0x1234000000420007ull
#define OTHER 0x1234000000430007ull /* in HASH's cell, with another print */
#define TWIN  0x9999000000420007ull /* in HASH's cell, with its print */
#define ELSE  0x1234000000420008ull /* in another cell */

static struct front_cells *cells;
static struct front_fates fates;

SETUP(cells_make)
{
	cells = aligned_alloc(64, sizeof *cells);
	check_ptr(cells);
	memset(cells, 0xff, sizeof *cells);
	front_cells_init(cells);
	memset(&fates, 0, sizeof fates);
}

TEARDOWN(cells_free)
{
	free(cells);
}

static bool
is_clean(uint64_t hash)
{
	const bool loaded = front_cell_load_mt(cells, hash).clean;

	check_eq(front_cell_look_mt(cells, hash).clean, loaded);
	return loaded;
}

/* Begins a write; true if it is the cell's only one. */
static bool
begin(uint64_t hash)
{
	struct front_seen own;

	check(front_write_begin_mt(cells, hash, &own));
	check_eq(front_write_is_alone_mt(cells, hash, &own), own.clean);
	return own.clean;
}

TEST(a_key_has_a_writer_until_its_end)
{
	check(is_clean(HASH));
	begin(HASH);
	check(!is_clean(HASH) && !is_clean(TWIN));
	check(is_clean(OTHER) && is_clean(ELSE));
	begin(HASH);
	front_write_end_mt(cells, HASH);
	check(!is_clean(HASH));
	front_write_end_mt(cells, HASH);
	check(is_clean(HASH));
}

TEST(writers_of_two_keys_are_everybodys)
{
	begin(HASH);
	begin(OTHER);
	check(!is_clean(HASH) && !is_clean(OTHER));
	front_write_end_mt(cells, HASH);
	check(!is_clean(HASH) && !is_clean(OTHER));
	begin(OTHER);
	check(!is_clean(HASH));
	front_write_end_mt(cells, OTHER);
	front_write_end_mt(cells, OTHER);
	check(is_clean(HASH) && is_clean(OTHER));
	begin(OTHER);
	check(is_clean(HASH) && !is_clean(OTHER));
}

TEST(what_was_seen_stands_until_the_next_write)
{
	struct front_seen seen = front_cell_load_mt(cells, HASH);

	check(front_cell_stands_mt(cells, HASH, &seen));
	begin(HASH);
	check(!front_cell_stands_mt(cells, HASH, &seen));
	front_write_end_mt(cells, HASH);
	check(!front_cell_stands_mt(cells, HASH, &seen));
	seen = front_cell_look_mt(cells, HASH);
	check(front_cell_stands_mt(cells, HASH, &seen));
	front_cell_step_mt(cells, HASH);
	check(!front_cell_stands_mt(cells, HASH, &seen));
	begin(HASH);
	seen = front_cell_load_mt(cells, HASH);
	front_write_end_mt(cells, HASH);
	check(!front_cell_stands_mt(cells, HASH, &seen));
}

TEST(a_write_is_alone_or_not)
{
	check(begin(HASH));
	check(!begin(HASH) && !begin(TWIN));
	check(begin(ELSE));
	front_write_end_mt(cells, HASH);
	check(!begin(HASH));
	for (uint32_t i = 0; i < 3; i++)
		front_write_end_mt(cells, HASH);
	front_cell_step_mt(cells, HASH);
	check(begin(HASH));
}

TEST(a_write_is_alone_until_another_begins)
{
	struct front_seen own, flushed;

	check(front_write_begin_mt(cells, HASH, &own));
	check(front_write_begin_mt(cells, ELSE, &flushed));
	check(front_write_is_alone_mt(cells, HASH, &own));
	begin(HASH);
	front_write_end_mt(cells, HASH);
	check(!front_write_is_alone_mt(cells, HASH, &own));
	check(front_write_is_alone_mt(cells, ELSE, &flushed));
	front_flush_begin_mt(cells);
	front_flush_end_mt(cells);
	check(!front_write_is_alone_mt(cells, ELSE, &flushed));
}

TEST(a_flush_is_every_keys)
{
	const struct front_seen before = front_cell_load_mt(cells, HASH);
	struct front_seen seen;

	front_flush_begin_mt(cells);
	check(!is_clean(HASH) && !is_clean(ELSE));
	check(!front_cell_stands_mt(cells, HASH, &before));
	check(!begin(ELSE));
	front_flush_begin_mt(cells);
	seen = front_cell_load_mt(cells, HASH);
	front_flush_end_mt(cells);
	check(!is_clean(HASH));
	front_flush_end_mt(cells);
	check(is_clean(HASH));
	check(!front_cell_stands_mt(cells, HASH, &seen));
	check(!front_cell_stands_mt(cells, HASH, &before));
}

TEST(a_fate_that_nobody_knows_is_a_writer_for_ever)
{
	begin(HASH);
	begin(HASH);
	front_write_lost_mt(cells, HASH);
	check(!is_clean(HASH) && !is_clean(OTHER) && is_clean(ELSE));
	front_write_end_mt(cells, HASH);
	check(!is_clean(HASH) && !is_clean(OTHER));
	check(!begin(HASH));
	front_write_lost_mt(cells, HASH);
	check(!is_clean(HASH));
}

TEST(writers_have_a_bound)
{
	struct front_seen own;

	for (uint32_t i = 0; i < FRONT_WRITERS_MAX; i++)
		begin(i % 2 ? HASH : OTHER);
	check(!front_write_begin_mt(cells, HASH, &own));
	for (uint32_t i = 0; i < FRONT_WRITERS_MAX; i++)
		front_write_end_mt(cells, HASH);
	check(is_clean(HASH));
}

/* ---- fates ---- */

#define SERVER 3u
#define PORT   40000u

static enum front_fate
lose(uint32_t server, uint16_t port, uint64_t hash)
{
	begin(hash);
	return front_fates_add(&fates, cells, server, port, hash);
}

/* Lists the server's connections: the one of this port, or none if the port is 0. Returns the
 * number of fates that end. */
static uint32_t
list(uint32_t server, uint16_t port)
{
	const uint32_t pass = front_fates_begin(&fates);

	if (port != 0)
		front_fates_listed(&fates, pass, server, port);
	return front_fates_end(&fates, cells, pass, server);
}

TEST(a_list_without_its_connection_ends_a_fate)
{
	check(!front_fates_has(&fates, SERVER));
	check_eq(lose(SERVER, PORT, HASH), FRONT_FATE_NOTED);
	check_eq(lose(SERVER, PORT, ELSE), FRONT_FATE_NOTED);
	check(front_fates_has(&fates, SERVER) && !front_fates_has(&fates, SERVER + 1));
	check_eq(list(SERVER, PORT), 0);
	check_eq(list(SERVER + 1, 0), 0);
	check(!is_clean(HASH) && !is_clean(ELSE) && is_clean(OTHER));
	check_eq(list(SERVER, PORT + 1), 2);
	check(is_clean(HASH) && is_clean(ELSE));
	check(!front_fates_has(&fates, SERVER));
	check_eq(list(SERVER, 0), 0);
}

/* A list under way ends no fate that was added after its begin: the list may be older. */
TEST(a_list_says_nothing_of_what_is_lost_later)
{
	uint32_t pass;

	lose(SERVER, PORT, ELSE);
	pass = front_fates_begin(&fates);
	lose(SERVER, PORT + 1, HASH);
	check_eq(lose(SERVER, PORT, OTHER), FRONT_FATE_NOTED);
	check_eq(front_fates_end(&fates, cells, pass, SERVER), 0);
	check_eq(list(SERVER, 0), 3);
	check(is_clean(HASH) && is_clean(ELSE));
}

/* A cell becomes clean when all of its lost connections have ended. */
TEST(a_cell_waits_for_each_of_its_connections)
{
	lose(SERVER, PORT, HASH);
	check_eq(lose(SERVER, PORT + 1, HASH), FRONT_FATE_NOTED);
	check_eq(lose(SERVER + 1, PORT, HASH), FRONT_FATE_NOTED);
	check_eq(list(SERVER, PORT + 1), 1);
	check_eq(list(SERVER, 0), 1);
	check(!is_clean(HASH));
	check_eq(list(SERVER + 1, 0), 1);
	check(is_clean(HASH));
}

TEST(a_key_that_is_lost_often_takes_one_place)
{
	check_eq(lose(SERVER, PORT, HASH), FRONT_FATE_NOTED);
	for (uint32_t i = 0; i < 2 * FRONT_FATES; i++)
		check_eq(lose(SERVER, PORT, i % 2 ? HASH : OTHER), FRONT_FATE_STANDS);
	check_eq(list(SERVER, 0), 1);
	check(is_clean(HASH) && is_clean(OTHER));
}

TEST(what_finds_no_place_is_unknown_for_good)
{
	static enum front_fate fate[2 * FRONT_FATES];
	uint32_t noted = 0;

	for (uint32_t i = 0; i < 2 * FRONT_FATES; i++) {
		fate[i] = lose(SERVER, (uint16_t)(PORT + i % 7), i);
		noted += fate[i] == FRONT_FATE_NOTED;
	}
	check(noted > FRONT_FATES * 9 / 10 && noted <= FRONT_FATES);
	check_eq(list(SERVER, 0), noted);
	for (uint32_t i = 0; i < 2 * FRONT_FATES; i++)
		check_eq(is_clean(i), fate[i] == FRONT_FATE_NOTED);
	for (uint32_t i = 0; i <= FRONT_FATES_CONNS; i++)
		fate[i] = lose(SERVER, (uint16_t)(1 + i), 3 * FRONT_FATES + i);
	check_eq(fate[FRONT_FATES_CONNS - 1], FRONT_FATE_NOTED);
	check_eq(fate[FRONT_FATES_CONNS], FRONT_FATE_UNKNOWN);
	check_eq(list(SERVER, 0), FRONT_FATES_CONNS);
}

TEST(who_has_moved_tells_nothing)
{
	lose(SERVER, PORT, HASH);
	lose(SERVER + 1, PORT, ELSE);
	front_fates_drop(&fates, cells, SERVER);
	check(!front_fates_has(&fates, SERVER));
	check_eq(list(SERVER, 0), 0);
	check_eq(list(SERVER + 1, 0), 1);
	check(!is_clean(HASH) && is_clean(ELSE));
}

/* Only one core at a time may renew the copies; another core changes nothing. */
TEST(copies_are_fresh_once_one_core_has_ended_them)
{
	check(front_cells_fresh_mt(cells, 99, 100));
	check(!front_cells_fresh_mt(cells, 100, 100));
	check(front_cells_renew_mt(cells));
	check(!front_cells_renew_mt(cells));
	check(!front_cells_fresh_mt(cells, 100, 100));
	front_cells_renewed_mt(cells, false, 100);
	check(!front_cells_fresh_mt(cells, 100, 100));
	check(front_cells_renew_mt(cells));
	front_cells_renewed_mt(cells, true, 100);
	/* The turn of this core began earlier. */
	check(front_cells_fresh_mt(cells, 50, 100) && front_cells_fresh_mt(cells, 199, 100));
	check(!front_cells_fresh_mt(cells, 200, 100));
}
