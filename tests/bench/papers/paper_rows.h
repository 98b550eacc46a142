/*
 * paper_rows.h - what the programs of the papers have in common: their options, and the rows that
 * they print.
 *
 * Shape:  a row is one JSON object on a line of stdout: {"part", "figure", "series", "x", "y",
 *         "unit", "spread", "n", "kind"}, and "keys" where a table's size matters. A time is the
 *         median of n rounds, its spread the least and the most; a count has no spread.
 * Units:  as each row says.
 * Errors: an option that is none ends the program with 2.
 */
#ifndef CLOCKOO_PAPER_ROWS_H
#define CLOCKOO_PAPER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAPER_FIGURES_MAX 16u
#define PAPER_ROUNDS_MAX  64u

/* TINY only shows that a program runs. */
enum paper_size { PAPER_TINY, PAPER_QUICK, PAPER_FULL };

struct paper_options {
	enum paper_size size;
	uint64_t seed;
	const char *figures[PAPER_FIGURES_MAX];
	uint32_t figure_count; /* 0: all */
};

/* figures: the names that --figure may have, NULL at the end. */
void paper_options_read(struct paper_options *o, int argc, char **argv, const char *const *figures);
bool paper_wants(const struct paper_options *o, const char *figure);

static inline uint32_t
paper_sized(const struct paper_options *o, uint32_t tiny, uint32_t quick, uint32_t full)
{
	return o->size == PAPER_TINY ? tiny : o->size == PAPER_QUICK ? quick : full;
}

/* Where a row stands. label takes the place of x, unless it is NULL. */
struct paper_row {
	const char *part, *figure, *series, *label, *unit;
	double x;
	uint64_t keys; /* 0: not said */
};

void paper_count(const struct paper_row *row, double y);

/* One figure of each round. */
struct paper_rounds {
	double value[PAPER_ROUNDS_MAX];
	uint32_t count;
};

void paper_rounds_add(struct paper_rounds *r, double value);
double paper_median(const struct paper_rounds *r);
void paper_time(const struct paper_row *row, const struct paper_rounds *rounds);

#endif
