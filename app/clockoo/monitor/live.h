/*
 * live.h - one line of figures a second.
 *
 * Shape:  struct live holds the last second's counts; a line shows the change since.
 * Thread: the control thread.
 */
#ifndef CLOCKOO_LIVE_H
#define CLOCKOO_LIVE_H

#include "appliance.h"
#include "recent_most.h"

enum live_figure {
	LIVE_GET,
	LIVE_SET,
	LIVE_OTHER,
	LIVE_HITS, /* of both tiers */
	LIVE_MISSES,
	LIVE_TOLD,      /* gets answered by the second tier */
	LIVE_READS,     /* of the second tier's device */
	LIVE_WRITTEN,   /* segments */
	LIVE_CONVERTED, /* pages of columns */
	LIVE_FIGURES
};

struct live {
	uint64_t last[LIVE_FIGURES];
	uint64_t last_ns;
	uint64_t busy_ns[CORES_MAX], total_ns[CORES_MAX];
	struct front_load front;              /* of the last second; unused without a front */
	struct recent_most items, item_bytes; /* of a front's copies */
};

/* Returns the keys and writes that clients have requested. */
uint64_t live_requests(const struct appliance *a);
void live_init(struct live *live, const struct appliance *a);
void live_print(struct live *live, const struct appliance *a);

#endif
