/*
 * name_claim.h - an abstract Unix socket by which one process claims a name.
 *
 * Each user of the machine may bind such a name, so a holder is trusted only if it is root, this
 * process's user or NAME_CLAIM_SERVICE_USER. Another holder is a "stranger": it does not keep a
 * process from starting, and its messages are not believed.
 *
 * Shape:  a name in the network namespace (unix(7)), without a file. The kernel frees it when the
 *         process ends, by whatever cause.
 * Owner:  the caller has the descriptor. The claim lasts until it is closed.
 * Thread: main.
 * Errors: a result with struct name_holder. name_claim_prefix sets struct error.
 * Bounds: NAME_CLAIM_TRIES looks at a holder that does not listen yet.
 */
#ifndef CLOCKOO_NAME_CLAIM_H
#define CLOCKOO_NAME_CLAIM_H

#include "config/config.h"

#include <stdio.h>
#include <sys/types.h>

#define NAME_CLAIM_SERVICE_USER "clockoo" /* the package's user: tools/debian/clockoo.sysusers */
#define NAME_CLAIM_TRIES        20u       /* 1 ms apart: a holder binds before it listens */
#define NAME_CLAIM_WORDS_BYTES  64u
#define NAME_CLAIM_NONE         (-1)

enum name_holder_kind {
	NAME_FREE,
	NAME_TRUSTED,
	NAME_STRANGER, /* of an untrusted user, or it does not accept connections */
};

/* The process that held the name when it began to listen. pid 0: the kernel does not say which. */
struct name_holder {
	enum name_holder_kind kind;
	pid_t pid;
	uid_t uid;
};

/* Returns the process that listens at the other end of a connected socket. */
struct name_holder name_holder_of(int fd);

/* Returns the holder of the name. */
struct name_holder name_claim_lookup(const char *name);

/* Claims the name. Returns the descriptor, or NAME_CLAIM_NONE with the name's holder in *holder.
 * NAME_FREE in *holder: this machine has no abstract names, and errno says why. */
int name_claim_take(const char *name, struct name_holder *holder);

/* Writes "process 123 of user 1001" and returns it. */
const char *name_holder_words(char words[NAME_CLAIM_WORDS_BYTES], const struct name_holder *holder);

/* Prints one line: a stranger holds the name that would keep a second instance from
 * `what`. */
void name_claim_warn(FILE *to, const struct name_holder *holder, const char *what);

/* Claims EAL's file prefix. With --in-memory EAL does not notice that two processes use one. False:
 * another instance has it. *claim may be NAME_CLAIM_NONE. */
bool name_claim_prefix(const char *prefix, int *claim, struct error *err);

#endif
