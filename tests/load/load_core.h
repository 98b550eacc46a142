/*
 * load_core.h - one core of the load generator, and one turn of it.
 *
 * A core runs commands: store its share of the keys, or run a workload for a time. A closed loop
 * keeps a number of requests in flight. An open loop sends at the times of a schedule, and
 * latency counts from those times (schedule.h). lcores, the simulator and the benches call the
 * same load_core_turn(). Below it is lib/stack, as below the appliance.
 *
 * Shape:  a flight is one request under way. UDP has one set of flights a core; TCP has a ring of
 *         `depth` flights for each connection, because replies arrive in order.
 * Units:  ns on the caller's clock, which never goes back.
 * Owner:  all memory is taken at load_core_create.
 * Thread: load_core_turn by one thread; load_core_command_mt, load_core_cancel_mt and
 *         load_core_done_mt by one other thread. That thread may read results once
 *         load_core_done_mt is true, and counters at any time.
 * Errors: counted (load_counters.h). A lost connection is opened again after LOAD_RECONNECT_NS.
 * Bounds: cfg.conns_max * cfg.depth_max flights over TCP, LOAD_WINDOW_MAX over UDP. A request
 *         without a reply after cfg.timeout_ns is lost.
 */
#ifndef CLOCKOO_LOAD_CORE_H
#define CLOCKOO_LOAD_CORE_H

#include "histogram.h"
#include "reply_reader.h"
#include "schedule.h"

#include "base/check.h"
#include "base/region.h"
#include "stack/stack.h"

#define LOAD_WINDOW_MAX   4096u        /* flights over UDP; a power of two, 12 of an ID's 16 bits */
#define LOAD_PORTS_MAX    64u          /* our own ports, over UDP */
#define LOAD_DEPTH_MAX    1024u        /* requests of one connection in flight */
#define LOAD_RECONNECT_NS 100000000ull /* time between two attempts to open the same connection */

enum load_transport { LOAD_UDP, LOAD_TCP };

struct load_config {
	const struct workload *workload;
	enum load_transport transport;
	struct ip_addr server;
	uint16_t port;
	uint16_t local_port;  /* UDP: the stack's udp_port */
	uint32_t local_ports; /* UDP: the stack's udp_ports; a power of two */
	uint32_t conns_max;   /* of this core; TCP */
	uint32_t depth_max;   /* per connection; TCP */
	uint32_t burst;       /* most frames received in a turn; 0: BURST_MAX */
	uint64_t timeout_ns;
	uint32_t core, cores; /* this core, and the number of cores: its share of the keys */
	uint64_t seed;
};

enum load_task {
	LOAD_IDLE, /* send nothing; connections are closed */
	LOAD_FILL, /* set every key of this core's share once */
	LOAD_RUN,
};

struct load_command {
	enum load_task task;
	uint32_t conns; /* TCP: of this core */
	uint32_t depth; /* TCP: per connection; UDP: of this core */
	double rate;    /* requests a second of this core; 0: closed loop */
	enum arrivals arrivals;
	uint64_t warmup_ns;  /* time before measuring begins */
	uint64_t measure_ns; /* measured time, after the warm-up */
	uint64_t requests;   /* end after this many measured requests; 0: by time alone */
};

/* The results of a command. */
struct load_result {
	struct counter all[LOAD_COUNTER_COUNT];      /* since the command was issued */
	struct counter measured[LOAD_COUNTER_COUNT]; /* of requests due while measuring */
	uint64_t measured_ns;
	struct reply_mismatch mismatch;
	struct histogram latency;
};

struct load_core;

size_t load_core_bytes(const struct load_config *cfg);
struct load_core *load_core_create(struct region *region, const struct load_config *cfg,
				   struct port *port, struct stack *stack);
void load_core_turn(struct load_core *c, uint64_t now_ns);

/* Issues a command; the last one must be done. */
void load_core_command_mt(struct load_core *c, const struct load_command *command);
/* Stops sending for this command: it is done once all requests are answered or lost. */
void load_core_cancel_mt(struct load_core *c);
bool load_core_done_mt(const struct load_core *c);
const struct load_result *load_core_result(const struct load_core *c);

/* True if the last turn moved a frame. */
bool load_core_busy(const struct load_core *c);

#endif
