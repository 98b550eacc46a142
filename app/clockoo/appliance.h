/*
 * appliance.h - the parts of the program.
 *
 * Shape:  one struct, made in main; the modules' own state lies in block. Only appliance.c and
 *         main.c see all of it: a part takes what it needs.
 * Owner:  main, from appliance_start to appliance_stop.
 * Thread: built by the main thread. Afterwards core i belongs to lcore i; the rest is read only,
 *         or the control thread's (control.h).
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
	/* ---- who is served ---- */
	struct users users;
	struct access access;
	struct own_addrs own;
	struct tls_cores *tls;           /* NULL: none */
	struct tls_servers *tls_servers; /* NULL: none */
	/* ---- the items ---- */
	struct store *store;
	struct arena_file arena;
	struct memory_save save;
	struct save_service saves;
	struct second_tier flash;
	struct fleet *fleet;                   /* NULL: not a front */
	struct kernel_servers *kernel_servers; /* NULL: none */
	struct front_cores front_cores;
	/* ---- the cores ---- */
	struct serve_shared *shared;
	struct neigh_table *neigh;
	struct core *cores;
	struct worker workers[CORES_MAX];
	struct kernel_thread kernel;
	struct wall_watch wall;
	char inter[IP_ADDR_TEXT_MAX + 1]; /* our address, for `stats settings` */
	/* ---- what watches them ---- */
	struct telemetry telemetry;
	int http_fd;              /* listening socket of telemetry.http; -1: none */
	struct http_server *http; /* NULL: none */
	struct http_alone http_alone;
	struct counter http_counters[HTTP_COUNTER_COUNT];
	struct capture_service *capture; /* NULL: there was no memory for it */
	struct port_watch port_watch;
	struct control control;
};

/* Builds everything that the settings ask for. On false nothing is left running. */
bool appliance_start(struct appliance *a, struct error *err);
/* Prints the ready line and serves until a signal. */
bool appliance_run(struct appliance *a, struct error *err);
void appliance_stop(struct appliance *a);

#endif
