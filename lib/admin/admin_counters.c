/*
 * admin_counters.c - stats net, stack, cores and counters: every counter of every room that the
 * program has registered, a few rows in each step. A row's name is the counter's symbol in small
 * letters.
 */
#include "admin_internal.h"
#include "stat_names.h"

#define COUNTERS_A_STEP 16u
#define WORK_COUNTER    20u /* estimated ns to read one counter of one core */
#define EVERY_CORE      UINT32_MAX

static const struct telemetry *
telemetry_of(const struct serve *sv)
{
	return sv->shared->admin->telemetry;
}

/* ---- counters of one kind, numbered through ---- */

struct counter_place {
	uint32_t module, counter;
};

/* Finds counter n of a kind. False: there are fewer. */
static bool
counter_find(const struct telemetry *t, enum telemetry_kind kind, uint32_t n,
	     struct counter_place *place)
{
	for (uint32_t i = 0; t != NULL && i < t->module_count; i++) {
		const struct telemetry_set *set = telemetry_module_set(t, i);

		if (t->modules[i].kind != kind)
			continue;
		if (n < set->count) {
			*place = (struct counter_place){i, n};
			return true;
		}
		n -= set->count;
	}
	return false;
}

/* Writes the name of a counter's row: "tcp_retransmits", or "3:core_busy_ns" for one core. */
static void
name_put(char text[ROW_NAME_MAX + 1], const char *symbol, uint32_t core)
{
	const size_t len = strlen(symbol);
	char *at = text;

	ensure(MC_U64_DIGITS_MAX + 1 + len <= ROW_NAME_MAX);
	if (core != EVERY_CORE) {
		at = (char *)mc_put_u64((uint8_t *)at, core);
		*at++ = ':';
	}
	for (size_t i = 0; i <= len; i++)
		*at++ = symbol[i] >= 'A' && symbol[i] <= 'Z' ? (char)(symbol[i] + 'a' - 'A')
							     : symbol[i];
}

/* Writes the next counters from st->sub on, of one core or summed over all. False after the last.
 */
static bool
counters_step(struct serve *sv, struct stream *st, struct out_buffer *buffer,
	      enum telemetry_kind kind, uint32_t core)
{
	const struct telemetry *t = telemetry_of(sv);
	struct counter_place place;

	for (uint32_t rows = 0; rows < COUNTERS_A_STEP && out_room(buffer) >= ROW_MAX; rows++) {
		char name[ROW_NAME_MAX + 1];

		if (!counter_find(t, kind, st->sub, &place))
			return false;
		name_put(name, telemetry_module_set(t, place.module)->names[place.counter].symbol,
			 core);
		row_number(buffer, st, name,
			   telemetry_module_sum(t, place.module, place.counter,
						core == EVERY_CORE ? TELEMETRY_ALL_CORES : core));
		st->sub++;
		st->work += WORK_COUNTER * sv->shared->cores;
	}
	return true;
}

static bool
rest_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	return counters_step(sv, st, buffer, TELEMETRY_COUNTERS, EVERY_CORE);
}

/* ---- the NIC and frames ---- */

#define NIC(word) atomic_load_explicit(&sv->shared->admin->nic.word, memory_order_relaxed)

#define NET_ROWS(X)                                                                                \
	X("nic_link_up", NIC(link_up))                                                             \
	X("nic_rx_frames", NIC(rx_frames))                                                         \
	X("nic_tx_frames", NIC(tx_frames))                                                         \
	X("nic_missed", NIC(missed))                                                               \
	X("nic_no_buffer", NIC(no_buffer))                                                         \
	X("nic_rx_errors", NIC(rx_errors))                                                         \
	X("nic_tx_errors", NIC(tx_errors))                                                         \
	X("frames_bytes", sv->shared->info.memory.frames)                                          \
	X("frames_free", NIC(frames_free))

/* A row of an allowance that the port has. */
#define ALLOWANCE_ROW(symbol, name)                                                                \
	if (row_due(buffer, &st->row, &n) &&                                                       \
	    NIC(allowances[NIC_ALLOWANCE_##symbol]) != NIC_ALLOWANCE_UNKNOWN)                      \
		row_number(buffer, st, "nic_" name, NIC(allowances[NIC_ALLOWANCE_##symbol]));

#define GAUGE_ROW(name, value)                                                                     \
	if (row_due(buffer, &st->row, &n))                                                         \
		row_number(buffer, st, name, value);

void
admin_nic_set_mt(struct serve_shared *shared, const struct admin_nic *nic)
{
	struct admin_shared *all = shared->admin;

#define NIC_SET(word) atomic_store_explicit(&all->nic.word, nic->word, memory_order_relaxed)
	NIC_SET(rx_frames);
	NIC_SET(tx_frames);
	NIC_SET(missed);
	NIC_SET(no_buffer);
	NIC_SET(rx_errors);
	NIC_SET(tx_errors);
	NIC_SET(frames_free);
	NIC_SET(link_up);
	for (uint32_t i = 0; i < NIC_ALLOWANCE_COUNT; i++)
		NIC_SET(allowances[i]);
}

static bool
net_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	uint32_t n = 0;

	NET_ROWS(GAUGE_ROW)
	NIC_ALLOWANCES(ALLOWANCE_ROW)
	return st->row < n || counters_step(sv, st, buffer, TELEMETRY_NET, EVERY_CORE);
}

/* ---- TCP ---- */

#define STACK_ROWS(X)                                                                              \
	X("conns_max", use.conns_max)                                                              \
	X("conns_used", use.conns)                                                                 \
	X("conns_open", use.conns_open)                                                            \
	X("chunk_bytes", CHUNK_BYTES)                                                              \
	X("chunks", use.chunks)                                                                    \
	X("chunks_used", use.chunks_used)                                                          \
	X("rx_frames_held", use.rx_frames_held)                                                    \
	X("stack_bytes", sv->shared->info.memory.connections)

static void
state_row(const struct serve_shared *sh, struct stream *st, struct out_buffer *buffer,
	  uint32_t state)
{
	char name[ROW_NAME_MAX + 1] = "conns_";
	uint64_t conns = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		if (sh->serves[i] != NULL)
			conns += stack_conns_in_state_mt(sh->serves[i]->stack, state);
	name_put(name + strlen(name), stack_conn_state_names[state], EVERY_CORE);
	row_number(buffer, st, name, conns);
}

static bool
stack_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	struct stack_usage use;
	uint32_t n = 0;

	if (st->row < STACK_CONN_STATES) {
		st->work += WORK_COUNTER * sv->shared->cores;
		state_row(sv->shared, st, buffer, st->row++);
		return true;
	}
	n = STACK_CONN_STATES;
	st->work += WORK_STEP * sv->shared->cores;
	shared_usage(sv->shared, &use);
	STACK_ROWS(GAUGE_ROW)
	return st->row < n || counters_step(sv, st, buffer, TELEMETRY_STACK, EVERY_CORE);
}

/* ---- core by core ---- */

static bool
cores_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	if (st->at == sv->shared->cores)
		return false;
	if (!counters_step(sv, st, buffer, TELEMETRY_CORES, st->at)) {
		st->at++;
		st->sub = 0;
	}
	return true;
}

/* ---- */

void
admin_telemetry_set(struct serve_shared *shared, const struct telemetry *t)
{
	shared->admin->telemetry = t;
}

#define GAUGE_NAME(name, value)      name,
#define ALLOWANCE_NAME(symbol, name) "nic_" name,

const char *const net_gauge_names[] = {NET_ROWS(GAUGE_NAME) NIC_ALLOWANCES(ALLOWANCE_NAME)};
const uint32_t net_gauge_count = sizeof net_gauge_names / sizeof net_gauge_names[0];
const char *const stack_gauge_names[] = {STACK_ROWS(GAUGE_NAME)};
const uint32_t stack_gauge_count = sizeof stack_gauge_names / sizeof stack_gauge_names[0];

const struct stream_kind net_stream = {net_step, ROW_MAX, MC_END};
const struct stream_kind stack_stream = {stack_step, ROW_MAX, MC_END};
const struct stream_kind cores_stream = {cores_step, ROW_MAX, MC_END};
const struct stream_kind counters_stream = {rest_step, ROW_MAX, MC_END};
