#include "knee.h"

#define KNEE_DOWN 4.0 /* when even the first rate was too high */

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
	return k->kept == 0 || k->broken == 0 || k->broken > k->kept * k->close;
}

void
knee_tell(struct knee *k, bool kept)
{
	k->runs++;
	if (kept && k->next > k->kept)
		k->kept = k->next;
	if (!kept && (k->broken == 0 || k->next < k->broken))
		k->broken = k->next;
	if (k->kept == 0)
		k->next = k->broken / KNEE_DOWN;
	else if (k->broken == 0)
		k->next = k->kept * 2;
	else
		k->next = (k->kept + k->broken) / 2;
}
