/*
 * tls_cores.h - TLS of clients' connections (-Z): reads the certificates at start and at each
 * reload, and makes one struct tls_conns per core.
 *
 * Owner:  the appliance. The start reads the files before it drops privileges. A reload reads them
 *         as the user that the process runs as.
 * Thread: the control thread; but main calls tls_cores_build before any core turns.
 * Errors: one line that begins with the option. A reload that finds a fault keeps the former
 *         certificates.
 */
#ifndef CLOCKOO_TLS_CORES_H
#define CLOCKOO_TLS_CORES_H

#include "config/config.h"
#include "serve/serve.h"
#include "stack/stack.h"
#include "telemetry/telemetry.h"

struct tls_cores;

/* True if this program was built with OpenSSL. Otherwise err says that it was not. */
bool tls_is_built(struct error *err);
/* Returns the name and release of the loaded OpenSSL, or words that say that there is none. */
const char *tls_library_words(void);
/* Checks that the files can be loaded. False with the reason in err. */
bool tls_files_check(const struct config *cfg, struct error *err);
/* True if a certificate's dates make clients refuse it, now or soon. err then has one line about
 * it. */
bool tls_files_date_is_near(const struct config *cfg, struct error *err);
/* Loads the certificates. Warns on stderr of dates that are near, as a reload does. Without -Z *tls
 * is NULL. */
bool tls_cores_begin(struct tls_cores **tls, const struct config *cfg, struct error *err);
/* Returns the bytes of one core's region that TLS takes; 0 without -Z. */
size_t tls_core_bytes(const struct config *cfg, uint32_t conns_max);
/* The most heap that OpenSSL takes, in bytes. */
struct tls_heap {
	uint32_t conn_bytes;      /* of a connection amid a record */
	uint32_t handshake_bytes; /* of a connection amid its handshake */
	uint32_t handshakes;      /* most of them at once, on all cores */
	uint64_t all; /* with every connection amid a record, and this number of handshakes */
};
struct tls_heap tls_heap_max(const struct config *cfg);
/* The parts of one core that TLS attaches to. */
struct tls_place {
	uint32_t core;
	const struct stack_config *config;
	struct stack *stack;
	struct serve *serve;
};
/* Makes a core's TLS, and registers its counters. */
void tls_cores_build(struct tls_cores *tls, struct region *region, const struct tls_place *at,
		     struct telemetry *telemetry);
/* Reads the files again and prints the result. Waits until all cores use the new certificates; true
 * if they do. */
bool tls_cores_reload(struct tls_cores *tls, const struct config *cfg);
/* Frees TLS. Called when no core turns any more. */
void tls_cores_end(struct tls_cores *tls);

#endif
