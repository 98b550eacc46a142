/*
 * paper_rows.h - options and output rows of the papers' programs.
 *
 * Shape:  a row is one JSON object on a line of stdout: {"part", "figure", "series", "x", "y",
 *         "unit", "spread", "n", "kind"}, and "keys" if a table's size matters. A time is the
 *         median of n rounds, its spread the least and the most value; a count has no spread.
 * Units:  in each row.
 * Errors: an unknown option ends the program with exit code 2.
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

/* Reads the options. figures: the names that --figure may have, NULL at the end. */
void paper_options_read(struct paper_options *o, int argc, char **argv, const char *const *figures);
bool paper_wants(const struct paper_options *o, const char *figure);

static inline uint32_t
paper_sized(const struct paper_options *o, uint32_t tiny, uint32_t quick, uint32_t full)
{
	return o->size == PAPER_TINY ? tiny : o->size == PAPER_QUICK ? quick : full;
}

/* Identifies a row. label replaces x unless it is NULL. */
struct paper_row {
	const char *part, *figure, *series, *label, *unit;
	double x;
	uint64_t keys; /* 0: not printed */
};

void paper_count(const struct paper_row *row, double y);

/* The values of one figure in each round. */
struct paper_rounds {
	double value[PAPER_ROUNDS_MAX];
	uint32_t count;
};

void paper_rounds_add(struct paper_rounds *r, double value);
double paper_median(const struct paper_rounds *r);
void paper_time(const struct paper_row *row, const struct paper_rounds *rounds);

#endif
