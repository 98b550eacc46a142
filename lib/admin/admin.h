/*
 * admin.h - administration: statistics, lists, watchers, commands of one line.
 *
 * It hangs itself into the service, which calls it through a table (serve_admin.h).
 *
 * Owner:  the region's; it lives as long as the service.
 * Thread: created before any core turns.
 * Bounds: 230 KB a core, and 40 bytes a connection; 440 KB for all cores.
 */
#ifndef CLOCKOO_ADMIN_H
#define CLOCKOO_ADMIN_H

#include "serve/serve.h"
#include "telemetry/telemetry.h"

#define WATCHERS_MAX 20u  /* memcached's */
#define PREFIXES_MAX 256u /* memcached's */

/* What all cores have in common, after serve_shared_create and before the services. */
size_t admin_shared_bytes(void);
void admin_shared_create(struct region *region, struct serve_shared *shared);

/* Whose counters are shown; before any core turns. It outlives the services. */
void admin_telemetry_set(struct serve_shared *shared, const struct telemetry *t);

/* What only the port knows, for `stats net`: frames since start, and as of now. */
struct admin_nic {
	uint64_t missed, no_buffer, rx_errors, tx_errors;
	uint64_t frames_free;
	bool link_up;
};
/* About once a second, by one thread. */
void admin_nic_set_mt(struct serve_shared *shared, const struct admin_nic *nic);

/* The figures of `stats latency` as of now; about once a second, by one thread. */
void admin_latency_tick_mt(struct serve_shared *shared, uint64_t now_ns);

/* The keys of `stats hotkeys` as of now, by the cores' clock; about once a second, by one thread.
 */
void admin_hotkeys_tick_mt(struct serve_shared *shared, uint64_t now_ns);
/* The same of the slow requests. */
void admin_slow_tick_mt(struct serve_shared *shared, uint64_t now_ns);

/* The sources of `stats sources`; about once a second, by one thread. Each call looks at a part of
 * the connections; the list is of the last time that all were. */
void admin_sources_tick_mt(struct serve_shared *shared);

/* All that `stats` and its tables show, as text, for one thread that is no core: `stats net` and an
 * end of line begin a reply, rows follow as a client gets them. rows: those of a backend, fit
 * to be called by that thread; NULL: none. Zeroed memory. */
struct admin_snapshot;
struct serve_rows;
size_t admin_snapshot_bytes(void);
struct admin_snapshot *admin_snapshot_create(struct region *region, struct serve_shared *shared,
					     const struct serve_rows *rows);
/* Bytes written; whole rows, as many as find room. */
size_t admin_snapshot_write_mt(struct admin_snapshot *s, const struct serve_clock *clock,
			       uint8_t *to, size_t room);

/* Of one core, after serve_create and before its first turn. */
size_t admin_bytes(const struct serve_config *cfg);
void admin_create(struct region *region, struct serve *sv);

#endif
