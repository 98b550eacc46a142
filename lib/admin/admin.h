/*
 * admin.h - administration: statistics, lists, watchers, commands of one line.
 *
 * It hangs itself into the service, which calls it through a table (serve_admin.h).
 *
 * Owner:  the region's; it lives as long as the service.
 * Thread: created before any core turns.
 * Bounds: 184 KB a core, and 40 bytes a connection; 35 KB for all cores.
 */
#ifndef CLOCKOO_ADMIN_H
#define CLOCKOO_ADMIN_H

#include "serve/serve.h"

#define WATCHERS_MAX 20u  /* memcached's */
#define PREFIXES_MAX 256u /* memcached's */

/* What all cores have in common, after serve_shared_create and before the services. */
size_t admin_shared_bytes(void);
void admin_shared_create(struct region *region, struct serve_shared *shared);

/* Of one core, after serve_create and before its first turn. */
size_t admin_bytes(const struct serve_config *cfg);
void admin_create(struct region *region, struct serve *sv);

#endif
