/*
 * front_servers.h - reads a list of servers in nutcracker's form, host:port:weight [name]. Servers
 * that the kernel reaches are written kernel:host:port:weight or unix:/path:weight.
 *
 * Shape:  servers are separated by commas. In a file each has a line of its own; # begins a
 *         comment, and YAML's dash may precede a server. An entry is read from its end, so that its
 *         host may be an IPv6 address: ::1:11211:1.
 * Units:  weight: 1..FRONT_WEIGHT_MAX.
 * Owner:  the caller.
 * Thread: any; front_servers_load reads a file.
 * Errors: struct error: --front-servers, the entry or the line, and what is expected. *servers is
 *         undefined then.
 * Bounds: FRONT_SERVERS_MAX servers; a file of FRONT_FILE_BYTES. Each name is compared with all
 *         others.
 * Source: nutcracker 0.5.0, conf_add_server, conf_validate_server: the default name is the host,
 *         with :port if that is not 11211. Names are unique.
 */
#ifndef CLOCKOO_FRONT_SERVERS_H
#define CLOCKOO_FRONT_SERVERS_H

#include "config/errors.h"
#include "front_config.h"

#define FRONT_FILE_BYTES (128u << 10)

/* Reads a list that is separated by commas. */
bool front_servers_read(struct front_servers *servers, const char *list, struct error *err);

bool front_servers_load(struct front_servers *servers, const char *file, struct error *err);
/* Reads the lines of a file from memory. file is its name in errors. */
bool front_servers_read_lines(struct front_servers *servers, const char *file, struct view text,
			      struct error *err);

/* Returns the index of the server with this name, host and port; servers->count: there is none. */
uint32_t front_servers_find(const struct front_servers *servers, const struct front_server *server,
			    const struct front_host *host);

/* Writes a host as it is written in lists, without a weight. Returns text. */
#define FRONT_HOST_TEXT_BYTES (FRONT_HOST_BYTES + 16u)
const char *front_host_text(const struct front_host *host, char text[FRONT_HOST_TEXT_BYTES]);

/* True if both lists have the same servers in the same order. */
bool front_servers_same(const struct front_servers *a, const struct front_servers *b);

#endif
