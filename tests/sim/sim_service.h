/*
 * sim_service.h - a core that serves, a stack as all of its clients, and a cable.
 *
 * Shape:  the test's clients are connections of ss, driven by the function it passes as serve.
 * Units:  ns on the virtual clock, ss->now_ns; sim_service_run keeps that of sc beside it.
 * Owner:  sim_service_destroy gives everything back; the struct is the caller's.
 * Thread: one.
 * Errors: a refused connection, or sim_service_say without room, stops the process.
 */
#ifndef CLOCKOO_SIM_SERVICE_H
#define CLOCKOO_SIM_SERVICE_H

#include "serve/serve.h"
#include "sim_core.h"
#include "sim_wire.h"
#include "store/store.h"

struct sim_service {
	struct sim_cores *sc; /* one core */
	struct sim_stack *ss; /* the clients' */
	struct sim_wire *wire;
	uint64_t pause_ns;
};

struct sim_service_options {
	struct sim_cores_options cores;
	struct stack_config clients;
	uint32_t client_frames;  /* of their port */
	struct sim_faults cable; /* a delay, if nothing else is asked for */
	uint64_t pause_ns;       /* the core does not turn for so long in each tenth of a second */
};

struct sim_service_options sim_service_defaults(void);

/* user->arg is passed to serve, too; without user->failed a refused connection stops the process.
 */
void sim_service_create(struct sim_service *s, const struct sim_service_options *options,
			const struct stack_user *user, void (*serve)(void *arg));
void sim_service_destroy(struct sim_service *s);

/* Turns of both sides for so long, with at most step_ns between two. */
void sim_service_run(struct sim_service *s, uint64_t for_ns, uint64_t step_ns);

/* A client's connection, not yet open. */
struct conn *sim_service_connect(struct sim_service *s);
/* Connects over IPv6: to the core this is another source. The options have both addresses. */
struct conn *sim_service_connect6(struct sim_service *s);
/* Queue all of these bytes on a client's connection. */
void sim_service_say(struct sim_service *s, struct conn *c, const void *bytes, uint32_t len);
/* Queue what there is room for of a set's body, and most bytes at most. Of the body *left bytes are
 * to come, its line end included. Returns how many were queued. */
uint32_t sim_service_send_body(struct sim_service *s, struct conn *c, uint32_t *left,
			       uint32_t most);

/* A value of zero bytes into the store directly; what store_begin returned. */
enum store_result sim_service_set(struct sim_service *s, const char *name, uint32_t len);

/* Counters of the core: of its stack, and of serve. */
uint64_t sim_service_stack_count(const struct sim_service *s, uint32_t which);
uint64_t sim_service_count(const struct sim_service *s, enum serve_counter which);

#endif
