/*
 * config_listen.h - the sockets of this host at which clients reach port user.
 *
 * Shape:  plain data, a part of struct config.
 * Units:  ports and IPv4 addresses in host order.
 * Thread: immutable after config_finish().
 */
#ifndef CLOCKOO_CONFIG_LISTEN_H
#define CLOCKOO_CONFIG_LISTEN_H

#include "base/ip_addr.h"

#include <stdbool.h>

#define CONFIG_PORT_USER "user" /* the profile of the host's own sockets */
/* The network between the appliance and libslirp, inside the process: QEMU's usual IPv4 network,
 * and a unique local IPv6 network (RFC 4193). The gateway of both is the host with its loopback. */
#define CONFIG_USER_NET      0x0a000200u /* 10.0.2.0/24 */
#define CONFIG_USER_HOST     (CONFIG_USER_NET + 2)
#define CONFIG_USER_ADDRESS  (CONFIG_USER_NET + 15)
#define CONFIG_USER_PREFIX6  0xfd /* fd00::/64 */
#define CONFIG_USER_HOST6    2    /* last byte of the host's address */
#define CONFIG_USER_ADDRESS6 15
#define CONFIG_USER_WORKERS                                                                        \
	16 /* RTE_PMD_RING_MAX_RX_RINGS: the queues of DPDK's port over rings                      \
	    */

/* The limits of port user, for --check and doctor. */
#define CONFIG_USER_LIMITS                                                                         \
	"no NIC: a request passes the kernel's sockets and libslirp, so this is not the speed of " \
	"a NIC; clients on this host share one address, so limits by source do not tell them "     \
	"apart"

#define CONFIG_ARGS_BYTES     256u
#define CONFIG_LISTENERS_MAX  16u
#define CONFIG_MORE_PORTS_MAX 12u
#define CONFIG_BACKLOG        1024u /* as in memcached */

/* An address of -l. */
struct config_listener {
	struct ip_addr ip; /* zero: every address of the family */
	bool ipv6, any;
	bool plain;    /* without TLS, while the other ports have it */
	uint32_t port; /* 0: the port of -p, and of -U for UDP */
};

/* Addresses of this host on which port user listens (lib/dpdk/README.md). On a NIC, -l can only
 * repeat the appliance's address, and add ports. */
struct config_listen {
	uint32_t count;
	struct config_listener at[CONFIG_LISTENERS_MAX];
	char text[CONFIG_ARGS_BYTES]; /* as given */
	uint32_t more_count;          /* on a NIC: TCP ports in addition to -p's */
	uint32_t more_ports[CONFIG_MORE_PORTS_MAX];
};

struct config;
/* True if TCP is served on the port. A port without TLS, while the others have it, does not
 * count. */
bool config_listens(const struct config *cfg, uint32_t port);

#endif
