/*
 * appliance.h - all parts of the program in one struct.
 *
 * Shape:  main makes the struct; the modules' own state is in block. Only appliance.c and main.c
 *         use the whole struct: every other function gets the parts that it needs.
 * Owner:  main, from appliance_start to appliance_stop.
 * Thread: the main thread builds it. Afterwards core i belongs to lcore i, and the control thread
 *         changes its parts (control.h). Everything else is read only.
 * Errors: struct error; main prints its one line and exits with 1.
 */
#ifndef CLOCKOO_APPLIANCE_H
#define CLOCKOO_APPLIANCE_H

#include "access/access.h"
#include "control/control.h"
#include "control/port_watch.h"
#include "keep/save_service.h"
#include "monitor/http_alone.h"
#include "monitor/http_counters.h"
#include "process/background.h"
#include "process/pid_file.h"
#include "start/early_answers.h"
#include "start/sizes.h"
#include "start/worker.h"
#include "tap/kernel_thread.h"
#include "telemetry/telemetry.h"

struct appliance {
	struct settings settings;
	struct process process;
	struct background background;
	struct pid_file pid_file;
	/* ---- the machine ---- */
	struct nic nic;
	struct sizes sizes;
	struct huge_block block;
	struct early_answers early;
	/* ---- clients and addresses ---- */
	struct users users;
	struct access access;
	struct own_addrs own;
	struct tls_cores *tls;           /* NULL without -Z */
	struct tls_servers *tls_servers; /* NULL without front.tls_ca */
	/* ---- the items ---- */
	struct store *store;
	struct arena_file arena;
	struct memory_save save;
	struct save_service saves;
	struct second_tier flash;
	struct fleet *fleet; /* NULL: not a front */
	/* NULL if the front has no server that the kernel reaches. */
	struct kernel_servers *kernel_servers;
	struct front_cores front_cores;
	/* ---- the cores ---- */
	struct serve_shared *shared;
	struct neigh_table *neigh;
	struct core *cores;
	struct worker workers[CORES_MAX];
	struct kernel_thread kernel;
	struct wall_watch wall;
	char inter[IP_ADDR_TEXT_MAX + 1]; /* the appliance's address, for `stats settings` */
	/* ---- telemetry and control ---- */
	struct telemetry telemetry;
	int http_fd;              /* listening socket of telemetry.http; -1 without it */
	struct http_server *http; /* NULL without telemetry.http */
	struct http_alone http_alone;
	struct counter http_counters[HTTP_COUNTER_COUNT];
	struct capture_service *capture; /* NULL: no memory for it */
	struct port_watch port_watch;
	struct control control;
};

/* Builds every part that the settings ask for. False: the parts built so far have been freed. */
bool appliance_start(struct appliance *a, struct error *err);
/* Prints the ready line and serves until a signal. */
bool appliance_run(struct appliance *a, struct error *err);
void appliance_stop(struct appliance *a);

#endif
