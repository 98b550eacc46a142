/*
 * residence.c - adds the counts of a turn to cells.
 */
#include "residence.h"

static inline void
add(struct residence *r, uint32_t row, uint32_t cell, uint64_t ns, uint32_t n)
{
	counter_add(&r->cells[row][cell], n);
	if (unlikely(ns > counter_read(&r->max_ns[row])))
		counter_add(&r->max_ns[row], ns - counter_read(&r->max_ns[row]));
}

void
residence_late(struct residence *r, uint32_t row, uint64_t since_ns, uint64_t now_ns, uint32_t n)
{
	if (n == 0)
		return;
	if (r->late_count == LATE_MAX)
		add(r, row, log_cell_of(now_ns - since_ns), now_ns - since_ns, n);
	else
		r->late[r->late_count++] = (struct late_request){since_ns, n, row};
}

void
residence_close(struct residence *r, uint64_t begin_ns, uint64_t end_ns)
{
	const uint64_t ns = end_ns - begin_ns;
	const uint32_t cell = log_cell_of(ns);

	for (uint32_t w = 0; w < RESIDENCE_WORDS; w++) {
		uint64_t word = r->words[w];

		r->words[w] = 0;
		for (uint32_t row = 4 * w; word != 0; row++, word >>= 16)
			if ((uint16_t)word != 0)
				add(r, row, cell, ns, (uint16_t)word);
	}
	for (uint32_t i = 0; i < r->late_count; i++) {
		const uint64_t late_ns = end_ns - r->late[i].since_ns;

		add(r, r->late[i].row, log_cell_of(late_ns), late_ns, r->late[i].count);
	}
	r->late_count = 0;
}
