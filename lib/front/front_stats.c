/*
 * front_stats.c - adds up the counts of cores, computes percentiles of round trips, and makes rows.
 */
#include "front_stats.h"

#include "base/check.h"
#include "base/time_units.h"
#include "front_plan.h"

#include <string.h>

#define WORK_SUM 10u /* of adding up one count of one core, in ns */

void
front_stats_attach(struct front_stats *stats, struct front_server_counts *counts,
		   struct front_peer_counts *peers, uint32_t servers)
{
	ensure(stats->cores < CORES_MAX && (stats->cores == 0 || stats->servers == servers));
	stats->servers = servers;
	stats->peers[stats->cores] = peers;
	stats->counts[stats->cores++] = counts;
}

static void
counter_set(struct counter *c, uint64_t n)
{
	atomic_store_explicit(&c->value, n, memory_order_relaxed);
}

void
front_counts_reset(struct front_server_counts *counts, struct front_peer_counts *peers,
		   uint32_t servers)
{
	for (uint32_t k = 0; k < PEERS_COUNTS; k++)
		counter_set(&peers->count[k], 0);
	for (uint32_t i = 0; i < servers; i++) {
		struct counter *c = counts[i].count;
		const uint64_t keys =
			counter_read(&c[FRONT_SERVER_TAKEN]) - counter_read(&c[FRONT_SERVER_FREED]);
		const uint64_t links = counter_read(&c[FRONT_SERVER_OPENED]) -
				       counter_read(&c[FRONT_SERVER_ENDED]);
		const uint64_t unknown = counter_read(&c[FRONT_SERVER_UNKNOWN]) -
					 counter_read(&c[FRONT_SERVER_SETTLED]);
		const uint64_t left_at_s = counter_read(&c[FRONT_SERVER_LEFT_AT_S]);

		for (uint32_t k = 0; k < FRONT_SERVER_COUNTS; k++)
			counter_set(&c[k], 0);
		for (uint32_t k = 0; k < FRONT_TRIP_CELLS; k++)
			counter_set(&counts[i].trips[k], 0);
		counter_set(&c[FRONT_SERVER_TAKEN], keys);
		counter_set(&c[FRONT_SERVER_OPENED], links);
		counter_set(&c[FRONT_SERVER_UNKNOWN], unknown);
		counter_set(&c[FRONT_SERVER_LEFT_AT_S], left_at_s);
	}
}

void
front_stats_reset_mt(struct front_stats *stats)
{
	atomic_fetch_add_explicit(&stats->resets, 1, memory_order_relaxed);
}

uint64_t
front_stats_sum_mt(const struct front_stats *stats, uint32_t server, enum front_server_count which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < stats->cores; i++)
		sum += counter_read(&stats->counts[i][server].count[which]);
	return sum;
}

uint64_t
front_stats_peers_mt(const struct front_stats *stats, enum peers_count which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < stats->cores; i++)
		sum += counter_read(&stats->peers[i]->count[which]);
	return sum;
}

static uint64_t
trips_sum(const struct front_stats *stats, uint32_t server, uint32_t cell)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < stats->cores; i++)
		sum += counter_read(&stats->counts[i][server].trips[cell]);
	return sum;
}

static uint64_t
cell_end_us(uint32_t cell)
{
	const uint32_t next = cell + 1;
	const uint64_t units = next < 4 ? next : (4ull + next % 4) << (next / 4 - 1);

	return ((units << FRONT_TRIP_SHIFT) + 500) / 1000;
}

uint64_t
front_stats_trip_us_mt(const struct front_stats *stats, uint32_t server, uint32_t percent)
{
	uint64_t cells[FRONT_TRIP_CELLS], all = 0, so_far = 0;

	for (uint32_t i = 0; i < FRONT_TRIP_CELLS; i++)
		all += cells[i] = trips_sum(stats, server, i);
	for (uint32_t i = 0; i < FRONT_TRIP_CELLS && all != 0; i++) {
		so_far += cells[i];
		if (so_far * 100 >= all * percent)
			return cell_end_us(i);
	}
	return 0;
}

/* ---- load of all servers ---- */

/* Returns begun minus ended. Reading one after the other may make it too low, so it is at least
 * 0. */
static uint64_t
open_of(const struct front_stats *stats, uint32_t server, enum front_server_count begun,
	enum front_server_count ended)
{
	const uint64_t out = front_stats_sum_mt(stats, server, ended);
	const uint64_t in = front_stats_sum_mt(stats, server, begun);

	return in > out ? in - out : 0;
}

static uint64_t
links_of(const struct front_stats *stats, uint32_t server)
{
	return open_of(stats, server, FRONT_SERVER_OPENED, FRONT_SERVER_ENDED);
}

/* The server with the most keys for its share so far. */
struct most {
	uint32_t server; /* all servers' keys together, if each had as many for its share */
	double keys;     /* if all servers had as many for their share */
};

static void
most_add(struct most *most, uint32_t server, uint64_t keys, double due)
{
	if (due > 0 && (double)keys / due > most->keys)
		*most = (struct most){server, (double)keys / due};
}

/* Returns the load of the busiest server in thousandths of its share. Without a count of clients'
 * requests, the share is one of the keys sent. */
static uint32_t
thousandths(const struct most *most, uint64_t sent, uint64_t wanted)
{
	const uint64_t all = wanted > sent ? wanted : sent;

	return all == 0 ? 0 : (uint32_t)(most->keys * 1000 / (double)all + 0.5);
}

static void
reset_look(const struct front_stats *stats, struct front_looker *looker, uint64_t wanted)
{
	const uint32_t resets = atomic_load_explicit(&stats->resets, memory_order_relaxed);

	if (resets == looker->resets)
		return;
	looker->resets = resets;
	looker->wanted_before = wanted;
}

static void
sums_look(struct front_stats *stats)
{
	static const enum front_server_count shown[] = {FRONT_SERVER_SPARED,  FRONT_SERVER_FILLS,
							FRONT_SERVER_JOINED,  FRONT_SERVER_LOST,
							FRONT_SERVER_UNKNOWN, FRONT_SERVER_SETTLED};

	for (uint32_t k = 0; k < sizeof shown / sizeof shown[0]; k++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < stats->servers; i++)
			sum += front_stats_sum_mt(stats, i, shown[k]);
		atomic_store_explicit(&stats->sum[shown[k]], sum, memory_order_relaxed);
	}
}

/* Stores the load of each server since the last call, computed as front_load.by_mean is. */
static void
recent_store(struct front_stats *stats, const uint64_t *keys, const double *due, uint64_t sent,
	     uint64_t wanted)
{
	for (uint32_t i = 0; i < stats->servers; i++) {
		const struct most one = {i, due[i] > 0 ? (double)keys[i] / due[i] : 0};

		atomic_store_explicit(&stats->recent[i], thousandths(&one, sent, wanted),
				      memory_order_relaxed);
	}
}

void
front_stats_due(const struct front_control *c, double due[FRONT_SERVERS_MAX])
{
	const struct front_membership *members = &c->membership[c->membership_now];
	const uint32_t servers = members->config->servers.count;
	double of_server[FRONT_SERVERS_MAX];

	memset(due, 0, FRONT_SERVERS_MAX * sizeof *due);
	front_plan_due(members->config, of_server);
	for (uint32_t i = 0; i < servers; i++)
		due[members->server[i]] = of_server[i];
	for (uint32_t i = 0; i < members->config->gutter.count; i++)
		due[members->gutter[i]] = 1.0 / servers;
}

void
front_stats_look(struct front_stats *stats, struct front_looker *looker, uint64_t wanted,
		 uint32_t links, const double *due, struct front_load *load)
{
	struct most most = {0}, most_new = {0};
	uint64_t all = 0;

	reset_look(stats, looker, wanted);
	sums_look(stats);
	*load = (struct front_load){0};
	for (uint32_t i = 0; i < stats->servers; i++) {
		const uint64_t now = front_stats_sum_mt(stats, i, FRONT_SERVER_KEYS);
		const uint64_t before = looker->keys[i];
		const uint64_t since = now >= before ? now - before : now; /* lower after a reset */

		looker->keys[i] = now;
		all += now;
		load->keys += since;
		looker->since[i] = since;
		load->live += links_of(stats, i) >= (uint64_t)links * stats->cores;
		most_add(&most, i, now, due[i]);
		most_add(&most_new, i, since, due[i]);
	}
	load->busiest = most_new.server;
	load->by_mean = thousandths(&most_new, load->keys, wanted - looker->wanted);
	recent_store(stats, looker->since, due, load->keys, wanted - looker->wanted);
	looker->wanted = wanted;
	atomic_store_explicit(&stats->busiest, most.server, memory_order_relaxed);
	atomic_store_explicit(&stats->by_mean,
			      thousandths(&most, all, wanted - looker->wanted_before),
			      memory_order_relaxed);
}

/* ---- rows ---- */

static const char *
state_of(const struct front_stats *stats, const struct front_state *fleet, uint32_t server,
	 uint32_t links)
{
	const uint64_t up = links_of(stats, server);

	if (fleet->condition[server] == FRONT_PLACE_VACANT)
		return "unlisted";
	if (fleet->condition[server] == FRONT_PLACE_AWAY)
		return "away";
	if (fleet->condition[server] == FRONT_PLACE_REFUSED || up == 0)
		return "down";
	return up >= (uint64_t)links * stats->cores ? "up" : "partly";
}

/* Returns why a server is not fully in use, to go with the word of state_of(). A failure is named
 * until the next success. */
static const char *
reason_word(const struct front_stats *stats, const struct front_shown *shown, uint32_t server)
{
	static const char *const failures[] = {
		[FRONT_FAILURE_UNKNOWN] = "unknown",
		[FRONT_FAILURE_REFUSED] = "refused",
		[FRONT_FAILURE_UNREACHABLE] = "unreachable",
		[FRONT_FAILURE_SILENT] = "connect_timed_out",
		[FRONT_FAILURE_NO_CONN] = "no_connection_free",
		[FRONT_FAILURE_CLOSED] = "closed",
		[FRONT_FAILURE_LATE] = "timed_out",
		[FRONT_FAILURE_BROKEN] = "invalid_answer",
		[FRONT_FAILURE_LOGIN] = "login_refused",
		[FRONT_FAILURE_NO_LOGIN] = "login_required",
		[FRONT_FAILURE_NOT_TLS] = "not_tls",
		[FRONT_FAILURE_TLS_SILENT] = "tls_timed_out",
		[FRONT_FAILURE_TLS_CLOSED] = "tls_closed",
		[FRONT_FAILURE_TLS_REFUSED] = "tls_refused",
		[FRONT_FAILURE_TLS_OTHER] = "tls_failed",
		[FRONT_FAILURE_CERT_EXPIRED] = "certificate_expired",
		[FRONT_FAILURE_CERT_EARLY] = "certificate_not_valid_yet",
		[FRONT_FAILURE_CERT_NAME] = "certificate_of_another_name",
		[FRONT_FAILURE_CERT_ISSUER] = "certificate_of_unknown_issuer",
		[FRONT_FAILURE_CERT_OTHER] = "certificate_invalid",
		[FRONT_FAILURE_CERT_OWN] = "own_certificate_refused",
		[FRONT_FAILURE_NO_PATH] = "no_such_socket",
		[FRONT_FAILURE_DENIED] = "permission_denied",
		[FRONT_FAILURE_KERNEL_OTHER] = "kernel_refused"};
	static_assert(sizeof failures / sizeof failures[0] == FRONT_FAILURE_COUNT, "all are named");
	const struct front_state *fleet = shown->names;
	const struct front_report *r = &shown->exchange->report[server];
	const uint8_t condition = fleet->condition[server];

	if (condition == FRONT_PLACE_VACANT ||
	    (condition == FRONT_PLACE_IN_USE &&
	     links_of(stats, server) >= (uint64_t)shown->links * stats->cores))
		return "none";
	if (ip_addr_is_zero(&fleet->address[server].ip))
		return "name_unresolved";
	if (atomic_load_explicit(&r->failures, memory_order_relaxed) != 0)
		return failures[atomic_load_explicit(&r->why, memory_order_relaxed)];
	if (condition == FRONT_PLACE_IN_USE)
		return "connecting";
	return front_report_owes_mt(r) ? "flush" : "returning";
}

static const char *
role_word(const struct front_state *fleet, uint32_t server)
{
	static const char *const words[] = {[FRONT_ROLE_SERVER] = "server",
					    [FRONT_ROLE_GUTTER] = "gutter",
					    [FRONT_ROLE_JOINING] = "joining",
					    [FRONT_ROLE_DRAINING] = "draining"};

	return words[fleet->role[server]];
}

/* Returns a word that says whether this server's answers are cached now. */
static const char *
copies_of(const struct front_shown *shown, uint32_t server)
{
	const _Atomic bool *fenced = &shown->exchange->report[server].fenced;

	if (!shown->copies)
		return "none";
	return !shown->fence || atomic_load_explicit(fenced, memory_order_relaxed) ? "kept"
										   : "fence";
}

#define SUM(which) front_stats_sum_mt(stats, i, FRONT_SERVER_##which)

/* X(kind, name, value, number of counts read for it). */
#define SERVER_ROWS(X)                                                                             \
	X(TEXT, "name", shown->names->server[i].name, 0)                                           \
	X(TEXT, "state", state_of(stats, shown->names, i, shown->links), 2)                        \
	X(TEXT, "reason", reason_word(stats, shown, i), 2)                                         \
	X(TEXT, "role", role_word(shown->names, i), 0)                                             \
	X(NUMBER, "server_connections", links_of(stats, i), 2)                                     \
	X(NUMBER, "keys", SUM(KEYS), 1)                                                            \
	X(THOUSANDTHS, "recent_by_mean",                                                           \
	  atomic_load_explicit(&stats->recent[i], memory_order_relaxed), 0)                        \
	X(NUMBER, "requests", SUM(REQUESTS), 1)                                                    \
	X(NUMBER, "failed", SUM(FAILED), 1)                                                        \
	X(NUMBER, "server_err", SUM(ERR), 1)                                                       \
	X(NUMBER, "server_timedout", SUM(TIMEDOUT), 1)                                             \
	X(NUMBER, "server_eof", SUM(EOF), 1)                                                       \
	X(NUMBER, "queue", open_of(stats, i, FRONT_SERVER_TAKEN, FRONT_SERVER_FREED), 2)           \
	X(NUMBER, "round_trip_p50_us", front_stats_trip_us_mt(stats, i, 50), FRONT_TRIP_CELLS)     \
	X(NUMBER, "round_trip_p99_us", front_stats_trip_us_mt(stats, i, 99), FRONT_TRIP_CELLS)     \
	X(NUMBER, "server_ejected_at", SUM(LEFT_AT_S) * US_PER_S, 1)                               \
	X(NUMBER, "server_ejections", SUM(EJECTED), 1)                                             \
	X(TEXT, "copies", copies_of(shown, i), 0)                                                  \
	X(NUMBER, "spared", SUM(SPARED), 1)                                                        \
	X(NUMBER, "fills", SUM(FILLS), 1)                                                          \
	X(NUMBER, "joined", SUM(JOINED), 1)                                                        \
	X(NUMBER, "writes_lost", SUM(LOST), 1)                                                     \
	X(NUMBER, "fates_unknown", open_of(stats, i, FRONT_SERVER_UNKNOWN, FRONT_SERVER_SETTLED),  \
	  2)                                                                                       \
	X(NUMBER, "handed_in", SUM(HANDED_IN), 1)                                                  \
	X(NUMBER, "handed_out", SUM(HANDED_OUT), 1)

#define OF_ALL(which) atomic_load_explicit(&stats->sum[FRONT_SERVER_##which], memory_order_relaxed)

/* Returns the number of version words in doubt. The two sums are read one after the other. */
static uint64_t
doubts_of_all(const struct front_stats *stats)
{
	const uint64_t settled = OF_ALL(SETTLED), unknown = OF_ALL(UNKNOWN);

	return unknown > settled ? unknown - settled : 0;
}

#define PEERS(which) front_stats_peers_mt(stats, PEERS_##which)

#define FLEET_ROWS(X)                                                                              \
	X(TEXT, "mode", shown->copy_ns != 0 ? "shared" : "sole", 0)                                \
	X(NUMBER, "copy_ttl_ms", shown->copy_ns / NS_PER_MS, 0)                                    \
	X(NUMBER, "busiest_server", atomic_load_explicit(&stats->busiest, memory_order_relaxed),   \
	  0)                                                                                       \
	X(THOUSANDTHS, "busiest_by_mean",                                                          \
	  atomic_load_explicit(&stats->by_mean, memory_order_relaxed), 0)                          \
	X(NUMBER, "spared", OF_ALL(SPARED), 0)                                                     \
	X(NUMBER, "fills", OF_ALL(FILLS), 0)                                                       \
	X(NUMBER, "joined", OF_ALL(JOINED), 0)                                                     \
	X(NUMBER, "writes_lost", OF_ALL(LOST), 0)                                                  \
	X(NUMBER, "fates_unknown", doubts_of_all(stats), 0)                                        \
	X(NUMBER, "handing_over", shown->names->was->npoints != 0, 0)                              \
	X(NUMBER, "peers_told", PEERS(TOLD), 1)                                                    \
	X(NUMBER, "peers_lost", PEERS(LOST), 1)                                                    \
	X(NUMBER, "peers_heard", PEERS(HEARD), 1)                                                  \
	X(NUMBER, "peers_refused", PEERS(REFUSED), 1)

#define ROW_NAME(kind, name, value, looks) name,

const char *const front_stats_names[] = {SERVER_ROWS(ROW_NAME)};
const char *const front_fleet_names[] = {FLEET_ROWS(ROW_NAME)};
const uint32_t front_stats_name_count = sizeof front_stats_names / sizeof front_stats_names[0];
const uint32_t front_fleet_name_count = sizeof front_fleet_names / sizeof front_fleet_names[0];

#define VALUE_NUMBER(value)      .kind = SERVE_ROW_NUMBER, .number = (value)
#define VALUE_THOUSANDTHS(value) .kind = SERVE_ROW_THOUSANDTHS, .number = (value)
#define VALUE_TEXT(value)        .kind = SERVE_ROW_TEXT, .text = (value)
#define ROW(kind_, name_, value, looks)                                                            \
	if (left-- == 0)                                                                           \
		*row = (struct serve_row){.name = name_,                                           \
					  .of = i,                                                 \
					  .work = WORK_SUM * stats->cores * (looks),               \
					  VALUE_##kind_(value)};

bool
front_stats_row(struct front_stats *stats, struct front_shown *shown, uint32_t n,
		struct serve_row *row)
{
	uint32_t i = n / front_stats_name_count, left = n % front_stats_name_count;

	if (i < shown->names->count) {
		SERVER_ROWS(ROW)
		return true;
	}
	left = n - shown->names->count * front_stats_name_count;
	if (left >= front_fleet_name_count)
		return false;
	i = SERVE_ROW_OF_ALL;
	FLEET_ROWS(ROW)
	return true;
}
