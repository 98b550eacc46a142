/*
 * live.h - one line of figures a second.
 *
 * Shape:  struct live holds the last second's counts; a line shows the change since.
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
	LIVE_HITS, /* of both tiers */
	LIVE_MISSES,
	LIVE_FROM_FLASH, /* gets answered by the second tier */
	LIVE_READS,      /* of the second tier's device */
	LIVE_WRITTEN,    /* segments */
	LIVE_CONVERTED,  /* pages of columns */
	LIVE_FIGURES
};

/* The program, as far as a line shows it. */
struct live_source {
	const struct process *process;
	const struct config *config;
	struct nic *nic;
	const struct telemetry *telemetry;
	struct store *store;
	const struct fleet *fleet; /* NULL: not a front */
	uint64_t copy_ns;          /* of shared mode; 0: its copies do not expire together */
	bool flash;                /* there is a second tier */
};

struct live {
	struct live_source from;
	uint64_t last[LIVE_FIGURES];
	uint64_t last_ns;
	uint64_t busy_ns[CORES_MAX], total_ns[CORES_MAX];
	struct front_load front;              /* of the last second; unused without a front */
	struct recent_most items, item_bytes; /* of a front's copies */
};

/* Returns the keys and writes that clients have requested. */
uint64_t live_requests(const struct live *live);
void live_init(struct live *live, const struct live_source *from);
void live_print(struct live *live);

#endif
