/*
 * bench_options.h - the options of a bench as a table: where each value goes, and its limits.
 *
 *     const struct bench_option known[] = {
 *         BENCH_NUMBER("keys", &opt.keys, 1, KEYS_MAX), BENCH_TEXT("json", &opt.json), {0}};
 *
 * Shape:  the table ends with a row without a name. optind is then the first argument that is no
 *         option.
 * Errors: a line on stderr and exit status 2.
 * Bounds: BENCH_OPTIONS_MAX rows.
 */
#ifndef CLOCKOO_BENCH_OPTIONS_H
#define CLOCKOO_BENCH_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_OPTIONS_MAX 24u

struct bench_option {
	const char *name;
	uint32_t *number; /* or large, or real */
	uint64_t *large;
	double *real;
	const char **text;
	bool *flag;
	void (*read)(const char *text, void *at);
	void *at;
	double least, most; /* limits of the number */
};

#define BENCH_ROW(row, ...) ((struct bench_option){.name = (row), __VA_ARGS__})
/* NULL unless to is a pointer of that type. */
#define BENCH_AS(type, to) _Generic((to), type : (to), default : NULL)
#define BENCH_NUMBER(row, to, low, high)                                                           \
	BENCH_ROW(row, .number = BENCH_AS(uint32_t *, to), .large = BENCH_AS(uint64_t *, to),      \
		  .real = BENCH_AS(double *, to), .least = (low), .most = (high))
#define BENCH_TEXT(row, to)           BENCH_ROW(row, .text = (to))
#define BENCH_FLAG(row, to)           BENCH_ROW(row, .flag = (to))
#define BENCH_READ(row, function, to) BENCH_ROW(row, .read = (function), .at = (to))

void bench_options(int argc, char **argv, const struct bench_option *options);

/* Returns the number in a text. */
uint32_t bench_number(const char *text, uint32_t least, uint32_t most);

#endif
