/*
 * core.h - one core of the appliance, and one turn of it.
 *
 * lcores, the simulator and the benches call the same core_turn(). Eleven stages in order,
 * each bounded. No mutex and no system call; the only locks are the store's spin locks, held for a
 * bounded number of instructions; a get takes none. The clock is read by the caller, once.
 *
 * Back-pressure: a core takes only requests that it can answer, and answers only as much as fits.
 * The rest stays where it is: in the NIC's ring, or with the peer, whose window closes.
 *
 * Units:  ns on the caller's clock, which never goes back.
 * Owner:  the core owns none of the parts it was built from; the caller keeps them alive.
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

/* Housekeeping (stage 11) runs once in this many turns; a power of two. */
#define HOUSEKEEPING_TURNS 16u

/* Normally one turn of TIMED_EVERY is timed stage by stage. After a turn of more than
 * TURN_TOO_LONG_NS each of the next TIMED_AFTER_LONG is timed, since such turns come in
 * groups. */
#define TIMED_EVERY      64u
#define TIMED_AFTER_LONG 1024u

#define CORE_COUNTERS(X)                                                                           \
	X(CORE_TURNS, "turns")                                                                     \
	X(CORE_BUSY_NS, "time in busy turns")                                                      \
	X(CORE_TOTAL_NS, "time in all turns, and between them")                                    \
	X(CORE_PAUSES, "turns that began 10 ms or more after the turn before")                     \
	X(CORE_WAITS, "waits of an idle core, between two turns")                                  \
	X(CORE_WAITED_NS, "time in them")                                                          \
	X(CORE_TURNS_TIMED, "busy turns whose stages were timed: samples")                         \
	X(CORE_LONG_TIMED, "of those, turns of more than 100 us")

/* Counters of timed turns: the cycles of each stage, and for long turns how often the stage took
 * longest. */
#define CORE_STAGE_CYCLES_SYMBOL(stage) CORE_CYCLES_##stage,
#define CORE_STAGE_LONG_SYMBOL(stage)   CORE_LONG_##stage,
enum core_counter {
	CORE_COUNTERS(COUNTER_SYMBOL) CORE_STAGES(CORE_STAGE_CYCLES_SYMBOL)
		CORE_STAGES(CORE_STAGE_LONG_SYMBOL) CORE_COUNTER_COUNT
};

/* Busy turns, the last ones, that are recorded for the process's crash report. */
#define CORE_TRACE_TURNS 64u

struct core_trace {
	uint64_t began_ns;
	uint16_t frames_in, frames_out;
};

struct core {
	struct port *port;
	struct stack *stack;
	struct serve *serve;
	struct store_core *store;
	uint64_t start_ns; /* clock at the start, which is the store's second STORE_CLOCK_START */
	/* The wall clock at the start, by its present setting; setting the clock changes it. */
	_Atomic int64_t start_unix_ns, start_unix_s;
	uint64_t last_ns; /* clock at the beginning of the previous turn */
	bool was_busy;
	_Atomic uint8_t stage; /* the current stage of the turn; STAGE_COUNT: between two turns */
	uint32_t plain_turns;  /* turns until the next one that is timed */
	uint32_t timed_left;   /* consecutive turns still to be timed */
	uint64_t (*cycles)(void);
	uint32_t traced; /* busy turns so far; trace has the last CORE_TRACE_TURNS of them */
	struct core_trace trace[CORE_TRACE_TURNS];
	struct classified in;
	_Alignas(CACHE_LINE_BYTES) struct counter counters[CORE_COUNTER_COUNT];
	struct turn_times times;
};

/* Sums up the cycles of each stage; passed in by a bench. */
struct stage_clock {
	uint64_t (*cycles)(void);
	uint64_t spent[STAGE_COUNT];
};

extern const struct counter_name core_counter_names[CORE_COUNTER_COUNT];

void core_init(struct core *core, struct port *port, struct stack *stack, struct serve *serve,
	       struct store_core *store, uint64_t now_ns, int64_t unix_ns);
/* Sets the wall clock: from the next turn on the start counts as unix_ns. */
void core_wall_set_mt(struct core *core, int64_t unix_ns);
/* Sets the cycle counter by which stages are timed. Without one none are. Call it before the first
 * turn. */
void core_cycles_set(struct core *core, uint64_t (*cycles)(void));
void core_turn(struct core *core, uint64_t now_ns);
/* Counts that the core has waited for ns since its last turn. */
void core_waited(struct core *core, uint64_t ns);
/* Reports, before a turn, for how long the core's thread had to wait for its CPU during the
 * previous turn. */
void core_host_waited(struct core *core, uint64_t ns);
void core_turn_timed(struct core *core, uint64_t now_ns, struct stage_clock *clock);

#endif
