/*
 * config.h - everything the operator decides, in one struct.
 *
 * The options are one table (option_rows.c): name, letter, value, limits, description for --help
 * and the README, key in the configuration file. A second table of the same shape holds the names
 * after -o. config_set() uses the same tables for values from any other source.
 *
 * Shape:  plain data without pointers, immutable after config_finish().
 * Units:  memory in MB (2^20 bytes), as memcached's -m; IPv4 addresses in host order.
 * Thread: pure functions, except config_parse, which reads a file and uses the heap meanwhile.
 * Errors: struct error: the option, its fault, what is allowed; for a file also its name and line.
 */
#ifndef CLOCKOO_CONFIG_H
#define CLOCKOO_CONFIG_H

#include "base/ip_addr.h"
#include "config_choices.h"
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
#define CONFIG_ROWS_MAX   256u  /* rows of both option tables */
#define CONFIG_MTU6_MIN   1280u /* RFC 8200 section 5 */

#define CONFIG_MEMORY_MAX_MB    1048576u /* app/clockoo/start/sizes.c asserts it */
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
#define CONFIG_PROFILE_OFFLOADS UINT32_MAX /* as offloads: the profile decides */

/* An HTTP page of metrics: a kernel IP and port, or a path (from /) of a Unix socket. */
#define CONFIG_HTTP_BYTES 108u /* size of sockaddr_un's path, with its zero byte */

/* memcached's ssl_* options. A text that was not given is empty. */
struct config_tls {
	bool on;
	uint32_t keyformat, verify_mode, min_version; /* memcached's numbers */
#define TLS_CERT_REQUIRED 2u /* verify_mode: a client without a certificate is refused */
	uint32_t plain_port; /* the port without TLS if the others have it; 0: none */
	char chain_cert[CONFIG_PATH_BYTES], key[CONFIG_PATH_BYTES], ca_cert[CONFIG_PATH_BYTES];
	char ciphers[CONFIG_ARGS_BYTES];
};

struct config_http {
	char text[CONFIG_HTTP_BYTES]; /* as given; empty: no HTTP */
	struct ip_addr ip;
	uint32_t port;
};

static inline bool
config_http_is_path(const struct config_http *http)
{
	return http->text[0] == '/';
}

/* A network: the addresses whose first prefix_len bits, of 128 (ip_addr.h), are those of ip. */
struct config_net {
	struct ip_addr ip;
	uint32_t prefix_len;
};

struct config {
	uint32_t memory_mb;
	uint32_t memory_max_mb; /* reserved at start; 0: memory_mb */
	uint32_t item_max_bytes;
	uint32_t tcp_port; /* 0 = off */
	uint32_t udp_port; /* 0 = off */
	uint32_t conns_max;
	uint32_t conns_per_source; /* 0 = any number */
	uint32_t cores;            /* 0 until config_finish, unless set */
	uint32_t conn_requests_max;
	uint32_t mtu;
	uint32_t verbosity;
	uint32_t ipv4, prefix_len; /* 0: no IPv4 address, as with --address none */
	uint32_t gateway;          /* 0 = none */
	uint32_t probe;            /* enum config_probe */
	uint32_t bond;             /* enum config_bond */
	uint32_t drain;            /* enum config_drain */
	uint32_t drain_time_s, keepalive_s;
	uint32_t ipv6_use;   /* enum config_ipv6 */
	struct ip_addr ipv6; /* in addition to the address made from the MAC; zero = none */
	uint32_t prefix6_len;
	struct ip_addr gateway6; /* zero = none */
	bool gateway6_auto;      /* use the router that advertises itself */
	/* Further addresses, and routes (addr_list.h), or the absolute path of a file; empty: none.
	 */
	char addresses[CONFIG_SERVERS_BYTES], routes[CONFIG_SERVERS_BYTES];
	uint32_t vlan; /* 802.1Q; 0 = none */
	uint32_t vlan_priority;
	uint32_t protocol;       /* enum config_protocol */
	uint32_t congestion;     /* enum config_congestion */
	uint32_t ecn;            /* enum config_ecn */
	uint32_t idle_timeout_s; /* 0 = none */
	uint32_t udp_budget;     /* reply bytes a second to a source outside udp_allow */
	struct config_net udp_allow[CONFIG_NETS_MAX];
	uint32_t udp_allow_count;
	bool udp_allow_given;             /* if false, udp_allow is the appliance's own networks */
	char allow[CONFIG_SERVERS_BYTES]; /* a list, or the absolute path of a file; empty: all */
	char deny[CONFIG_SERVERS_BYTES];  /* as allow; empty: none */
	bool address_given;
	uint32_t listen;                  /* the address given by -l on a NIC; 0 = not set or any */
	uint32_t backlog;                 /* of the host's listening sockets, with port user */
	uint32_t steering;                /* enum config_steering */
	uint32_t hyperthreads;            /* enum config_hyperthreads */
	uint32_t hugepage;                /* enum config_hugepage */
	uint32_t poll;                    /* enum config_poll */
	uint32_t eviction;                /* enum config_eviction */
	uint32_t control_cpu;             /* CONFIG_NO_CPU: none set */
	uint32_t queues;                  /* 0: one for each core; config_finish sets that number */
	uint32_t rx_ring, tx_ring, burst; /* 0: the profile decides */
	uint32_t offloads;                /* enum offload, or CONFIG_PROFILE_OFFLOADS */
	uint32_t node_mb[CONFIG_NODES_MAX];
	uint32_t node_count;    /* 0: not set */
	uint32_t numa;          /* nodes to interleave over, as bits; or CONFIG_NUMA_ALL, _NIC */
	uint32_t keep_for_s;    /* seconds, KEEP_FOR_ALWAYS or KEEP_FOR_NEVER */
	uint32_t save_compress; /* enum config_save_compress */
	bool udp_admin;         /* commands about more than one key may come over UDP */
	bool udp_port_per_core;
	bool share_cpus; /* two cores may share one CPU */
	bool no_huge;
	bool live, telemetry_dpdk;
	bool converting; /* for --print-config: an option that is refused becomes a comment */
	bool yield;      /* idle cores yield their CPU */
	bool shutdown;   /* -A: the command shutdown is obeyed */
	bool no_timestamps;
	bool no_evict, no_flush, no_dumps, no_watch;
	bool sasl;   /* -S: the file of users may be the one named by MEMCACHED_SASL_PWDB */
	bool detail; /* statistics by key prefix are on from the start */
	char prefix_delimiter; /* ends a key's prefix in `stats detail` */
	bool track_sizes, daemon, lock_memory, coredumps;
	char port[CONFIG_NAME_BYTES];    /* name of a profile, or "pci" for an address */
	char profile[CONFIG_NAME_BYTES]; /* profile of a PCI address; empty: found by its ID */
	char sysfs[CONFIG_PATH_BYTES]; /* root of another machine's sysfs; empty: this machine's */
	char pci[CONFIG_NAME_BYTES];   /* 0000:03:00.0; empty: none */
	char iface[CONFIG_NAME_BYTES];
	char kernel[CONFIG_NAME_BYTES]; /* name of the tap, or CONFIG_KERNEL_NIC; empty: none */
	char bond_member[CONFIG_NAME_BYTES]; /* the second member: a PCI address or an interface */
	char socket[CONFIG_PATH_BYTES];      /* path of the socket of vhost, virtio_user or memif */
	char vdev_args[CONFIG_ARGS_BYTES];   /* appended to the profile's arguments */
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
	uint64_t ignored_options[CONFIG_ROWS_MAX / 64]; /* set options that cause a warning */
	struct lcore_set lcores;                        /* count 0: placed over the CPUs at start */
};

/* Returns the memory reserved for items at start, up to which a limit can be raised. */
static inline uint32_t
config_reserved_mb(const struct config *cfg)
{
	return cfg->memory_max_mb != 0 ? cfg->memory_max_mb : cfg->memory_mb;
}

/* Returns the text of an option; NULL if it was not given. */
static inline const char *
config_given(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

/* True if there is no NIC: clients connect to sockets of this host, at the host's address. */
static inline bool
config_is_user(const struct config *cfg)
{
	return strcmp(cfg->port, CONFIG_PORT_USER) == 0;
}

/* True if there may be IPv6 addresses; a file of addresses counts as one that has some. */
static inline bool
config_has_ipv6(const struct config *cfg)
{
	const bool named = !ip_addr_is_zero(&cfg->ipv6) || cfg->addresses[0] == '/' ||
			   strchr(cfg->addresses, ':') != NULL;

	return cfg->ipv6_use == IPV6_ON || (cfg->ipv6_use == IPV6_AUTO && named);
}

/* Returns the address that names the appliance: that of --address or, if there is none, that of
 * --address6. If neither is given, the result is :: where there is IPv6, and 0.0.0.0 otherwise. */
static inline struct ip_addr
config_first_address(const struct config *cfg)
{
	return cfg->ipv4 == 0 && config_has_ipv6(cfg) ? cfg->ipv6 : ip_addr_v4(cfg->ipv4);
}

static inline bool
config_has_front(const struct config *cfg)
{
	return cfg->front.servers[0] != '\0';
}

/* The value of network.kernel for a NIC that itself separates the cache's frames. */
#define CONFIG_KERNEL_NIC "nic"

/* True if the kernel keeps the NIC, and gets all frames that are not for the cache. */
static inline bool
config_shares_nic(const struct config *cfg)
{
	return strcmp(cfg->kernel, CONFIG_KERNEL_NIC) == 0;
}

static inline bool
config_has_bond(const struct config *cfg)
{
	return cfg->bond != CONFIG_BOND_NONE;
}

enum config_action {
	CONFIG_RUN,
	CONFIG_CHECK, /* --check: the file is valid; the machine was not examined */
	CONFIG_PRINT, /* --print-config: *cfg is valid but not finished */
	CONFIG_PLAN,  /* --plan */
	CONFIG_HELP,
	CONFIG_VERSION,
	CONFIG_LICENSE,
	CONFIG_ERROR,
};

struct config_source {
	const char *default_file; /* read if it exists and no other file is named; NULL: none */
	const char *again; /* read instead of the file that the options name; NULL at start */
	char file[CONFIG_PATH_BYTES];   /* the file that was read; empty: none */
	uint32_t line[CONFIG_ROWS_MAX]; /* each option's line in the file; 0: not set there */
};

void config_defaults(struct config *cfg);

/* Sets one option by its long name. A flag takes "yes" or "no". */
bool config_set(struct config *cfg, const char *name, const char *value, struct error *err);

/* Checks options against each other and derives others. Called once, after the last config_set. */
bool config_finish(struct config *cfg, struct error *err);

/* Applies the defaults, the file and the command line in this order, then config_finish. Skips
 * argv[0]. Reads the members default_file and again of *src, and sets the others. */
enum config_action config_parse(struct config *cfg, struct config_source *src, int argc,
				char *const *argv, struct error *err);

/* Replaces the option in *err by the file's line and key, if the file set that option. Always
 * returns false, so that a caller can return it. */
bool config_error_locate(const struct config_source *src, struct error *err);
/* Does as config_error_locate, for an error that lasts until the file is changed: its code becomes
 * ERROR_CONFIG. */
bool config_error_permanent(const struct config_source *src, struct error *err);

/* A finished configuration and its source. */
struct config_loaded {
	const struct config *config;
	const struct config_source *source;
};

/* Called with a key whose value differs between two configurations, and its new value. */
typedef void config_visit(void *arg, const char *option, const char *key, const char *value);

/* Calls visit for each key that differs, if one of the two files sets it. A value that follows from
 * another key is not reported. */
void config_differ(const struct config_loaded *was, const struct config_loaded *now,
		   config_visit *visit, void *arg);

/* Prints a configuration, before config_finish, as a file that sets its options. */
void config_print(const struct config *cfg, FILE *out);

/* Prints one line for each option that is set and is ignored or has another meaning here, and one
 * line if a key of a front is set without servers. */
void config_warn(const struct config *cfg, FILE *out);

/* Parses a decimal number. False if anything else is in the text. */
bool parse_decimal(const char *text, uint32_t *n);

void config_help(FILE *out);

#endif
