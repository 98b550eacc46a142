/*
 * tls_cores.c - loads the certificates by OpenSSL and gives them to the cores.
 */
#include "tls_cores.h"

#include "tls/tls_conns.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SEEN_TRIES   100u /* waits of SEEN_WAIT_NS until all cores use the newest certificates */
#define SEEN_WAIT_NS 10000000l

struct tls_cores {
	struct tls_shared shared;
};

bool
tls_is_built(struct error *err)
{
	(void)err;
	return true;
}

const char *
tls_library_words(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}

static struct tls_context *
context_load(const struct config *cfg, struct error *err)
{
	const struct config_tls *t = &cfg->tls;
	const struct tls_settings settings = {
		.chain_cert = config_given(t->chain_cert),
		.key = config_given(t->key[0] != '\0' ? t->key : t->chain_cert),
		.ciphers = config_given(t->ciphers),
		.ca_cert = config_given(t->ca_cert),
		.keyformat = t->keyformat,
		.verify_mode = t->verify_mode,
		.min_version = t->min_version,
	};
	char why[TLS_WHY_BYTES];
	struct tls_context *context = tls_context_load(&settings, why);

	if (context == NULL)
		error_set(err, "%s", why);
	return context;
}

bool
tls_files_check(const struct config *cfg, struct error *err)
{
	struct tls_context *context;

	if (!cfg->tls.on)
		return true;
	context = context_load(cfg, err);
	tls_context_free(context);
	return context != NULL;
}

static bool
date_is_near(const struct tls_context *context, const struct config *cfg, struct error *err)
{
	char words[TLS_WHY_BYTES];

	return tls_context_date_is_near(context, (int64_t)time(NULL), words) &&
	       !error_set(err, "ssl_chain_cert %.160s: %s", cfg->tls.chain_cert, words);
}

bool
tls_files_date_is_near(const struct config *cfg, struct error *err)
{
	struct tls_context *context = cfg->tls.on ? context_load(cfg, err) : NULL;
	const bool near = context != NULL && date_is_near(context, cfg, err);

	tls_context_free(context);
	return near;
}

static void
date_warn(const struct tls_context *context, const struct config *cfg)
{
	struct error err;

	if (date_is_near(context, cfg, &err))
		fprintf(stderr, "clockoo: warning: %s\n", err.text);
}

bool
tls_cores_begin(struct tls_cores **tls, const struct config *cfg, struct error *err)
{
	struct tls_context *context;

	*tls = NULL;
	if (!cfg->tls.on)
		return true;
	context = context_load(cfg, err);
	if (context == NULL)
		return false;
	date_warn(context, cfg);
	*tls = calloc(1, sizeof **tls);
	ensure(*tls != NULL);
	tls_shared_begin(&(*tls)->shared, context, cfg->cores);
	return true;
}

size_t
tls_core_bytes(const struct config *cfg, uint32_t conns_max)
{
	const struct tls_conns_config c = {.conns_max = conns_max};

	return cfg->tls.on ? tls_conns_bytes(&c) : 0;
}

struct tls_heap
tls_heap_max(const struct config *cfg)
{
	const uint64_t most = (uint64_t)cfg->cores * TLS_HANDSHAKES_MAX;
	struct tls_heap h = {.conn_bytes = tls_stream_bytes(),
			     .handshake_bytes = tls_handshake_bytes(cfg->tls.verify_mode)};

	if (!cfg->tls.on)
		return (struct tls_heap){0};
	/* conns_max does not count connections during their handshake. */
	h.handshakes = most < cfg->conns_max ? (uint32_t)most : cfg->conns_max;
	h.all = (uint64_t)h.handshakes * h.handshake_bytes +
		(uint64_t)cfg->conns_max * h.conn_bytes;
	return h;
}

void
tls_cores_build(struct tls_cores *tls, struct region *region, const struct tls_place *at,
		struct telemetry *telemetry)
{
	const struct tls_conns_config c = {.core = at->core,
					   .conns_max = at->config->tcp.conns_max,
					   .plain_port = at->config->tcp.other_port,
					   .shared = &tls->shared,
					   .seed = at->config->net.seed};
	const struct tls_conns *conns = tls_conns_create(region, &c, at->serve, at->stack);

	ensure(telemetry_add_to(telemetry, TELEMETRY_STACK,
				&(struct telemetry_set){at->core, TLS_COUNTER_COUNT,
							tls_counter_names, tls_counters(conns)}));
}

/* Waits until every core uses the newest certificates. False after SEEN_TRIES. */
static bool
wait_until_settled(const struct tls_cores *tls)
{
	const struct timespec wait = {.tv_nsec = SEEN_WAIT_NS};

	for (uint32_t i = 0; i < SEEN_TRIES; i++) {
		if (tls_shared_settled_mt(&tls->shared))
			return true;
		nanosleep(&wait, NULL);
	}
	return false;
}

bool
tls_cores_reload(struct tls_cores *tls, const struct config *cfg)
{
	struct error err;
	struct tls_context *context = context_load(cfg, &err);

	if (context == NULL) {
		fprintf(stderr, "clockoo: reload: %s; the certificates are those of before\n",
			err.text);
		return false;
	}
	if (!wait_until_settled(tls) || !tls_shared_replace_mt(&tls->shared, context)) {
		tls_context_free(context);
		fprintf(stderr,
			"clockoo: reload: %s: some core has not taken the last certificates yet: "
			"they stay; reload again\n",
			cfg->tls.chain_cert);
		return false;
	}
	fprintf(stderr, "clockoo: reload: %s: the certificates were read again\n",
		cfg->tls.chain_cert);
	date_warn(context, cfg);
	return wait_until_settled(tls);
}

void
tls_cores_end(struct tls_cores *tls)
{
	if (tls == NULL)
		return;
	tls_shared_end(&tls->shared);
	free(tls);
}
