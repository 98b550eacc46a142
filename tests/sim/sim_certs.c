/*
 * sim_certs.c - makes certificates by OpenSSL, and their files.
 */
#include "sim_certs.h"

#include "support/test.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <unistd.h>

static X509 *
cert_begin(EVP_PKEY *key, const char *name, int64_t from_s, int64_t to_s)
{
	static long serial;
	X509 *x = X509_new();

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
	check_ptr(ASN1_TIME_set(X509_getm_notBefore(x), (time_t)from_s));
	check_ptr(ASN1_TIME_set(X509_getm_notAfter(x), (time_t)to_s));
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const uint8_t *)name, -1, -1, 0);
	X509_set_pubkey(x, key);
	return x;
}

static void
extension_add(X509 *x, const char *name, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf(NULL, NULL, name, value);

	check_ptr(e);
	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
}

static void
cert_write(const char *path, X509 *x)
{
	FILE *out = fopen(path, "w");

	check(out != NULL && PEM_write_X509(out, x) == 1 && fclose(out) == 0);
}

void
sim_issuer_make(struct sim_issuer *issuer, const char *name, int64_t now_s)
{
	issuer->key = EVP_EC_gen("P-256");
	issuer->cert = cert_begin(issuer->key, name, now_s - SIM_DAY_S, now_s + 3650 * SIM_DAY_S);
	X509_set_issuer_name(issuer->cert, X509_get_subject_name(issuer->cert));
	extension_add(issuer->cert, "basicConstraints", "critical,CA:TRUE");
	check(X509_sign(issuer->cert, issuer->key, EVP_sha256()) > 0);
	snprintf(issuer->file, sizeof issuer->file, "/tmp/sim_ca-%d-%s.crt", (int)getpid(), name);
	cert_write(issuer->file, issuer->cert);
}

void
sim_issuer_sign(struct sim_issuer *issuer, const struct sim_issuer *by)
{
	X509_set_issuer_name(issuer->cert, X509_get_subject_name(by->cert));
	check(X509_sign(issuer->cert, by->key, EVP_sha256()) > 0);
	cert_write(issuer->file, issuer->cert);
}

void
sim_issuer_free(struct sim_issuer *issuer)
{
	unlink(issuer->file);
	X509_free(issuer->cert);
	EVP_PKEY_free(issuer->key);
}

void
sim_leaf_make(struct sim_leaf *leaf, const struct sim_issuer *issuer, const char *name,
	      const char *names, int64_t from_s, int64_t to_s)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = cert_begin(key, name, from_s, to_s);
	FILE *out;

	X509_set_issuer_name(x, X509_get_subject_name(issuer->cert));
	if (names != NULL)
		extension_add(x, "subjectAltName", names);
	check(X509_sign(x, issuer->key, EVP_sha256()) > 0);
	snprintf(leaf->cert, sizeof leaf->cert, "/tmp/sim_leaf-%d-%s.crt", (int)getpid(), name);
	snprintf(leaf->key, sizeof leaf->key, "/tmp/sim_leaf-%d-%s.key", (int)getpid(), name);
	cert_write(leaf->cert, x);
	out = fopen(leaf->key, "w");
	check(out != NULL && PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) == 1 &&
	      fclose(out) == 0);
	X509_free(x);
	EVP_PKEY_free(key);
}

void
sim_leaf_remove(const struct sim_leaf *leaf)
{
	unlink(leaf->cert);
	unlink(leaf->key);
}
