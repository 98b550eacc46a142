/*
 * config.h - everything the operator decides, in one struct.
 *
 * The options are one table (options.c): name, letter, what it takes, its limits, its words for
 * --help. The command line is one way to fill the struct; config_set() is the door for another,
 * by the same table.
 *
 * Shape:  plain data without pointers, immutable after config_finish().
 * Units:  memory in MB (2^20 bytes), as memcached's -m; addresses in host order.
 * Thread: pure functions.
 * Errors: struct fault: the option, what is wrong, what is allowed.
 */
#ifndef CLOCKOO_CONFIG_H
#define CLOCKOO_CONFIG_H

#include "fault.h"
#include "lcores.h"

#include <stdio.h>

#define CONFIG_PATH_BYTES 256u
#define CONFIG_NAME_BYTES 32u
#define CONFIG_ARGS_BYTES 256u

struct config {
	uint32_t memory_mb;
	uint32_t item_max_bytes;
	uint32_t tcp_port; /* 0 = off */
	uint32_t udp_port; /* 0 = off */
	uint32_t conns_max;
	uint32_t cores; /* 0 until config_finish, if nobody said */
	uint32_t conn_requests_max;
	uint32_t mtu;
	uint32_t verbosity;
	uint32_t ipv4, prefix_len;
	uint32_t gateway; /* 0 = none */
	bool no_huge;
	bool live;
	bool yield;                   /* idle cores let others run */
	char port[CONFIG_NAME_BYTES]; /* a profile's name; "pci" for an address */
	char pci[CONFIG_NAME_BYTES];  /* 0000:03:00.0, or empty */
	char iface[CONFIG_NAME_BYTES];
	char socket[CONFIG_PATH_BYTES];    /* of vhost, virtio_user, memif */
	char vdev_args[CONFIG_ARGS_BYTES]; /* appended to the profile's */
	char file_prefix[CONFIG_NAME_BYTES];
	char data_dir[CONFIG_PATH_BYTES]; /* where the NIC profiles are; empty = beside the program
					   */
	struct lcore_set lcores;          /* count 0 = spread over the CPUs at start */
};

enum config_verdict { CONFIG_RUN, CONFIG_HELP, CONFIG_VERSION, CONFIG_WRONG };

void config_defaults(struct config *cfg);

/* Set one option by its long name. A flag takes "yes" or "no". */
bool config_set(struct config *cfg, const char *name, const char *value, struct fault *f);

/* What no single option can check. Call once, after the last config_set. */
bool config_finish(struct config *cfg, struct fault *f);

/* defaults, then the command line, then finish. argv[0] is skipped. */
enum config_verdict config_parse(struct config *cfg, int argc, char *const *argv, struct fault *f);

void config_help(FILE *out);

#endif
