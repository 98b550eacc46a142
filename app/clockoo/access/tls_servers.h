/*
 * tls_servers.h - TLS of a front to its servers (front.tls_ca): the issuers of their certificates,
 * one tls_links a core.
 *
 * Owner:  the appliance. The file is read at start, before privileges are dropped, and at each
 *         reload as the user that it runs as.
 * Thread: the control thread, but for tls_servers_build before any core turns.
 * Errors: faults of the file, on one line that begins with the option. A reload with a wrong file
 *         keeps the former issuers.
 */
#ifndef CLOCKOO_TLS_SERVERS_H
#define CLOCKOO_TLS_SERVERS_H

#include "front/front.h"
#include "tls_cores.h"

struct tls_servers;

/* Reads and checks the file, and keeps nothing. False with a reason in err. */
bool tls_servers_check(const struct config *cfg, struct error *err);
/* Loads the issuers. *ts is NULL if servers are spoken to in the clear. */
bool tls_servers_begin(struct tls_servers **ts, const struct config *cfg, struct error *err);
/* Returns the pipes of one core, which are slots beside those of its wires; 0 without TLS. */
uint32_t tls_servers_pipes(const struct config *cfg, const struct front_settings *front);
/* Returns the bytes of one core; 0 without TLS. */
size_t tls_servers_core_bytes(const struct config *cfg, const struct front_settings *front);
/* Returns the most heap that OpenSSL takes, with all connections amid their handshakes. */
uint64_t tls_servers_heap_max(const struct config *cfg, const struct front_settings *front);
/* Makes a core's layer, after its front, and registers its counters. */
void tls_servers_build(struct tls_servers *ts, struct region *region, const struct tls_place *at,
		       const struct front_settings *front, struct telemetry *telemetry);
/* Reads the file again, and prints the result. True once every core uses it. */
bool tls_servers_reload(struct tls_servers *ts, const struct config *cfg);
/* Frees what OpenSSL has, when no core turns any more, and while the cores' memory is there. */
void tls_servers_end(struct tls_servers *ts);

#endif
