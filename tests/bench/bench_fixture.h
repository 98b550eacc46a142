/*
 * bench_fixture.h - one core of the appliance over a port that plays prepared frames, for
 * bench_turn and bench_request.
 *
 * Shape:  port, store, stack, serve and core in one region, in hugepages if there are any.
 * Units:  addresses in host order.
 * Thread: one.
 * Errors: the process ends if memory is lacking.
 */
#ifndef CLOCKOO_BENCH_FIXTURE_H
#define CLOCKOO_BENCH_FIXTURE_H

#include "bench_options.h"
#include "replay_port.h"

#include "core/core.h"

#define BENCH_SERVER_IP  0x0a630001u /* 10.99.0.1 */
#define BENCH_CLIENT_IP  0x0a630002u
#define BENCH_FLEET_IP   0x0a630003u /* address of a front's servers */
#define BENCH_CACHE_PORT 11211u
#define BENCH_CONNS      256u /* connections of a core */

/* State that several cores share. */
struct bench_shared {
	struct store *store;
	struct neigh_table *neigh;
	struct serve_shared *serve;
};

struct bench_fixture {
	struct replay_port port;
	struct store *store;
	struct store_core *sc;
	struct stack *stack;
	struct serve *serve;
	struct core core;
	bool hugepages;
	bool lends; /* the port takes loans; set before the fixture is created */
};

extern const uint8_t bench_server_mac[6], bench_client_mac[6];

/* Makes a fixture with memory for `keys` small items: in a shared file of that name, or
 * privately if file is NULL. */
void bench_fixture_create(struct bench_fixture *b, uint32_t keys, const char *file);

/* Create a bench in steps, in the caller's region: the state that cores share, with memory_mib for
 * items, then a core over another port. */
size_t bench_shared_bytes(uint32_t memory_mib, uint32_t cores);
void bench_shared_make(struct bench_shared *s, uint32_t memory_mib, uint32_t cores,
		       struct region *r);
size_t bench_fixture_bytes(void);
void bench_fixture_create_on_port(struct bench_fixture *b, const struct bench_shared *s,
				  uint32_t core, struct region *r, struct port *port);
/* As bench_fixture_create_on_port, at an address of its own, with `links` connections that it may
 * open itself. */
void bench_fixture_create_linked(struct bench_fixture *b, const struct bench_shared *s,
				 uint32_t core, struct region *r, struct port *port, uint32_t ip,
				 uint32_t links);
/* Makes a core over a port of its own that plays frames; it needs REPLAY_FRAMES *
 * REPLAY_FRAME_BYTES more memory. */
void bench_fixture_create_shared(struct bench_fixture *b, const struct bench_shared *shared,
				 uint32_t core, struct region *r);
/* True while the index is being resized. */
bool bench_fixture_resizing(const struct bench_fixture *b);
/* Returns the memory for `keys` small items. */
uint32_t bench_fixture_mib(uint32_t keys);

/* Returns memory for one region: hugepages if there are any, else what the kernel provides. */
struct region bench_region(size_t bytes, bool *huge);

/* Reads the time stamp counter. */
uint64_t bench_cycles(void);

/* Sorts in ascending order. */
void bench_sort(double *v, uint32_t n);

extern const char *const bench_stage_names[STAGE_COUNT];

#endif
