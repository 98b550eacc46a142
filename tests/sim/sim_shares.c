/*
 * sim_shares.c - the cells of a test of shares.
 */
#include "sim_shares.h"

#include "sim_core.h"
#include "sim_rng.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define COUNTS 5u
#define CELLS  (COUNTS * SIM_SOURCES)
#define SEED   39u

const char *const sim_sources_names[SIM_SOURCES] = {
	[SIM_SOURCES_SAME] = "the others' address",
	[SIM_SOURCES_NEAR] = "addresses of the others' /24",
	[SIM_SOURCES_FAR] = "as many prefixes",
};

struct totals {
	uint32_t cells, failed;
};

static struct sim_cell
cell_of(uint32_t i)
{
	static const uint32_t counts[COUNTS] = {1, 5, 60, 300, 900};

	return (struct sim_cell){counts[i / SIM_SOURCES], (enum sim_sources)(i % SIM_SOURCES)};
}

/* Reads "cell POOL COUNT SOURCES". False: the argument is another. */
static bool
cell_asked(const struct sim_shares *sh, const char *pool, struct sim_cell *cell)
{
	static const char *const words[SIM_SOURCES] = {"same", "near", "far"};
	char of[32], sources[8];

	if (sh->asked == NULL ||
	    sscanf(sh->asked, "cell %31s %u %7s", of, &cell->count, sources) != 3 ||
	    strcmp(of, pool) != 0)
		return false;
	for (uint32_t i = 0; i < SIM_SOURCES; i++) {
		cell->sources = (enum sim_sources)i;
		if (strcmp(words[i], sources) == 0)
			return true;
	}
	return false;
}

static void
cell_run(const struct sim_shares *sh, struct totals *t, uint32_t row, struct sim_cell cell)
{
	if (cell.count == 1 && cell.sources != SIM_SOURCES_SAME)
		return;
	t->cells++;
	if (sh->run(sh->arg, row, cell))
		return;
	t->failed++;
	print_message("^ failed\n");
}

static void
drawn_run(const struct sim_shares *sh, struct totals *t)
{
	struct sim_rng rng = {SEED};

	for (uint32_t i = 0; i < sh->drawn; i++) {
		const uint32_t row = (uint32_t)sim_below(&rng, sh->rows);

		cell_run(sh, t, row, cell_of((uint32_t)sim_below(&rng, CELLS)));
	}
}

/* True if the argument is this word, for all pools or for this one. */
static bool
asks(const struct sim_shares *sh, const char *word, const char *pool)
{
	const size_t len = strlen(word);

	return sh->asked != NULL && strncmp(sh->asked, word, len) == 0 &&
	       (sh->asked[len] == '\0' ||
		(sh->asked[len] == ' ' && strcmp(sh->asked + len + 1, pool) == 0));
}

bool
sim_shares_run(const struct sim_shares *sh)
{
	struct totals t = {0};

	for (uint32_t i = 0; i < sh->rows; i++) {
		const struct sim_row *row =
			(const void *)((const char *)sh->first + i * sh->stride);
		const bool pool = asks(sh, row->pool, "");
		struct sim_cell one;

		if (cell_asked(sh, row->pool, &one))
			cell_run(sh, &t, i, one);
		for (uint32_t c = 0; asks(sh, "matrix", row->pool) && c < CELLS; c++)
			cell_run(sh, &t, i, cell_of(c));
		if (asks(sh, "all", row->pool) || (sh->asked == NULL && row->worst) ||
		    (pool && t.failed == 0))
			cell_run(sh, &t, i, row->cell);
	}
	if (sh->asked == NULL)
		drawn_run(sh, &t);
	print_message("%u cells, %u failed\n", t.cells, t.failed);
	return t.cells > 0 && t.failed == 0;
}

bool
sim_answers_hold(uint64_t beside, uint64_t alone)
{
	return beside * 20 >= alone * 19;
}

bool
sim_p99_holds(uint64_t beside, uint64_t alone)
{
	return beside * 2 <= alone * 3;
}

uint32_t
sim_source_ip(enum sim_sources sources, uint32_t number)
{
	const uint32_t n = 2 + number % 250;

	if (sources == SIM_SOURCES_SAME)
		return SIM_PEERS + 1;
	return sources == SIM_SOURCES_NEAR ? SIM_PEERS + n : SIM_PEERS + (n << 8);
}
