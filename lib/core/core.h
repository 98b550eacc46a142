/*
 * core.h - one core of the appliance, and one turn of it.
 *
 * lcores, the simulator and the benches call the same core_turn(). Eleven stages in order,
 * each bounded. No mutex and no system call; the only locks are the store's spin locks, held for a
 * bounded number of instructions; a get takes none. The clock is read by the caller, once.
 *
 * Back-pressure: a core takes only what it can answer, answers only what fits, and leaves the
 * rest where its owner already is: the NIC ring, the peer's window.
 *
 * Units:  ns on the caller's clock, which never goes back.
 * Owner:  the core owns nothing it was built from; the caller keeps it alive.
 * Thread: a core is turned by one thread. core_*_mt: any thread.
 */
#ifndef CLOCKOO_CORE_H
#define CLOCKOO_CORE_H

#include "base/check.h"
#include "base/counter.h"
#include "base/turn_times.h"
#include "pkt/port.h"
#include "serve/serve.h"
#include "stack/stack.h"
#include "store/store.h"

/* Passes of parse-prefetch-execute in one turn: what is left waits for the next one. With OPS_MAX
 * each they make no more answers than the transmit queue has places. */
#define PASSES_MAX 4u

/* Upkeep (stage 11) runs every so many turns; a power of two. */
#define HOUSEKEEPING_TURNS 16u

enum core_stage {
	STAGE_RX,
	STAGE_CLASSIFY,
	STAGE_MATCH,
	STAGE_INPUT,
	STAGE_PARSE,
	STAGE_PREFETCH,
	STAGE_EXECUTE,
	STAGE_TICK,
	STAGE_OUTPUT,
	STAGE_TX,
	STAGE_HOUSEKEEPING,
	STAGE_COUNT,
};

#define CORE_COUNTERS(X)                                                                           \
	X(CORE_TURNS, "turns")                                                                     \
	X(CORE_BUSY_NS, "time in busy turns")                                                      \
	X(CORE_TOTAL_NS, "time in all turns, and between them")                                    \
	X(CORE_PAUSES, "turns that began 10 ms or more after the turn before")                     \
	X(CORE_WAITS, "waits of an idle core, between two turns")                                  \
	X(CORE_WAITED_NS, "time in them")

enum core_counter { CORE_COUNTERS(COUNTER_SYMBOL) CORE_COUNTER_COUNT };

struct core {
	struct port *port;
	struct stack *stack;
	struct serve *serve;
	struct store_core *store;
	uint64_t start_ns; /* clock at start; the store's second STORE_CLOCK_START */
	int64_t start_unix_ns, start_unix_s;
	uint64_t last_ns; /* start of the previous turn */
	bool was_busy;
	struct classified in;
	_Alignas(CACHE_LINE_BYTES) struct counter counters[CORE_COUNTER_COUNT];
	struct turn_times times;
};

/* Where the time of a turn goes: the bench passes one in. */
struct stage_clock {
	uint64_t (*cycles)(void);
	uint64_t spent[STAGE_COUNT];
};

extern const struct counter_name core_counter_names[CORE_COUNTER_COUNT];

void core_init(struct core *core, struct port *port, struct stack *stack, struct serve *serve,
	       struct store_core *store, uint64_t now_ns, int64_t unix_ns);
void core_turn(struct core *core, uint64_t now_ns);
/* The core has waited so long since its last turn. */
void core_waited(struct core *core, uint64_t ns);
/* Told before a turn: in the turn before, the core's thread waited so long for its CPU. */
void core_host_waited(struct core *core, uint64_t ns);
void core_turn_timed(struct core *core, uint64_t now_ns, struct stage_clock *clock);

#endif
