/*
 * front_look.c - reads the fleet and makes its plan, on the heap: some MB with many servers.
 */
#include "front_look.h"

#include <stdlib.h>

/* More are not built yet. */
static bool
has_one_core(const struct config *cfg, struct error *err)
{
	return cfg->cores == 1 ||
	       error_set(err,
			 "--front-servers with %u cores: a front has one core so "
			 "far; use -t 1",
			 cfg->cores);
}

static bool
fill(struct front_look *look, const struct config *cfg, struct error *err)
{
	if (!front_options_read(&look->config, cfg, err) || !has_one_core(cfg, err))
		return false;
	look->ring = malloc(front_ring_bytes(look->config.servers.count));
	if (look->ring == NULL)
		return error_set(err, "--front-servers: no memory for a ring of %u servers",
				 look->config.servers.count);
	return front_plan_make(&look->plan, look->ring, &look->config, err);
}

bool
front_look_make(struct front_look **look, const struct config *cfg, struct error *err)
{
	*look = NULL;
	if (!config_has_front(cfg))
		return true;
	*look = calloc(1, sizeof **look);
	if (*look == NULL)
		return error_set(err, "--front-servers: no memory to read them");
	if (fill(*look, cfg, err))
		return true;
	front_look_free(*look);
	*look = NULL;
	return false;
}

void
front_look_free(struct front_look *look)
{
	if (look != NULL)
		free(look->ring);
	free(look);
}
