/*
 * paper_rows.c - reads options and prints rows of the papers' programs.
 */
#include "paper_rows.h"

#include "bench_load.h"

#include "base/check.h"

#include "../../support/sorted.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
print_usage(const char *program, const char *const *figures)
{
	printf("%s [--quick | --tiny] [--figure NAME]... [--seed N]\n\nfigures:", program);
	for (; *figures != NULL; figures++)
		printf(" %s", *figures);
	printf("\n");
}

static void
add_figure(struct paper_options *o, const char *name, const char *const *figures)
{
	while (*figures != NULL && strcmp(*figures, name) != 0)
		figures++;
	if (*figures == NULL || o->figure_count == PAPER_FIGURES_MAX) {
		fprintf(stderr, "no figure \"%s\"\n", name);
		exit(2);
	}
	o->figures[o->figure_count++] = name;
}

void
paper_options_read(struct paper_options *o, int argc, char **argv, const char *const *figures)
{
	static const struct option names[] = {
		{"quick", no_argument, NULL, 'q'}, {"figure", required_argument, NULL, 'f'},
		{"tiny", no_argument, NULL, 't'},  {"seed", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},  {0},
	};
	int c;

	*o = (struct paper_options){.size = PAPER_FULL, .seed = 1};
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'q')
			o->size = PAPER_QUICK;
		else if (c == 't')
			o->size = PAPER_TINY;
		else if (c == 'f')
			add_figure(o, optarg, figures);
		else if (c == 's')
			o->seed = bench_number(optarg, 0, UINT32_MAX);
		else {
			print_usage(argv[0], figures);
			exit(c == 'h' ? 0 : 2);
		}
	}
}

bool
paper_wants(const struct paper_options *o, const char *figure)
{
	for (uint32_t i = 0; i < o->figure_count; i++)
		if (strcmp(o->figures[i], figure) == 0)
			return true;
	return o->figure_count == 0;
}

static void
print_place(const struct paper_row *row)
{
	printf("{\"part\": \"%s\", \"figure\": \"%s\", \"series\": \"%s\", ", row->part,
	       row->figure, row->series);
	if (row->label != NULL)
		printf("\"x\": \"%s\", ", row->label);
	else
		printf("\"x\": %.6g, ", row->x);
	if (row->keys != 0)
		printf("\"keys\": %llu, ", (unsigned long long)row->keys);
}

void
paper_count(const struct paper_row *row, double y)
{
	print_place(row);
	printf("\"y\": %.10g, \"unit\": \"%s\", \"n\": 1, \"kind\": \"count\"}\n", y, row->unit);
	fflush(stdout);
}

void
paper_rounds_add(struct paper_rounds *r, double value)
{
	ensure(r->count < PAPER_ROUNDS_MAX);
	r->value[r->count++] = value;
}

static struct paper_rounds
sorted(const struct paper_rounds *r)
{
	struct paper_rounds s = *r;

	ensure(s.count > 0);
	sort_doubles(s.value, s.count);
	return s;
}

static double
middle(const struct paper_rounds *s)
{
	return (s->value[(s->count - 1) / 2] + s->value[s->count / 2]) / 2;
}

double
paper_median(const struct paper_rounds *r)
{
	const struct paper_rounds s = sorted(r);

	return middle(&s);
}

void
paper_time(const struct paper_row *row, const struct paper_rounds *rounds)
{
	const struct paper_rounds s = sorted(rounds);

	print_place(row);
	printf("\"y\": %.6g, \"unit\": \"%s\", \"spread\": [%.6g, %.6g], \"n\": %u, "
	       "\"kind\": \"time\"}\n",
	       middle(&s), row->unit, s.value[0], s.value[s.count - 1], s.count);
	fflush(stdout);
}
