/*
 * name_claim.h - an abstract Unix socket as the claim of one process to a name.
 *
 * Every user of the machine may bind such a name, so a holder counts only if it may be trusted:
 * it claimed as root, as this process's user or as NAME_CLAIM_SERVICE_USER. An untrusted holder
 * ("stranger") does not keep a process from starting, and nothing that it sends is believed.
 *
 * Shape:  a name of the network namespace (unix(7)). A name needs no file: the kernel frees it
 *         with the process, however that ends.
 * Owner:  the descriptor belongs to the caller; the claim holds until it is closed.
 * Thread: main.
 * Errors: a result and struct name_holder; name_claim_prefix sets struct error.
 * Bounds: NAME_CLAIM_TRIES looks at a holder that does not listen yet.
 */
#ifndef CLOCKOO_NAME_CLAIM_H
#define CLOCKOO_NAME_CLAIM_H

#include "config/config.h"

#include <stdio.h>
#include <sys/types.h>

#define NAME_CLAIM_SERVICE_USER "clockoo" /* of the package: tools/debian/clockoo.sysusers */
#define NAME_CLAIM_TRIES        20u       /* 1 ms apart: a holder binds, and then listens */
#define NAME_CLAIM_WORDS_BYTES  64u
#define NAME_CLAIM_NONE         (-1)

enum name_holder_kind {
	NAME_FREE,
	NAME_TRUSTED,
	NAME_STRANGER, /* another user's, or one that takes no connection */
};

/* The process that held the name when it began to listen. pid 0: process and user are unknown. */
struct name_holder {
	enum name_holder_kind kind;
	pid_t pid;
	uid_t uid;
};

/* Returns who listens at the other end of a connected socket. */
struct name_holder name_holder_of(int fd);

/* Returns the holder of the name. */
struct name_holder name_claim_lookup(const char *name);

/* Takes the name. Returns its descriptor, or NAME_CLAIM_NONE if *holder has it; NAME_FREE in
 * *holder means that the machine has no such names, and errno says why. */
int name_claim_take(const char *name, struct name_holder *holder);

/* Writes "process 123 of user 1001". */
const char *name_holder_words(char words[NAME_CLAIM_WORDS_BYTES], const struct name_holder *holder);

/* Prints one line to `to`: a stranger holds the name that would keep a second instance from `what`.
 */
void name_claim_warn(FILE *to, const struct name_holder *holder, const char *what);

/* Claims the file prefix of EAL, which with --in-memory does not notice a second user of it. False
 * if another instance has it. *claim may be NAME_CLAIM_NONE. */
bool name_claim_prefix(const char *prefix, int *claim, struct error *err);

#endif
