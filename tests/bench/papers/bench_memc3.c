/*
 * bench_memc3.c - the tables and figures of MemC3 (NSDI 2013) that need no network: baselines
 * written from the paper, each step from them to clockoo's store, and the store itself, in one
 * run.
 *
 *   bench_memc3 [--quick | --tiny] [--figure NAME]... [--seed N]
 */
#include "memc3_figures.h"

int
main(int argc, char **argv)
{
	static const char *const figures[] = {"table1", "table2", "table3", "fig4",
					      "fig5a",  "fig5b",  "fig6",   "fig7",
					      "fig8a",  "fig8b",  NULL};
	struct paper_options o;

	paper_options_read(&o, argc, argv, figures);
	figures_of_filling(&o);
	figures_of_lookups(&o);
	figures_of_caches(&o);
	return 0;
}
