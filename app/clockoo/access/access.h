/*
 * access.h - networks whose clients are accepted: the lists of network.allow and network.deny,
 * read at start and by a reload, and given to the cores as one table.
 *
 * Owner:  lists are the caller's until access_free or access_change; the lists lie on the heap,
 *         two of them while cores change from one to the next.
 * Thread: access_begin by main, before any core turns; the others by the control thread.
 * Errors: struct error; what the cores use is then unchanged.
 */
#ifndef CLOCKOO_ACCESS_H
#define CLOCKOO_ACCESS_H

#include "config/config.h"
#include "net/access_list.h"
#include "serve/serve_policy.h"

/* The lists that a configuration names. */
struct access_lists {
	const struct access_list *list; /* NULL: every client is accepted */
	struct access_net *nets;
	uint32_t count, allowed; /* networks, and those among them of network.allow */
	void *memory;            /* of the list */
};

#define ACCESS_WORDS_BYTES 128u

struct access {
	struct access_lists now, next, last; /* in use; next; in use until all cores have changed */
	bool pending;                        /* next is waiting */
	bool going_over;                     /* some core may still use last */
};

bool access_lists_read(struct access_lists *lists, const struct config *cfg, struct error *err);
void access_lists_free(struct access_lists *lists);
/* "3 networks allowed, 10000 denied, a table of 640 KB" */
void access_lists_words(const struct access_lists *lists, char words[ACCESS_WORDS_BYTES]);

bool access_begin(struct access *a, const struct config *cfg, struct error *err);
/* Takes the lists. False if they equal those in use; they are then freed. */
bool access_change(struct access *a, struct access_lists *lists);
/* Gives the pending table to the cores if they are ready for it, and frees the one that no core
 * uses any more. */
void access_apply(struct access *a, struct serve_shared *shared);
/* True if all cores use the last lists; by then connections from sources that it denies are closed.
 */
bool access_is_applied(const struct access *a);
void access_end(struct access *a);

#endif
