/*
 * control.h - the control thread, which is no core. It handles signals, requests of clients to the
 * program (HTTP, capture, save), reloads, drains, events of the port, and --live.
 *
 * Owner:  main; the parts outlive the thread.
 * Thread: main fills the struct and starts the thread, which owns it from then on.
 */
#ifndef CLOCKOO_CONTROL_H
#define CLOCKOO_CONTROL_H

#include "access/access.h"
#include "access/own_addrs.h"
#include "access/tls_servers.h"
#include "access/users.h"
#include "capture/capture_service.h"
#include "core/core.h"
#include "fleet/fleet.h"
#include "fleet/front_cores.h"
#include "keep/arena_file.h"
#include "keep/save_service.h"
#include "monitor/http_alone.h"
#include "nic.h"
#include "port_watch.h"
#include "process/process.h"
#include "start/settings.h"
#include "tier/second_tier.h"

#include <pthread.h>

struct neigh_table;

/* The parts that the thread uses. */
struct control {
	struct settings *settings;
	struct process *process;
	struct nic *nic;
	struct neigh_table *neigh;
	struct wall_watch *wall;
	struct core *cores;
	struct store *store;
	struct serve_shared *shared;
	struct telemetry *telemetry;
	struct users *users;
	struct access *access;
	struct own_addrs *own;
	struct tls_cores *tls;           /* NULL without -Z */
	struct tls_servers *tls_servers; /* NULL without front.tls_ca */
	struct fleet *fleet;             /* NULL: not a front */
	struct front_cores *front_cores;
	const struct front_settings *front;
	struct arena_file *arena;
	struct second_tier *flash;
	struct http_server *http;
	struct http_alone *http_alone; /* takes over when the control thread ends */
	struct capture_service *capture;
	struct save_service *saves;
	struct port_watch *port;
	struct ip_addr router6; /* the router that --gateway6 auto has chosen; zero: none */
};

bool control_start(pthread_t *thread, struct control *c, struct error *err);

#endif
