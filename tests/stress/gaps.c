#include "gaps.h"

#include "base/gap.h"

#include <sched.h>

#define YIELD_OF 16u /* one gap in this many is used */

static _Thread_local uint64_t gap_random;
static gap_fn *called;

void
gaps_begin(uint64_t random)
{
	gap_random = random;
}

void
gaps_yield(uint32_t one_of)
{
	gap_random = gap_random * 6364136223846793005ull + 1442695040888963407ull;
	if ((gap_random >> 33) % one_of == 0)
		sched_yield();
}

void
gaps_call(gap_fn *fn)
{
	called = fn;
}

#ifdef STORE_GAPS
void
stress_gap(void)
{
	if (called != NULL)
		called();
	else
		gaps_yield(YIELD_OF);
}
#endif
