/*
 * config_front.h - the fleet of servers behind a front, as the operator names it.
 *
 * lib/front parses the servers. The number of a word is its value in lib/front's enum.
 *
 * Shape:  plain data without pointers, a part of struct config.
 * Units:  milliseconds; items are cached copies of keys.
 */
#ifndef CLOCKOO_CONFIG_FRONT_H
#define CLOCKOO_CONFIG_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_SERVERS_BYTES 4096u
/* Servers of a list on the command line; a longer list needs a file. */
#define CONFIG_SERVERS_MAX           128u
#define CONFIG_LOGIN_PATH            256u
#define CONFIG_TLS_NAME_BYTES        254u /* RFC 1035, 2.3.4, with a zero byte */
#define CONFIG_SKIP_BYTES            129u /* libmemcached's longest namespace, with its zero byte */
#define CONFIG_FRONT_FNV1A_64        6u   /* a value of hash: nutcracker's default */
#define CONFIG_FRONT_CONNECTIONS_MAX 16u
#define CONFIG_FRONT_ITEMS_MAX       65536u
#define CONFIG_FRONT_ITEMS_AUTO      UINT32_MAX
#define CONFIG_FRONT_ITEMS_MEMORY    (UINT32_MAX - 1)
#define CONFIG_FRONT_ITEMS_BY_MODE   (UINT32_MAX - 2) /* AUTO if shared, NONE if sole */

struct config_front {
	char servers[CONFIG_SERVERS_BYTES]; /* list or absolute path of a file; empty: no front */
	uint32_t hash;
	uint32_t distribution;
	uint32_t order;
	char hash_tag[3];
	char hash_skip[CONFIG_SKIP_BYTES];
	uint32_t protocol;
	uint32_t server_connections;
	uint32_t timeout_ms, connect_timeout_ms;
	uint32_t server_failure_limit;
	uint32_t server_retry_timeout_ms;
	uint32_t on_failure;
	uint32_t mode;  /* 0: other clients also write to the servers */
	uint32_t items; /* most cached copies, or one of the three values above */
	uint32_t ttl_ms;
	bool auto_eject_hosts;
	/* Standby servers, in the form of servers; empty: none. */
	char gutter[CONFIG_SERVERS_BYTES];
	uint32_t gutter_ttl_ms;
	uint32_t reload;
	/* How long keys are handed over in ms; 0: they are not. */
	uint32_t warm_ms;
	char peers[CONFIG_SERVERS_BYTES]; /* address:port of each peer; empty: none */
	/* File of the user name for the servers; empty: none. */
	char login[CONFIG_LOGIN_PATH];
	/* File of the issuers of servers' certificates; empty: no TLS. */
	char tls_ca[CONFIG_LOGIN_PATH];
	char tls_cert[CONFIG_LOGIN_PATH]; /* file of our own certificate; empty: none */
	char tls_key[CONFIG_LOGIN_PATH];  /* file of its key; empty: tls_cert */
	/* Name in all certificates; empty: each server's host. */
	char tls_name[CONFIG_TLS_NAME_BYTES];
};

#endif
