/*
 * memc3_figures.h - the figures of MemC3's evaluation; each prints its rows (paper_rows.h).
 */
#ifndef CLOCKOO_MEMC3_FIGURES_H
#define CLOCKOO_MEMC3_FIGURES_H

#include "paper_rows.h"

/* Prints table 2 and figure 4: tables are filled until they refuse. */
void figures_of_filling(const struct paper_options *o);
/* Prints figures 5a, 5b, 6 and 7: lookups, by threads, and beside inserts. */
void figures_of_lookups(const struct paper_options *o);
/* Prints table 1, bytes of index and upkeep, and figures 8a, 8b and table 3, whole caches. */
void figures_of_caches(const struct paper_options *o);

#endif
