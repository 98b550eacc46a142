/*
 * live.h - --live: one line of figures a second.
 *
 * Shape:  struct live has the counts at the last line. A line shows what has been added since.
 * Thread: the control thread.
 */
#ifndef CLOCKOO_LIVE_H
#define CLOCKOO_LIVE_H

#include "fleet/fleet.h"
#include "nic.h"
#include "process/process.h"
#include "recent_most.h"
#include "store/store.h"
#include "telemetry/telemetry.h"

enum live_figure {
	LIVE_GET,
	LIVE_SET,
	LIVE_OTHER,
	LIVE_HITS, /* in memory and in the second tier */
	LIVE_MISSES,
	LIVE_FROM_FLASH, /* gets that the second tier has answered */
	LIVE_READS,      /* reads of the second tier's device */
	LIVE_WRITTEN,    /* segments written to the device */
	LIVE_CONVERTED,  /* pages of columns written to the device */
	LIVE_FIGURES
};

/* The parts that a line shows. */
struct live_source {
	const struct process *process;
	const struct config *config;
	struct nic *nic;
	const struct telemetry *telemetry;
	struct store *store;
	const struct fleet *fleet; /* NULL: not a front */
	/* Age at which a front's copies of shared mode expire, all together; 0: they do not. */
	uint64_t copy_ns;
	bool flash; /* there is a second tier */
};

struct live {
	struct live_source from;
	uint64_t last[LIVE_FIGURES];                      /* counts at the last line */
	uint64_t last_ns;                                 /* time of the last line */
	uint64_t busy_ns[CORES_MAX], total_ns[CORES_MAX]; /* by core, at the last line */
	struct front_load front;                          /* the last second's; only of a front */
	struct recent_most items, item_bytes;             /* only for a front's copies */
};

/* Returns the number of keys and writes that clients have requested. */
uint64_t live_requests(const struct live *live);
void live_init(struct live *live, const struct live_source *from);
void live_print(struct live *live);

#endif
