/*
 * sim_service.h - a serving core, one stack for all of its clients, and a cable.
 *
 * Shape:  the test's clients are connections of ss, driven by the function passed as serve.
 * Units:  ns on the virtual clock, ss->now_ns; sim_service_run keeps the core's clock in step.
 * Owner:  sim_service_destroy frees everything; the struct is the caller's.
 * Thread: one.
 * Errors: a refused connection, or sim_service_say without room, stops the process.
 */
#ifndef CLOCKOO_SIM_SERVICE_H
#define CLOCKOO_SIM_SERVICE_H

#include "serve/serve.h"
#include "sim_core.h"
#include "sim_wire.h"
#include "store/store.h"

#define SIM_STEP_NS    100000u /* longest time between two turns of sim_service_busy_turn */
#define SIM_LEAST_NS   2000u   /* shortest time between them */
#define SIM_TURN_NS    500u
#define SIM_FRAME_NS   150u
#define SIM_REQUEST_NS 200u

struct sim_service {
	struct sim_cores *sc; /* one core */
	struct sim_stack *ss; /* the clients' stack */
	struct sim_wire *wire;
	uint64_t pause_ns;
};

struct sim_service_options {
	struct sim_cores_options cores;
	struct stack_config clients;
	uint32_t client_frames;  /* of the clients' port */
	struct sim_faults cable; /* by default only a delay */
	uint64_t pause_ns;       /* the core pauses for this long in each tenth of a second */
};

struct sim_service_options sim_service_defaults(void);

/* Creates the service. user->arg is also the argument of serve. Without user->failed a refused
 * connection stops the process. */
void sim_service_create(struct sim_service *s, const struct sim_service_options *options,
			const struct stack_user *user, void (*serve)(void *arg));
void sim_service_destroy(struct sim_service *s);

/* Runs both sides for for_ns, with at most step_ns between two turns. */
void sim_service_run(struct sim_service *s, uint64_t for_ns, uint64_t step_ns);

/* Returns the time that the core has worked: SIM_FRAME_NS for each frame, SIM_REQUEST_NS for each
 * request. */
uint64_t sim_service_worked_ns(const struct sim_service *s);
/* Runs a turn of the clients, and one of the core unless it is busy until *free_ns. A turn of the
 * core takes SIM_TURN_NS plus the time that worked_ns returns for it. */
void sim_service_busy_turn(struct sim_service *s, uint64_t *free_ns,
			   uint64_t (*worked_ns)(const struct sim_service *s));

/* Opens a connection of a client. */
struct conn *sim_service_connect(struct sim_service *s);
/* Opens a connection over IPv6, which the core sees as another source. The default options have
 * both addresses. */
struct conn *sim_service_connect6(struct sim_service *s);
/* Queues up to CONN_RESERVE_MAX bytes, after conn_writable(). */
void sim_service_put(struct sim_service *s, struct conn *c, const void *bytes, uint32_t len);
/* Queues all of these bytes on a client's connection. */
void sim_service_say(struct sim_service *s, struct conn *c, const void *bytes, uint32_t len);
/* Queues as many bytes of a set's body as fit, at most `most`. *left: bytes of the body that are
 * still to be sent, including the line end. Returns how many were queued. */
uint32_t sim_service_send_body(struct sim_service *s, struct conn *c, uint32_t *left,
			       uint32_t most);

/* Stores a value of zero bytes directly; returns the result of store_begin. */
enum store_result sim_service_set(struct sim_service *s, const char *name, uint32_t len);

/* Returns a counter of the core's stack, or of its service. */
uint64_t sim_service_stack_count(const struct sim_service *s, uint32_t which);
uint64_t sim_service_count(const struct sim_service *s, enum serve_counter which);

#endif
