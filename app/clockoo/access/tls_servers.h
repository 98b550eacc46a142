/*
 * tls_servers.h - TLS from a front to its servers: the issuers whose certificates it trusts
 * (front.tls_ca), its own certificate (front.tls_cert), and one struct tls_links per core.
 *
 * Owner:  the appliance. The start reads the files before it drops privileges. A reload reads them
 *         as the user that the process runs as.
 * Thread: the control thread; but main calls tls_servers_build before any core turns.
 * Errors: one line that begins with the option. A reload that finds a fault keeps the former
 *         files' contents.
 */
#ifndef CLOCKOO_TLS_SERVERS_H
#define CLOCKOO_TLS_SERVERS_H

#include "front/front.h"
#include "tls_cores.h"

struct tls_servers;

/* Checks that the files can be loaded. False with the reason in err. */
bool tls_servers_check(const struct config *cfg, struct error *err);
/* True if an issuer, or our own certificate, is not valid now, or expires soon; err then says
 * which, and when. */
bool tls_servers_date_is_near(const struct config *cfg, struct error *err);
/* Loads the files. Without front.tls_ca *ts is NULL. */
bool tls_servers_begin(struct tls_servers **ts, const struct config *cfg, struct error *err);
/* Returns the TLS pipes of one core. The front needs a slot for each, beside those of its wires. 0
 * without TLS. */
uint32_t tls_servers_pipes(const struct config *cfg, const struct front_settings *front);
/* Returns the bytes of one core's region that TLS to servers takes; 0 without TLS. */
size_t tls_servers_core_bytes(const struct config *cfg, const struct front_settings *front);
/* Returns the most heap that OpenSSL takes, in bytes: every connection amid its handshake. */
uint64_t tls_servers_heap_max(const struct config *cfg, const struct front_settings *front);
/* Makes a core's TLS layer and registers its counters. The core's front must exist. */
void tls_servers_build(struct tls_servers *ts, struct region *region, const struct tls_place *at,
		       const struct front_settings *front, struct telemetry *telemetry);
/* Reads the files again and prints the result. Waits until all cores use them; true if
 * they do. */
bool tls_servers_reload(struct tls_servers *ts, const struct config *cfg);
/* Frees the memory that OpenSSL has allocated. Called when no core turns any more and before the
 * cores' regions are freed. */
void tls_servers_end(struct tls_servers *ts);

#endif
