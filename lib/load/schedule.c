#include "schedule.h"

#include <math.h>

void
schedule_start(struct schedule *s, enum arrivals arrivals, double rate, uint64_t now_ns,
	       uint64_t seed)
{
	*s = (struct schedule){
		.arrivals = arrivals,
		.gap_ns = 1e9 / rate,
		.next_ns = (double)now_ns,
		.rng = {seed},
	};
	schedule_pop(s);
}

void
schedule_pop(struct schedule *s)
{
	/* Poisson arrivals have exponential gaps. */
	if (s->arrivals == ARRIVALS_POISSON)
		s->next_ns -= s->gap_ns * log1p(-load_unit(&s->rng));
	else
		s->next_ns += s->gap_ns;
}

uint64_t
schedule_owed(const struct schedule *s, uint64_t end_ns)
{
	const double left = (double)end_ns - s->next_ns;

	return left <= 0 ? 0 : (uint64_t)(left / s->gap_ns) + 1;
}
