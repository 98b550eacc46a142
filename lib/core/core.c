/*
 * core.c - runs the stages of a turn in order, with or without a clock read between them; repeats
 * stages 5 to 7; does housekeeping at the end.
 */
#include "core.h"
#include "idle.h"

#include "base/time_units.h"

#define CORE_STAGE_CYCLES_NAME(stage) {"CORE_CYCLES_" #stage, "of the turns timed, cycles in it"},
#define CORE_STAGE_LONG_NAME(stage)                                                                \
	{"CORE_LONG_" #stage, "of the long turns timed, those in which it took longest"},
const struct counter_name core_counter_names[CORE_COUNTER_COUNT] = {CORE_COUNTERS(
	COUNTER_NAME) CORE_STAGES(CORE_STAGE_CYCLES_NAME) CORE_STAGES(CORE_STAGE_LONG_NAME)};

static_assert(STACK_PAUSE_NS > IDLE_WAIT_MAX_NS, "a wait is no pause");

/* Records the stage. Only a crash handler in the same thread reads it, so a relaxed store is
 * enough. */
static inline void
stage_begin(struct core *core, uint8_t stage)
{
	atomic_store_explicit(&core->stage, stage, memory_order_relaxed);
}

/* Ends a stage, adds its time to the clock if there is one, and begins the next stage. */
static inline uint64_t
stage_lap(struct core *core, struct stage_clock *clock, enum core_stage stage, uint64_t since)
{
	stage_begin(core, (uint8_t)(stage + 1));
	if (clock == NULL)
		return 0;

	const uint64_t now = clock->cycles();

	clock->spent[stage] += now - since;
	return now;
}

/* Runs stages 5 to 7 until there is no more work, no reply fits, or the turn has done its share. */
static inline uint64_t
passes_run(struct core *core, struct stage_clock *clock, uint64_t t)
{
	struct serve *sv = core->serve;

	for (uint32_t pass = 0; pass < PASSES_MAX; pass++) {
		stage_begin(core, STAGE_PARSE);
		serve_parse(sv);
		t = stage_lap(core, clock, STAGE_PARSE, t);
		serve_prefetch(sv);
		t = stage_lap(core, clock, STAGE_PREFETCH, t);
		serve_execute(sv);
		t = stage_lap(core, clock, STAGE_EXECUTE, t);
		if (!serve_has_work(sv))
			break;
	}
	stack_release(core->stack);
	return stage_lap(core, clock, STAGE_EXECUTE, t);
}

/* Counts a turn that took more than TURN_TOO_LONG_NS, and has the next turns timed. */
static __attribute__((noinline)) void
long_turn_ended(struct core *core)
{
	if (core->times.longest_stage != STAGE_COUNT) {
		counter_add(&core->counters[CORE_LONG_TIMED], 1);
		counter_add(&core->counters[CORE_LONG_RX + core->times.longest_stage], 1);
	}
	core->timed_left = TIMED_AFTER_LONG;
	core->plain_turns = 0;
}

static inline void
trace_add(struct core *core, uint64_t now_ns, uint32_t frames_in, uint32_t frames_out)
{
	struct core_trace *t = &core->trace[core->traced++ % CORE_TRACE_TURNS];

	t->began_ns = now_ns;
	t->frames_in = (uint16_t)frames_in;
	t->frames_out = (uint16_t)frames_out;
}

static inline void
housekeeping(struct core *core, uint64_t now_ns, uint32_t frames_out)
{
	const uint32_t moved = core->in.rx.count + frames_out;
	const uint64_t turn_ns = now_ns - core->last_ns;
	const uint64_t turns = counter_read(&core->counters[CORE_TURNS]) + 1;

	/* The time since the previous turn began was that turn's. */
	counter_add(&core->counters[CORE_TURNS], 1);
	counter_add(&core->counters[CORE_TOTAL_NS], turn_ns);
	if (core->was_busy) {
		counter_add(&core->counters[CORE_BUSY_NS], turn_ns);
		turn_times_add(&core->times, turn_ns);
		if (unlikely(turn_ns > TURN_TOO_LONG_NS))
			long_turn_ended(core);
	}
	core->times.longest_stage = STAGE_COUNT;
	core->was_busy = moved != 0;
	if (moved != 0)
		trace_add(core, now_ns, core->in.rx.count, frames_out);
	core->last_ns = now_ns;
	if ((turns & (HOUSEKEEPING_TURNS - 1)) == 0)
		store_housekeeping(core->store);
}

/* The core was away longer than any idle wait (idle.h): it was descheduled, or its last turn
 * overran. */
static __attribute__((noinline)) void
pause_ended(struct core *core, uint64_t now_ns)
{
	counter_add(&core->counters[CORE_PAUSES], 1);
	stack_paused(core->stack, core->last_ns, now_ns);
}

/* Returns one of the two values of the wall clock at start. A clock step may fall between the two
 * loads, so a turn can see one old and one new value. */
static inline int64_t
wall_at_start(const _Atomic int64_t *start)
{
	return atomic_load_explicit(start, memory_order_relaxed);
}

static inline void
turn(struct core *core, uint64_t now_ns, struct stage_clock *clock)
{
	struct stack *stack = core->stack;
	struct classified *in = &core->in;
	const uint64_t up_s = (now_ns - core->start_ns) / NS_PER_S;
	const struct serve_clock time = {
		.now_ns = now_ns,
		.now_s = STORE_CLOCK_START + (uint32_t)up_s,
		.unix_ns = wall_at_start(&core->start_unix_ns) + (int64_t)(now_ns - core->start_ns),
		.unix_s = wall_at_start(&core->start_unix_s) + (int64_t)up_s,
	};
	const uint32_t room = stack_rx_budget(stack);
	uint64_t t = clock != NULL ? clock->cycles() : 0;
	uint32_t sent;

	stage_begin(core, STAGE_RX);
	if (unlikely(now_ns - core->last_ns >= STACK_PAUSE_NS))
		pause_ended(core, now_ns);
	in->rx.count = 0;
	if (room != 0)
		core->port->ops->rx(core->port, &in->rx, room < BURST_MAX ? room : BURST_MAX);
	t = stage_lap(core, clock, STAGE_RX, t);

	stack_classify(stack, in);
	t = stage_lap(core, clock, STAGE_CLASSIFY, t);
	stack_match(stack, in);
	t = stage_lap(core, clock, STAGE_MATCH, t);
	stack_input(stack, in, now_ns);
	t = stage_lap(core, clock, STAGE_INPUT, t);

	/* store_turn reports a quiescent state: the core holds no item of the last turn any
	 * more. */
	store_turn(core->store, time.now_s);
	serve_turn(core->serve, &time);
	t = passes_run(core, clock, t);

	stack_tick(stack, now_ns);
	t = stage_lap(core, clock, STAGE_TICK, t);
	stack_output(stack, now_ns);
	t = stage_lap(core, clock, STAGE_OUTPUT, t);
	sent = stack_tx(stack);
	t = stage_lap(core, clock, STAGE_TX, t);
	housekeeping(core, now_ns, sent);
	stage_lap(core, clock, STAGE_HOUSEKEEPING, t);
}

void
core_init(struct core *core, struct port *port, struct stack *stack, struct serve *serve,
	  struct store_core *store, uint64_t now_ns, int64_t unix_ns)
{
	*core = (struct core){
		.port = port,
		.stack = stack,
		.serve = serve,
		.store = store,
		.start_ns = now_ns,
		.start_unix_ns = unix_ns,
		.start_unix_s = unix_ns / (int64_t)NS_PER_S,
		.last_ns = now_ns,
		.times.longest_stage = STAGE_COUNT,
		.stage = STAGE_COUNT,
	};
	serve_turn_times_set(serve, &core->times);
}

void
core_wall_set_mt(struct core *core, int64_t unix_ns)
{
	atomic_store_explicit(&core->start_unix_ns, unix_ns, memory_order_relaxed);
	atomic_store_explicit(&core->start_unix_s, unix_ns / (int64_t)NS_PER_S,
			      memory_order_relaxed);
}

void
core_cycles_set(struct core *core, uint64_t (*cycles)(void))
{
	core->cycles = cycles;
}

static __attribute__((noinline)) void
turn_with_clock(struct core *core, uint64_t now_ns, struct stage_clock *clock)
{
	turn(core, now_ns, clock);
}

static __attribute__((noinline)) void
turn_sampled(struct core *core, uint64_t now_ns)
{
	struct stage_clock clock = {.cycles = core->cycles};
	uint32_t longest = 0;

	core->plain_turns = TIMED_EVERY - 1;
	if (core->timed_left != 0) {
		core->timed_left--;
		core->plain_turns = 0;
	}
	turn_with_clock(core, now_ns, core->cycles != NULL ? &clock : NULL);
	if (core->cycles == NULL || !core->was_busy)
		return;
	counter_add(&core->counters[CORE_TURNS_TIMED], 1);
	for (uint32_t i = 0; i < STAGE_COUNT; i++) {
		counter_add(&core->counters[CORE_CYCLES_RX + i], clock.spent[i]);
		longest = clock.spent[i] > clock.spent[longest] ? i : longest;
	}
	core->times.longest_stage = (uint8_t)longest;
}

void
core_turn(struct core *core, uint64_t now_ns)
{
	if (unlikely(core->plain_turns-- == 0))
		turn_sampled(core, now_ns);
	else
		turn(core, now_ns, NULL);
}

void
core_waited(struct core *core, uint64_t ns)
{
	counter_add(&core->counters[CORE_WAITS], 1);
	counter_add(&core->counters[CORE_WAITED_NS], ns);
}

void
core_host_waited(struct core *core, uint64_t ns)
{
	core->times.host_ns = ns;
}

void
core_turn_timed(struct core *core, uint64_t now_ns, struct stage_clock *clock)
{
	turn_with_clock(core, now_ns, clock);
}
