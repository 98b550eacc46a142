/*
 * tls_servers.c - loads the trusted issuers and our own certificate by OpenSSL, and gives them to
 * the cores.
 */
#include "tls_servers.h"

#include "config/lcores.h"
#include "tls/tls_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SETTLE_TRIES  100u /* waits of SETTLE_NS until all cores use the newest issuers */
#define SETTLE_NS     10000000l
#define SESSION_BYTES 8192u /* heap of a session with its certificates */

static_assert(CORES_MAX <= TLS_CORES_MAX, "each core has its place");

struct tls_servers {
	struct tls_shared shared;
	struct tls_links *links[CORES_MAX];
	uint32_t cores;
};

static bool
is_on(const struct config *cfg)
{
	return config_has_front(cfg) && cfg->front.tls_ca[0] != '\0';
}

static struct tls_context *
files_load(const struct config *cfg, struct error *err)
{
	const struct config_front *c = &cfg->front;
	const struct tls_client_files files = {
		.ca = c->tls_ca,
		.cert = config_given(c->tls_cert),
		.key = config_given(c->tls_key[0] != '\0' ? c->tls_key : c->tls_cert),
	};
	char why[TLS_WHY_BYTES];
	struct tls_context *context = tls_client_context_load(&files, why);

	if (context == NULL)
		error_set(err, "%s", why);
	return context;
}

bool
tls_servers_check(const struct config *cfg, struct error *err)
{
	struct tls_context *context;

	if (!is_on(cfg))
		return true;
	context = files_load(cfg, err);
	tls_context_free(context);
	return context != NULL;
}

static bool
dates_are_near(const struct tls_context *context, const struct config *cfg, struct error *err)
{
	const int64_t now_s = (int64_t)time(NULL);
	char words[TLS_WHY_BYTES];

	if (tls_client_issuer_date_is_near(context, now_s, words))
		return !error_set(err, "front.tls_ca: %.100s: %s", cfg->front.tls_ca, words);
	return tls_context_date_is_near(context, now_s, words) &&
	       !error_set(err, "front.tls_cert: %.100s: %s", cfg->front.tls_cert, words);
}

bool
tls_servers_date_is_near(const struct config *cfg, struct error *err)
{
	struct tls_context *context = is_on(cfg) ? files_load(cfg, err) : NULL;
	const bool near = context != NULL && dates_are_near(context, cfg, err);

	tls_context_free(context);
	return near;
}

static void
dates_warn(const struct tls_context *context, const struct config *cfg)
{
	struct error err;

	if (dates_are_near(context, cfg, &err))
		fprintf(stderr, "clockoo: warning: %s\n", err.text);
}

bool
tls_servers_begin(struct tls_servers **ts, const struct config *cfg, struct error *err)
{
	struct tls_context *context;

	*ts = NULL;
	if (!is_on(cfg))
		return true;
	context = files_load(cfg, err);
	if (context == NULL)
		return false;
	dates_warn(context, cfg);
	*ts = calloc(1, sizeof **ts);
	ensure(*ts != NULL);
	(*ts)->cores = cfg->cores;
	tls_shared_begin(&(*ts)->shared, context, cfg->cores);
	return true;
}

static struct tls_links_config
links_of(const struct front_settings *front)
{
	return (struct tls_links_config){.conns_max = front->conns_max,
					 .links = front->servers * front->connections,
					 .servers = front->servers};
}

uint32_t
tls_servers_pipes(const struct config *cfg, const struct front_settings *front)
{
	return is_on(cfg) ? links_of(front).links : 0;
}

size_t
tls_servers_core_bytes(const struct config *cfg, const struct front_settings *front)
{
	const struct tls_links_config c = links_of(front);

	return is_on(cfg) ? tls_links_bytes(&c) : 0;
}

uint64_t
tls_servers_heap_max(const struct config *cfg, const struct front_settings *front)
{
	const struct tls_links_config c = links_of(front);
	const uint64_t link = tls_handshake_bytes(1) + SESSION_BYTES;

	return is_on(cfg) ? cfg->cores * (c.links * link + c.servers * (uint64_t)SESSION_BYTES) : 0;
}

void
tls_servers_build(struct tls_servers *ts, struct region *region, const struct tls_place *at,
		  const struct front_settings *front, struct telemetry *telemetry)
{
	struct tls_links_config c = links_of(front);
	struct tls_links *links;

	c.core = at->core;
	c.shared = &ts->shared;
	links = tls_links_create(region, &c, at->serve, at->stack);
	ts->links[at->core] = links;
	ensure(telemetry_add_to(telemetry, TELEMETRY_STACK,
				&(struct telemetry_set){at->core, TLS_LINK_COUNTER_COUNT,
							tls_link_counter_names,
							tls_link_counters(links)}));
}

/* Waits until every core uses the newest issuers. False after SETTLE_TRIES. */
static bool
wait_for_cores(const struct tls_servers *ts)
{
	const struct timespec wait = {.tv_nsec = SETTLE_NS};

	for (uint32_t i = 0; i < SETTLE_TRIES; i++) {
		if (tls_shared_settled_mt(&ts->shared))
			return true;
		nanosleep(&wait, NULL);
	}
	return false;
}

bool
tls_servers_reload(struct tls_servers *ts, const struct config *cfg)
{
	struct error err;
	struct tls_context *context = files_load(cfg, &err);

	if (context == NULL) {
		fprintf(stderr, "clockoo: reload: %s; the issuers are those of before\n", err.text);
		return false;
	}
	if (!wait_for_cores(ts) || !tls_shared_replace_mt(&ts->shared, context)) {
		tls_context_free(context);
		fprintf(stderr,
			"clockoo: reload: front.tls_ca: some core has not taken the last issuers "
			"yet: they stay; reload again\n");
		return false;
	}
	fprintf(stderr,
		"clockoo: reload: front.tls_ca: %s was read again, for new connections to "
		"servers\n",
		cfg->front.tls_ca);
	dates_warn(context, cfg);
	return wait_for_cores(ts);
}

void
tls_servers_end(struct tls_servers *ts)
{
	if (ts == NULL)
		return;
	for (uint32_t i = 0; i < ts->cores; i++)
		if (ts->links[i] != NULL)
			tls_links_end(ts->links[i]);
	tls_shared_end(&ts->shared);
	free(ts);
}
