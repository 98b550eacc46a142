/*
 * access.h - the networks whose clients the cache accepts: network.allow and network.deny, read at
 * start and at each reload. The cores get them as one table.
 *
 * Owner:  the caller has a struct access_lists until it calls access_free or access_change. The
 *         table is on the heap. A replaced table is freed once every core uses the next one.
 * Thread: main calls access_begin before any core turns; the control thread calls the others.
 * Errors: struct error; the cores then keep the table that they have.
 */
#ifndef CLOCKOO_ACCESS_H
#define CLOCKOO_ACCESS_H

#include "config/config.h"
#include "net/access_list.h"
#include "serve/serve_policy.h"

/* The networks of a configuration's two lists. */
struct access_lists {
	const struct access_list *list; /* NULL: every client is accepted */
	struct access_net *nets;
	uint32_t count;   /* networks of both lists */
	uint32_t allowed; /* networks of network.allow */
	void *memory;     /* holds list; from malloc */
};

#define ACCESS_WORDS_BYTES 128u

struct access {
	struct access_lists now;  /* the table that cores use */
	struct access_lists next; /* replaces now as soon as the cores can take it */
	struct access_lists last; /* replaced by now; freed once no core uses it */
	bool pending;             /* next holds lists */
	bool going_over;          /* some core may still use last */
};

bool access_lists_read(struct access_lists *lists, const struct config *cfg, struct error *err);
void access_lists_free(struct access_lists *lists);
/* Writes the summary, as "3 networks allowed, 10000 denied, a table of 640 KB". */
void access_lists_words(const struct access_lists *lists, char words[ACCESS_WORDS_BYTES]);

bool access_begin(struct access *a, const struct config *cfg, struct error *err);
/* Makes the lists the next ones and takes ownership. False if they equal the newest ones: the lists
 * are then freed. */
bool access_change(struct access *a, struct access_lists *lists);
/* Gives the next table to the cores once all of them use the present one, and frees the table
 * before that. Called at each tick. */
void access_apply(struct access *a, struct serve_shared *shared);
/* True if every core uses the newest lists, and has closed the connections from sources that they
 * deny. */
bool access_is_applied(const struct access *a);
void access_end(struct access *a);

#endif
