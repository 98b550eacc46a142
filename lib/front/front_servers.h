/*
 * front_servers.h - a fleet's list of servers, as nutcracker writes them: host:port:weight [name].
 *
 * Shape:  servers with commas between; or, in a file, one a line: what follows a # is a comment, a
 *         dash before a server is YAML's. An entry is read from its end, so the host may be an
 *         address of IPv6: ::1:11211:1.
 * Units:  weight: 1..FRONT_WEIGHT_MAX.
 * Owner:  the caller.
 * Thread: any; load reads a file.
 * Errors: struct error: --front-servers, the entry or the line, what is expected. *servers is then
 *         undefined.
 * Bounds: FRONT_SERVERS_MAX servers; a file of FRONT_FILE_BYTES; names are compared each with each.
 * Source: nutcracker 0.5.0, conf_add_server, conf_validate_server: a name that is not given is the
 *         host, and :port if that is not 11211; names are given once.
 */
#ifndef CLOCKOO_FRONT_SERVERS_H
#define CLOCKOO_FRONT_SERVERS_H

#include "config/errors.h"
#include "front_config.h"

#define FRONT_FILE_BYTES (128u << 10)

/* Servers with commas between. */
bool front_servers_read(struct front_servers *servers, const char *list, struct error *err);

bool front_servers_load(struct front_servers *servers, const char *file, struct error *err);
/* The same of bytes in memory; file is only a name for errors. */
bool front_servers_read_lines(struct front_servers *servers, const char *file, struct view text,
			      struct error *err);

/* Which one has this name, host and port; servers->count: none. */
uint32_t front_servers_find(const struct front_servers *servers, const struct front_server *server,
			    const struct front_host *host);

/* The same servers in the same order? */
bool front_servers_same(const struct front_servers *a, const struct front_servers *b);

#endif
