/*
 * tls_absent.c - TLS of a program built without OpenSSL: refuses -Z and --front-tls-ca.
 */
#include "tls_servers.h"

bool
tls_is_built(struct error *err)
{
	return error_set(err, "--enable-ssl: this program was built without OpenSSL; install "
			      "libssl-dev and build it again, or leave it out");
}

const char *
tls_library_words(void)
{
	return "OpenSSL: built without it";
}

bool
tls_files_check(const struct config *cfg, struct error *err)
{
	return !cfg->tls.on || tls_is_built(err);
}

bool
tls_files_date_is_near(const struct config *cfg, struct error *err)
{
	(void)cfg, (void)err;
	return false;
}

bool
tls_cores_begin(struct tls_cores **tls, const struct config *cfg, struct error *err)
{
	*tls = NULL;
	return !cfg->tls.on || tls_is_built(err);
}

size_t
tls_core_bytes(const struct config *cfg, uint32_t conns_max)
{
	(void)cfg, (void)conns_max;
	return 0;
}

struct tls_heap
tls_heap_max(const struct config *cfg)
{
	(void)cfg;
	return (struct tls_heap){0};
}

void
tls_cores_build(struct tls_cores *tls, struct region *region, const struct tls_place *at,
		struct telemetry *telemetry)
{
	(void)tls, (void)region, (void)at, (void)telemetry;
}

bool
tls_cores_reload(struct tls_cores *tls, const struct config *cfg)
{
	(void)tls, (void)cfg;
	return false;
}

void
tls_cores_end(struct tls_cores *tls)
{
	(void)tls;
}

/* ---- to servers ---- */

static bool
servers_refused(const struct config *cfg, struct error *err)
{
	return cfg->front.tls_ca[0] == '\0' ||
	       error_set(err, "--front-tls-ca: this program was built without OpenSSL; install "
			      "libssl-dev and build it again, or leave it out");
}

bool
tls_servers_check(const struct config *cfg, struct error *err)
{
	return servers_refused(cfg, err);
}

bool
tls_servers_date_is_near(const struct config *cfg, struct error *err)
{
	(void)cfg, (void)err;
	return false;
}

bool
tls_servers_begin(struct tls_servers **ts, const struct config *cfg, struct error *err)
{
	*ts = NULL;
	return servers_refused(cfg, err);
}

uint32_t
tls_servers_pipes(const struct config *cfg, const struct front_settings *front)
{
	(void)cfg, (void)front;
	return 0;
}

size_t
tls_servers_core_bytes(const struct config *cfg, const struct front_settings *front)
{
	(void)cfg, (void)front;
	return 0;
}

uint64_t
tls_servers_heap_max(const struct config *cfg, const struct front_settings *front)
{
	(void)cfg, (void)front;
	return 0;
}

void
tls_servers_build(struct tls_servers *ts, struct region *region, const struct tls_place *at,
		  const struct front_settings *front, struct telemetry *telemetry)
{
	(void)ts, (void)region, (void)at, (void)front, (void)telemetry;
}

bool
tls_servers_reload(struct tls_servers *ts, const struct config *cfg)
{
	(void)ts, (void)cfg;
	return false;
}

void
tls_servers_end(struct tls_servers *ts)
{
	(void)ts;
}
