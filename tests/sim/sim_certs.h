/*
 * sim_certs.h - certificates for tests: an issuer, and those that it issues.
 *
 * Units:  Unix time.
 * Owner:  the caller's structs; files are in /tmp until _free or _remove.
 * Thread: one.
 * Errors: a failure ends the running test.
 */
#ifndef CLOCKOO_SIM_CERTS_H
#define CLOCKOO_SIM_CERTS_H

#include <openssl/x509.h>
#include <stdint.h>

#define SIM_DAY_S 86400

struct sim_issuer {
	X509 *cert;
	EVP_PKEY *key;
	char file[64];
};

struct sim_leaf {
	char cert[64], key[64];
};

/* Makes an issuer that is valid around now_s. */
void sim_issuer_make(struct sim_issuer *issuer, const char *name, int64_t now_s);
/* Has an issuer, so far its own, issued by another one. */
void sim_issuer_sign(struct sim_issuer *issuer, const struct sim_issuer *by);
void sim_issuer_free(struct sim_issuer *issuer);
/* Makes a certificate with these names, such as "DNS:a.test,IP:10.0.0.1"; NULL: with none but its
 * subject's, which is `name`. */
void sim_leaf_make(struct sim_leaf *leaf, const struct sim_issuer *issuer, const char *name,
		   const char *names, int64_t from_s, int64_t to_s);
void sim_leaf_remove(const struct sim_leaf *leaf);

#endif
