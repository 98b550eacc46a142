/*
 * shown_cells.c - sums the rows of one core's residence. It is a file of its own because
 * lib/serve's inner header and the load generator define the same names.
 */
#include "shown_cells.h"

#include "serve/serve_internal.h"

void
shown_cells_read(const struct serve *sv, struct shown_cells *to)
{
	*to = (struct shown_cells){0};
	for (uint32_t row = 0; row < RESIDENCE_ROWS; row++) {
		const uint64_t ns = counter_read(&sv->residence.max_ns[row]);

		to->longest_ns = ns > to->longest_ns ? ns : to->longest_ns;
		for (uint32_t i = 0; i < LOG_CELLS; i++)
			to->count[i] += counter_read(&sv->residence.cells[row][i]);
	}
}
