/*
 * config.h - everything the operator decides, in one struct.
 *
 * The options are one table (option_rows.c): name, letter, what it takes, its limits, its words for
 * --help and the README, its key in the configuration file; a second one of the same shape has the
 * names after -o. config_set() is the interface for any other source, by the same tables.
 *
 * Shape:  plain data without pointers, immutable after config_finish().
 * Units:  memory in MB (2^20 bytes), as memcached's -m; IPv4 addresses in host order.
 * Thread: pure functions, but config_parse: it reads a file and uses the heap while it does.
 * Errors: struct error: the option, what is wrong, what is allowed; of a file also name and line.
 */
#ifndef CLOCKOO_CONFIG_H
#define CLOCKOO_CONFIG_H

#include "base/ip_addr.h"
#include "config_flash.h"
#include "config_front.h"
#include "config_listen.h"
#include "errors.h"
#include "lcores.h"

#include <stdio.h>
#include <string.h>

#define CONFIG_PATH_BYTES 256u
#define CONFIG_NAME_BYTES 32u
#define CONFIG_NETS_MAX   16u
#define CONFIG_ROWS_MAX   256u  /* of both option tables */
#define CONFIG_MTU6_MIN   1280u /* RFC 8200 section 5 */

#define CONFIG_MEMORY_MAX_MB    1048576u /* as app/clockoo/sizes.c asserts */
#define CONFIG_NODES_MAX        8u
#define CONFIG_NUMA_END         16u /* nodes that --numa can name */
#define CONFIG_NUMA_NIC         0u
#define CONFIG_NUMA_ALL         UINT32_MAX
#define KEEP_FOR_NEVER          0u
#define KEEP_FOR_DEFAULT        60u
#define KEEP_FOR_MAX            (90u * 24 * 3600)
#define KEEP_FOR_ALWAYS         UINT32_MAX
#define CONFIG_RING_MIN         64u
#define CONFIG_RING_MAX         32768u
#define CONFIG_BURST_MAX        64u
#define CONFIG_NO_CPU           UINT32_MAX
#define CONFIG_PROFILE_OFFLOADS UINT32_MAX /* the profile's */

/* Where figures are shown by HTTP: the kernel's IP and port, or a Unix socket's path from / on. */
#define CONFIG_HTTP_BYTES 108u /* with its end: of struct sockaddr_un */

/* memcached's ssl_* options; texts are empty where nothing was given. */
struct config_tls {
	bool on;
	uint32_t keyformat, verify_mode, min_version; /* its numbers */
	uint32_t plain_port;                          /* in the clear beside it; 0: none */
	char chain_cert[CONFIG_PATH_BYTES], key[CONFIG_PATH_BYTES], ca_cert[CONFIG_PATH_BYTES];
	char ciphers[CONFIG_ARGS_BYTES];
};

struct config_http {
	char text[CONFIG_HTTP_BYTES]; /* as given; empty: nowhere */
	struct ip_addr ip;
	uint32_t port;
};

static inline bool
config_http_is_path(const struct config_http *http)
{
	return http->text[0] == '/';
}

/* Addresses whose first prefix_len bits, of 128 (ip_addr.h), are ip's. */
struct config_net {
	struct ip_addr ip;
	uint32_t prefix_len;
};

/* What a connection may speak: memcached's -B. */
enum config_protocol { PROTOCOL_AUTO, PROTOCOL_ASCII, PROTOCOL_BINARY };

/* How a flow finds its core; auto: the first of them that the port can do. */
enum config_steering {
	STEERING_AUTO,
	STEERING_FLOW_DIRECTOR, /* a rule for each */
	STEERING_RSS,
	STEERING_SOFTWARE, /* cores hand frames over to each other */
	STEERING_NONE,
};

/* What the second thread of a worker's physical core does. */
enum config_hyperthreads { HYPERTHREADS_IDLE, HYPERTHREADS_WORKERS };

/* What a core does that has nothing to do: turn, or wait a little between turns. */
enum config_poll { POLL_SPIN, POLL_ADAPTIVE };

enum config_eviction { EVICTION_2Q, EVICTION_CLOCK };

/* Level of igzip. */
enum config_save_compress { SAVE_COMPRESS_0, SAVE_COMPRESS_1, SAVE_COMPRESS_NO };

enum config_hugepage { HUGEPAGE_ANY, HUGEPAGE_2M, HUGEPAGE_1G };

/* Offloads of a NIC, as a set of bits. */
enum offload {
	OFFLOAD_RX_CKSUM = 1u << 0,
	OFFLOAD_TX_IP_CKSUM = 1u << 1,
	OFFLOAD_TX_UDP_CKSUM = 1u << 2,
	OFFLOAD_TX_TCP_CKSUM = 1u << 3,
	OFFLOAD_TX_FAST_FREE = 1u << 4, /* sent buffers go back to one pool, unexamined */
};

/* The name of bit i; NULL ends them. */
extern const char *const config_offloads[];

/* auto: on if there is an address6. */
enum config_ipv6 { IPV6_AUTO, IPV6_ON, IPV6_OFF };

/* Are our addresses asked for before they are used? auto: short, where anybody can be there. */
enum config_probe { CONFIG_PROBE_AUTO, CONFIG_PROBE_SHORT, CONFIG_PROBE_LONG, CONFIG_PROBE_OFF };

/* What sets the pace of TCP. */
enum config_congestion { CONGESTION_CUBIC, CONGESTION_NEWRENO };

struct config {
	uint32_t memory_mb;
	uint32_t memory_max_mb; /* set aside at start; 0: memory_mb */
	uint32_t item_max_bytes;
	uint32_t tcp_port; /* 0 = off */
	uint32_t udp_port; /* 0 = off */
	uint32_t conns_max;
	uint32_t conns_per_source; /* 0 = any number */
	uint32_t cores;            /* 0 until config_finish, if not set */
	uint32_t conn_requests_max;
	uint32_t mtu;
	uint32_t verbosity;
	uint32_t ipv4, prefix_len;
	uint32_t gateway;    /* 0 = none */
	uint32_t probe;      /* enum config_probe */
	uint32_t ipv6_use;   /* enum config_ipv6 */
	struct ip_addr ipv6; /* beside the one made from the MAC; zero = none */
	uint32_t prefix6_len;
	struct ip_addr gateway6; /* zero = none */
	uint32_t vlan;           /* 802.1Q; 0 = none */
	uint32_t vlan_priority;
	uint32_t protocol;       /* enum config_protocol */
	uint32_t congestion;     /* enum config_congestion */
	uint32_t idle_timeout_s; /* 0 = none */
	uint32_t udp_budget;     /* reply bytes a second to a source outside udp_allow */
	struct config_net udp_allow[CONFIG_NETS_MAX];
	uint32_t udp_allow_count;
	bool udp_allow_given;             /* else it is our networks */
	char allow[CONFIG_SERVERS_BYTES]; /* networks, or the whole path of a file; empty: all */
	char deny[CONFIG_SERVERS_BYTES];  /* the same; empty: none */
	bool address_given;
	uint32_t listen;                  /* -l on a NIC: our address again, 0 = not set, or any */
	uint32_t backlog;                 /* of the host's listening sockets: port user */
	uint32_t steering;                /* enum config_steering */
	uint32_t hyperthreads;            /* enum config_hyperthreads */
	uint32_t hugepage;                /* enum config_hugepage */
	uint32_t poll;                    /* enum config_poll */
	uint32_t eviction;                /* enum config_eviction */
	uint32_t control_cpu;             /* CONFIG_NO_CPU: not set */
	uint32_t queues;                  /* 0: one a core; so after config_finish */
	uint32_t rx_ring, tx_ring, burst; /* 0: the profile's */
	uint32_t offloads;                /* enum offload, or CONFIG_PROFILE_OFFLOADS */
	uint32_t node_mb[CONFIG_NODES_MAX];
	uint32_t node_count;    /* 0: not set */
	uint32_t numa;          /* bits of the nodes to interleave over, or CONFIG_NUMA_ALL, _NIC */
	uint32_t keep_for_s;    /* or KEEP_FOR_ALWAYS, KEEP_FOR_NEVER */
	uint32_t save_compress; /* enum config_save_compress */
	bool udp_admin;         /* what changes more than one key may come over UDP */
	bool udp_port_per_core;
	bool share_cpus; /* two cores on one CPU are no mistake */
	bool no_huge;
	bool live, telemetry_dpdk;
	bool converting; /* --print-config: what cannot be had becomes a comment */
	bool yield;      /* idle cores let others run */
	bool shutdown;   /* -A: the command is obeyed */
	bool no_timestamps;
	bool no_evict, no_flush, no_dumps, no_watch;
	bool sasl;             /* -S: the users may stand in MEMCACHED_SASL_PWDB instead */
	bool detail;           /* count by key prefix from the start */
	char prefix_delimiter; /* of key prefixes in `stats detail` */
	bool track_sizes, daemon, lock_memory, coredumps;
	char port[CONFIG_NAME_BYTES];    /* a profile's name; "pci" for an address */
	char profile[CONFIG_NAME_BYTES]; /* for an address; empty: found by its ID */
	char sysfs[CONFIG_PATH_BYTES];   /* of another machine; empty: of this one */
	char pci[CONFIG_NAME_BYTES];     /* 0000:03:00.0, or empty */
	char iface[CONFIG_NAME_BYTES];
	char socket[CONFIG_PATH_BYTES];    /* of vhost, virtio_user, memif */
	char vdev_args[CONFIG_ARGS_BYTES]; /* appended to the profile's */
	char file_prefix[CONFIG_NAME_BYTES];
	char data_dir[CONFIG_PATH_BYTES];    /* of the NIC profiles; empty: beside the program */
	char memory_file[CONFIG_PATH_BYTES]; /* empty: private memory */
	char memory_save[CONFIG_PATH_BYTES]; /* empty: a stop saves nothing */
	char auth_file[CONFIG_PATH_BYTES];
	char pid_file[CONFIG_PATH_BYTES];
	char user[CONFIG_NAME_BYTES];
	struct config_listen listeners;
	struct config_http http;
	struct config_tls tls;
	struct config_front front;
	struct config_flash flash;
	uint64_t ignored_options[CONFIG_ROWS_MAX / 64]; /* options set of which a start warns */
	struct lcore_set lcores; /* count 0 = spread over the CPUs at start */
};

/* For items, at start: what a limit may rise to later. */
static inline uint32_t
config_reserved_mb(const struct config *cfg)
{
	return cfg->memory_max_mb != 0 ? cfg->memory_max_mb : cfg->memory_mb;
}

/* True if clients come by sockets of this host: no NIC, and the address is the host's. */
static inline bool
config_is_user(const struct config *cfg)
{
	return strcmp(cfg->port, CONFIG_PORT_USER) == 0;
}

static inline bool
config_has_ipv6(const struct config *cfg)
{
	return cfg->ipv6_use == IPV6_ON ||
	       (cfg->ipv6_use == IPV6_AUTO && !ip_addr_is_zero(&cfg->ipv6));
}

static inline bool
config_has_front(const struct config *cfg)
{
	return cfg->front.servers[0] != '\0';
}

enum config_action {
	CONFIG_RUN,
	CONFIG_CHECK, /* --check: the file is right by itself; the machine is still to be asked */
	CONFIG_PRINT, /* --print-config: *cfg is right, but not finished */
	CONFIG_PLAN,  /* --plan */
	CONFIG_HELP,
	CONFIG_VERSION,
	CONFIG_LICENSE,
	CONFIG_ERROR,
};

/* Which file was read, and on which line each option stands. */
struct config_source {
	const char *default_file;     /* read if it exists and no other is named; may be NULL */
	const char *again;            /* read this one, whatever the options name; NULL at start */
	char file[CONFIG_PATH_BYTES]; /* the one that was read; empty = none */
	uint32_t line[CONFIG_ROWS_MAX]; /* of the option in it; 0 = not set by the file */
};

void config_defaults(struct config *cfg);

/* Set one option by its long name. A flag takes "yes" or "no". */
bool config_set(struct config *cfg, const char *name, const char *value, struct error *err);

/* What no single option can check. Call once, after the last config_set. */
bool config_finish(struct config *cfg, struct error *err);

/* Defaults, then the file, then the command line, then finish. argv[0] is skipped. Of *src only
 * default_file and again are read. */
enum config_action config_parse(struct config *cfg, struct config_source *src, int argc,
				char *const *argv, struct error *err);

/* If *err names an option that the file set, it gets the file's line and key instead. Always false,
 * so that a caller can return it. */
bool config_error_locate(const struct config_source *src, struct error *err);
/* The same for an error that stays until the file is changed: its code becomes ERROR_CONFIG. */
bool config_error_permanent(const struct config_source *src, struct error *err);

/* A finished configuration and its source. */
struct config_loaded {
	const struct config *config;
	const struct config_source *source;
};

/* A key that two configurations do not agree on, and its value in the later one. */
typedef void config_visit(void *arg, const char *option, const char *key, const char *value);

/* For each such key that one of the two files sets: a value that follows from another key is not
 * named. */
void config_differ(const struct config_loaded *was, const struct config_loaded *now,
		   config_visit *visit, void *arg);

/* A configuration before config_finish, as a file that sets the same. */
void config_print(const struct config *cfg, FILE *out);

/* One line for each option set that is ignored, or another one here. */
void config_warn(const struct config *cfg, FILE *out);

/* A decimal number and nothing else. */
bool parse_decimal(const char *text, uint32_t *n);

void config_help(FILE *out);
/* The same two tables as the app's README prints them. */
void config_readme(FILE *out);

#endif
