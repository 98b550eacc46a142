/*
 * tls_cores.h - TLS of the program (-Z): certificates at start and at a reload, one tls_conns a
 * core.
 *
 * Owner:  the appliance. Files are read at start, before privileges are dropped, and at each reload
 *         as the user that it runs as.
 * Thread: the control thread, but for tls_cores_build before any core turns.
 * Errors: faults of the files, on one line that begins with the option. A reload with wrong
 *         files keeps the former certificates.
 */
#ifndef CLOCKOO_TLS_CORES_H
#define CLOCKOO_TLS_CORES_H

#include "config/config.h"
#include "serve/serve.h"
#include "stack/stack.h"
#include "telemetry/telemetry.h"

struct tls_cores;

/* True if this program was built with OpenSSL; otherwise err says so. */
bool tls_is_built(struct error *err);
/* Returns OpenSSL's name and release as loaded, or says that there is none. */
const char *tls_library_words(void);
/* Reads and checks the files, and keeps nothing. False with a reason in err. */
bool tls_files_check(const struct config *cfg, struct error *err);
/* True if clients refuse the certificates for their dates, now or soon; err then has one line. */
bool tls_files_date_is_near(const struct config *cfg, struct error *err);
/* Loads the certificates, and warns on stderr of near dates, as a reload does. *tls is NULL without
 * TLS. */
bool tls_cores_begin(struct tls_cores **tls, const struct config *cfg, struct error *err);
/* Returns the bytes of one core; 0 without TLS. */
size_t tls_core_bytes(const struct config *cfg, uint32_t conns_max);
/* The most heap that OpenSSL takes, with all connections inside a record or a handshake. */
struct tls_heap {
	uint32_t conn_bytes, handshake_bytes, handshakes; /* for all cores */
	uint64_t all;
};
struct tls_heap tls_heap_max(const struct config *cfg);
/* The parts of a core that TLS is attached to: its stack, with its configuration, and its serve. */
struct tls_place {
	uint32_t core;
	const struct stack_config *config;
	struct stack *stack;
	struct serve *serve;
};
/* Makes a core's TLS, and registers its counters. */
void tls_cores_build(struct tls_cores *tls, struct region *region, const struct tls_place *at,
		     struct telemetry *telemetry);
/* Reads the files again, and prints the result. True once every core uses them. */
bool tls_cores_reload(struct tls_cores *tls, const struct config *cfg);
/* Frees TLS when no core turns any more. */
void tls_cores_end(struct tls_cores *tls);

#endif
