/*
 * serve_shared.c - state shared by the services of all cores: creates it, and counts connections
 * for -c.
 */
#include "serve_internal.h"

size_t
serve_shared_bytes(uint32_t cores)
{
	return sizeof(struct serve_shared) + CACHE_LINE_BYTES;
}

struct serve_shared *
serve_shared_create(struct region *region, struct store *store, uint32_t cores, const char *version)
{
	struct serve_shared *sh = region_take(region, sizeof *sh, CACHE_LINE_BYTES);

	ensure(cores <= STORE_CORES_MAX);
	sh->store = store;
	sh->cores = cores;
	sh->version = version;
	serve_shared_set_policy(sh, &(struct serve_policy){0});
	return sh;
}

void
serve_shared_set_info(struct serve_shared *sh, const struct serve_info *info)
{
	sh->info = *info;
	atomic_store_explicit(&sh->verbosity, info->verbosity, memory_order_relaxed);
}

/* The count is compared before it is increased. If a connection that is refused incremented it
 * first, another core could refuse one as well. */
bool
shared_conn_admit(struct serve_shared *sh)
{
	uint32_t now = atomic_load_explicit(&sh->admitted, memory_order_relaxed);

	for (uint32_t tries = 0; tries < ADMIT_TRIES_MAX; tries++) {
		if (sh->info.conns_max != 0 && now >= sh->info.conns_max)
			return false;
		if (atomic_compare_exchange_weak_explicit(&sh->admitted, &now, now + 1,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

void
shared_conn_release(struct serve_shared *sh)
{
	atomic_fetch_sub_explicit(&sh->admitted, 1, memory_order_relaxed);
}
