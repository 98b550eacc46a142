/*
 * appliance.h - the whole program's state: what start built and the cores run on.
 *
 * Shape:  one struct, made in main, passed by pointer; the modules' own state lies in block.
 * Owner:  main, from appliance_start to appliance_stop.
 * Thread: built by the main thread. Afterwards core i belongs to lcore i; the rest is read only.
 * Errors: struct error; main prints its one line and exits with 1.
 */
#ifndef CLOCKOO_APPLIANCE_H
#define CLOCKOO_APPLIANCE_H

#include "access/access.h"
#include "process/background.h"
#include "config/config.h"
#include "core/core.h"
#include "dpdk/huge_block.h"
#include "front/front.h"
#include "monitor/http_counters.h"
#include "monitor/http_listen.h"
#include "keep/kept.h"
#include "process/process.h"
#include "keep/saved.h"
#include "tier/second_tier.h"
#include "nic.h"
#include "process/pid_file.h"
#include "telemetry/telemetry.h"
#include "access/users.h"
#include "process/wall_watch.h"

struct capture_service;
struct fleet;
struct http_server;
struct neigh_table;

#define FRONT_REFUSAL_BYTES 640u /* a host's name, cores, and the reason */

struct worker {
	uint32_t number;
	struct core *core;
	const struct port_dpdk *port; /* the core's port */
	const struct process *process;
	bool yield;
	bool adaptive;        /* the core waits when it is idle */
	bool forwards_frames; /* its queue carries frames of other cores */
};

/* The bytes of each part, computed before any memory is taken. */
struct sizes {
	struct stack_config stack; /* of one core */
	struct serve_config serve;
	struct store_config store;
	struct front_settings front; /* of one core */
	uint32_t frames;             /* of one core */
	size_t store_bytes, stack_bytes, serve_bytes, shared_bytes, neigh_bytes, sources_bytes,
		pmtu_reports_bytes, front_cores_bytes,
		front_bytes;            /* serve's with a front; 0: this is no front */
	size_t block_bytes;             /* the sum of the above, without what follows */
	struct second_tier_sizes flash; /* in block_bytes, too */
	size_t file_bytes;              /* of --memory-file, which then has the items; 0: none */
	uint64_t pool_bytes;
	uint64_t program_bytes; /* measured once DPDK runs */
};

struct appliance {
	int argc;
	char *const *argv;                  /* for a reload, which reads them and the file again */
	struct config_source source;        /* the source of config */
	char config_path[USERS_PATH_BYTES]; /* source.file, absolute; empty = none */
	struct config asked;                /* as read, with the changes of reloads */
	struct config config;               /* as asked, with the planner's choices */
	struct process process;
	struct nic nic;
	struct sizes sizes;
	struct huge_block block;
	struct kept kept;
	struct saved saved;
	struct second_tier flash;
	struct wall_watch wall;
	struct store *store;
	struct serve_shared *shared;
	int http_fd;              /* listening socket of telemetry.http; -1: none */
	struct http_server *http; /* NULL: none */
	struct counter http_counters[HTTP_COUNTER_COUNT];
	struct tls_cores *tls;           /* NULL: none */
	struct capture_service *capture; /* NULL: there was no memory for it */
	struct fleet *fleet;             /* NULL: not a front */
	bool front_refused;              /* the program stops, for the reason in front_refusal */
	char front_refusal[FRONT_REFUSAL_BYTES]; /* front_cores.h; empty = none */
	struct neigh_table *neigh;
	struct core *cores;
	struct worker workers[CORES_MAX];
	struct telemetry telemetry;
	struct users users;
	struct access access;
	struct background background;
	struct pid_file pid_file;
	char inter[IP_ADDR_TEXT_MAX + 1]; /* our address, for `stats settings` */
};

/* Builds everything that config asks for; config is filled. On false nothing is left running. */
bool appliance_start(struct appliance *a, struct error *err);
/* Prints the ready line and serves until a signal. */
bool appliance_run(struct appliance *a, struct error *err);
void appliance_stop(struct appliance *a);

#endif
