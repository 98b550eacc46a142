/*
 * admin.h - administration: statistics, lists, watchers, commands of one line.
 *
 * It attaches itself to the service, which calls it through a table (serve_admin.h).
 *
 * Owner:  the region has the memory, which is needed as long as the service.
 * Thread: created before any core turns.
 * Bounds: 230 KB for each core, 40 bytes for each connection, and 440 KB for all cores together.
 */
#ifndef CLOCKOO_ADMIN_H
#define CLOCKOO_ADMIN_H

#include "base/nic_allowances.h"
#include "serve/serve.h"
#include "telemetry/telemetry.h"

#define WATCHERS_MAX 20u  /* as in memcached */
#define PREFIXES_MAX 256u /* as in memcached */

/* Create the state that all cores share: after serve_shared_create, before the services. */
size_t admin_shared_bytes(void);
void admin_shared_create(struct region *region, struct serve_shared *shared);

/* Sets the telemetry whose counters are shown. Called before any core turns; t must outlive the
 * services. */
void admin_telemetry_set(struct serve_shared *shared, const struct telemetry *t);

/* Figures for `stats net` that only the port knows: frames since start, and the present state. */
struct admin_nic {
	uint64_t rx_frames, tx_frames;
	uint64_t missed, no_buffer, rx_errors, tx_errors;
	uint64_t frames_free;
	bool link_up;
	uint64_t allowances[NIC_ALLOWANCE_COUNT]; /* a value of NIC_ALLOWANCE_UNKNOWN has no row */
};
/* Takes new figures of the port. Called about once a second, by one thread. */
void admin_nic_set_mt(struct serve_shared *shared, const struct admin_nic *nic);

/* Computes the figures of `stats latency`. Called about once a second, by one thread. */
void admin_latency_tick_mt(struct serve_shared *shared, uint64_t now_ns);

/* Computes the keys of `stats hotkeys`; now_ns: the cores' clock. Called about once a second, by
 * one thread. */
void admin_hotkeys_tick_mt(struct serve_shared *shared, uint64_t now_ns);
/* Computes the requests of `stats slow`. Called about once a second, by one thread. */
void admin_slow_tick_mt(struct serve_shared *shared, uint64_t now_ns);

/* Computes the sources of `stats sources`. Called about once a second, by one thread. Each call
 * visits some of the connections; the published list is from the last complete pass over all. */
void admin_sources_tick_mt(struct serve_shared *shared);

/* A snapshot: writes all replies of `stats` as text, for one thread that is no core. A reply begins
 * with its command and an end of line, for example `stats net`; then its rows follow, as a client
 * gets them. rows: those of a backend, which that thread must be allowed to call, or NULL. The
 * region's memory must be zero. */
struct admin_snapshot;
struct serve_rows;
size_t admin_snapshot_bytes(void);
struct admin_snapshot *admin_snapshot_create(struct region *region, struct serve_shared *shared,
					     const struct serve_rows *rows);
/* Writes whole rows, as many as fit. Returns the bytes written. */
size_t admin_snapshot_write_mt(struct admin_snapshot *s, const struct serve_clock *clock,
			       uint8_t *to, size_t room);

/* Create the administration of one core: after serve_create, before its first turn. */
size_t admin_bytes(const struct serve_config *cfg);
void admin_create(struct region *region, struct serve *sv);

#endif
