/*
 * new_version.h - makes the new version of an item from the old one.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_NEW_VERSION_H
#define CLOCKOO_NEW_VERSION_H

#include "store_state.h"

enum rmw_op {
	RMW_APPEND,
	RMW_PREPEND,
	RMW_INCR,
	RMW_DECR,
	RMW_COPY,  /* the same value, for a new expiry or a stale mark */
	RMW_EMPTY, /* no value, other client flags */
};

/* A read-modify-write of one key. */
struct rmw {
	enum rmw_op op;
	struct view key;
	uint64_t hash;
	struct store_conditions
		conditions;      /* only compare and set_cas, with their numbers, apply */
	const struct item *more; /* append, prepend: holds the value to add */
	uint64_t delta;
	uint64_t value; /* incr, decr: the new number */
	/* The new version keeps the cas, since no byte that a client sees changes. */
	bool keep_cas;
	bool renews; /* memcached would change the item in place and not count it as stored */
	bool new_expiry;
	uint32_t expiry_s;
	uint32_t client_flags;    /* those of an empty version */
	uint32_t status, inherit; /* as in struct link */
	const struct item *made;  /* the version that was published */
};

/* Decides whether `old` may have a new version, and sets the length of that version's value. */
enum store_result new_version_len(const struct store_core *sc, const struct rmw *rm,
				  const struct item *old, uint32_t *len);
/* Returns the optional fields of the new version. */
uint32_t new_version_form(const struct rmw *rm, const struct item *old, uint32_t len);
/* Writes the new version into an item of that length and form. */
void new_version_write(const struct store *st, struct rmw *rm, const struct item *old,
		       struct item *it);
/* Writes the new version into an item of any form. False: it does not fit the item's object. */
bool new_version_rewrite(struct store_core *sc, struct rmw *rm, const struct item *old,
			 struct item *it);

#endif
