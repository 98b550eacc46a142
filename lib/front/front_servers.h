/*
 * front_servers.h - reads a fleet's list of servers in nutcracker's form: host:port:weight
 * [name]. Through the kernel are kernel:host:port:weight and unix:/path:weight.
 *
 * Shape:  servers separated by commas; or, in a file, one a line, with comments after # and
 *         YAML's dash before a server. An entry is read from its end, so the host may be an IPv6
 *         address: ::1:11211:1.
 * Units:  weight: 1..FRONT_WEIGHT_MAX.
 * Owner:  the caller.
 * Thread: any; load reads a file.
 * Errors: struct error: --front-servers, the entry or the line, what is expected. *servers is then
 *         undefined.
 * Bounds: FRONT_SERVERS_MAX servers; a file of FRONT_FILE_BYTES; each name is compared with all
 *         others.
 * Source: nutcracker 0.5.0, conf_add_server, conf_validate_server: the default name is the host,
 *         with :port if that is not 11211, so with a colon for a path; names are unique.
 */
#ifndef CLOCKOO_FRONT_SERVERS_H
#define CLOCKOO_FRONT_SERVERS_H

#include "config/errors.h"
#include "front_config.h"

#define FRONT_FILE_BYTES (128u << 10)

/* Reads servers separated by commas. */
bool front_servers_read(struct front_servers *servers, const char *list, struct error *err);

bool front_servers_load(struct front_servers *servers, const char *file, struct error *err);
/* As front_servers_load, from bytes in memory; file is only a name for errors. */
bool front_servers_read_lines(struct front_servers *servers, const char *file, struct view text,
			      struct error *err);

/* Returns the index of the server with this name, host and port; servers->count: there is
 * none. */
uint32_t front_servers_find(const struct front_servers *servers, const struct front_server *server,
			    const struct front_host *host);

/* Writes a host as lists of servers have it, without its weight. */
#define FRONT_HOST_TEXT_BYTES (FRONT_HOST_BYTES + 16u)
const char *front_host_text(const struct front_host *host, char text[FRONT_HOST_TEXT_BYTES]);

/* True if both have the same servers in the same order. */
bool front_servers_same(const struct front_servers *a, const struct front_servers *b);

#endif
