/*
 * localhost.h - whether the system knows the name localhost.
 *
 * A bare Debian lacks /etc/hosts until an installer or a container's runtime writes it.
 *
 * Thread: any.
 */
#ifndef CLOCKOO_LOCALHOST_H
#define CLOCKOO_LOCALHOST_H

#include "support/test.h"

#include <netdb.h>

/* Skips the test, with the reason in its output, if the name has no address. */
static inline void
need_localhost(void)
{
	struct addrinfo *found;

	if (getaddrinfo("localhost", NULL, NULL, &found) != 0) {
		print_message("skipped: /etc/hosts has no localhost\n");
		skip();
	}
	freeaddrinfo(found);
}

#endif
