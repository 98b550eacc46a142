/*
 * knee.c - doubling until the SLO is violated, then bisection.
 */
#include "knee.h"

#define KNEE_DOWN 4.0 /* divisor of the rate while even the first one was too high */

void
knee_start(struct knee *k, double from, double close)
{
	*k = (struct knee){.next = from, .close = close};
}

bool
knee_next(const struct knee *k, double *rate)
{
	*rate = k->next;
	if (k->runs >= KNEE_RUNS_MAX || k->next < 1)
		return false;
	return k->met == 0 || k->violated == 0 || k->violated > k->met * k->close;
}

void
knee_record(struct knee *k, bool met)
{
	k->runs++;
	if (met && k->next > k->met)
		k->met = k->next;
	if (!met && (k->violated == 0 || k->next < k->violated))
		k->violated = k->next;
	if (k->met == 0)
		k->next = k->violated / KNEE_DOWN;
	else if (k->violated == 0)
		k->next = k->met * 2;
	else
		k->next = (k->met + k->violated) / 2;
}
