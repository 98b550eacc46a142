/*
 * tls_cores.h - TLS of the program (-Z): certificates at start and at a reload, one tls_conns a
 * core.
 *
 * Owner:  the appliance. Files are read at start, before privileges are dropped, and at each reload
 *         as the user that it runs as.
 * Thread: the control thread, but for tls_cores_build before any core turns.
 * Errors: of the files, on one line that begins with the option. A reload with wrong files keeps
 *         the certificates of before.
 */
#ifndef CLOCKOO_TLS_CORES_H
#define CLOCKOO_TLS_CORES_H

#include "config/config.h"
#include "sizes.h"

struct appliance;
struct serve;
struct stack;
struct tls_cores;

/* False: this program was built without OpenSSL; err says so. */
bool tls_is_built(struct error *err);
/* OpenSSL's name and release as it is loaded, or that there is none. */
const char *tls_library_words(void);
/* The files are read and forgotten: they are right, or err says what is wrong. */
bool tls_files_check(const struct config *cfg, struct error *err);
/* True if clients refuse the certificates for their dates, now or soon: one line in err. */
bool tls_files_date_is_near(const struct config *cfg, struct error *err);
/* *tls NULL: there is no TLS. Warns of dates on stderr, as a reload does. */
bool tls_cores_begin(struct tls_cores **tls, const struct config *cfg, struct error *err);
/* Of one core; 0 without TLS. */
size_t tls_core_bytes(const struct config *cfg, uint32_t conns_max);
/* What OpenSSL takes of the heap, at most, all connections amid a record or a handshake. */
struct tls_heap {
	uint32_t conn_bytes, handshake_bytes, handshakes; /* of all cores */
	uint64_t all;
};
struct tls_heap tls_heap_max(const struct config *cfg);
void tls_cores_build(struct tls_cores *tls, struct appliance *a, uint32_t core,
		     struct region *region, struct serve *serve, struct stack *stack);
/* Says what it did. */
void tls_cores_reload(struct tls_cores *tls, const struct config *cfg);
/* When no core turns any more. */
void tls_cores_end(struct tls_cores *tls);

#endif
