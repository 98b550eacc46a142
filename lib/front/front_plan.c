/*
 * front_plan.c - builds the ring, measures how evenly it places points and sequential keys, and
 * computes the number of copies.
 */
#include "front_plan.h"
#include "copies/admission.h"

#include "base/check.h"
#include "base/time_units.h"

#include <stdio.h>

#define KEYS_MIN    60000u
#define KEYS_SERVER 1000u /* keys for each server, enough for chance to add little */
#define KEY_BYTES   24u
/* A share of keys above that of the points by this factor means an uneven hash. */
#define UNEVEN      1.1
#define EVEN_HASHES "murmur, one_at_a_time or md5; of a running fleet they move the keys"

/* Refuses settings that the distribution `jump` cannot honour. */
static bool
check_together(const struct front_config *config, struct error *err)
{
	const struct front_server *server = config->servers.server;

	if (config->distribution != FRONT_JUMP)
		return true;
	if (config->auto_eject_hosts && config->gutter.count == 0)
		return error_set(err, "--front-distribution: jump, with --front-auto-eject-hosts: "
				      "it moves keys of all servers when one leaves; give "
				      "--front-gutter, too");
	for (uint32_t i = 1; i < config->servers.count; i++)
		if (server[i].weight != server[0].weight)
			return error_set(err,
					 "--front-distribution: jump, and server %s has weight %u, "
					 "%s has %u; it knows equal weights only",
					 server[0].name, server[0].weight, server[i].name,
					 server[i].weight);
	return true;
}

/* Figures of each server. */
struct shares {
	double due[FRONT_SERVERS_MAX]; /* by weight */
	double points[FRONT_SERVERS_MAX];
	uint32_t keys[FRONT_SERVERS_MAX];
};

void
front_plan_due(const struct front_config *config, double *due)
{
	const struct front_servers *s = &config->servers;
	const bool equal = config->distribution == FRONT_CONSISTENT;
	uint64_t weights = 0;

	for (uint32_t i = 0; i < s->count; i++)
		weights += equal ? 1 : s->server[i].weight;
	for (uint32_t i = 0; i < s->count; i++)
		due[i] = (equal ? 1 : s->server[i].weight) / (double)weights;
}

static void
measure_points(struct front_plan *plan, const struct front_config *config,
	       const struct shares *shares)
{
	double smallest = 1;

	for (uint32_t i = 0; i < plan->servers; i++) {
		const double by_weight = shares->points[i] / shares->due[i];

		if (by_weight > plan->busiest)
			plan->busiest = by_weight;
		if (shares->points[i] <= 0 && plan->without_points++ == 0)
			plan->without = config->servers.server[i].name;
		if (shares->points[i] > 0 && shares->points[i] < smallest)
			smallest = shares->points[i];
	}
	plan->n = 1 / smallest;
}

/* Measures the shares of n sequential keys of one form. */
static void
measure_form(struct front_plan *plan, const struct front_ring *ring, struct shares *shares,
	     int (*write)(char text[KEY_BYTES], uint32_t k), uint32_t n)
{
	memset(shares->keys, 0, sizeof shares->keys);
	for (uint32_t k = 0; k < n; k++) {
		char text[KEY_BYTES];
		const int len = write(text, k);
		const struct view key = {.data = (const uint8_t *)text, .len = (uint32_t)len};

		shares->keys[front_ring_server(ring, key)]++;
	}
	for (uint32_t i = 0; i < plan->servers; i++) {
		const double by_weight = shares->keys[i] / (double)n / shares->due[i];

		if (by_weight > plan->sequence)
			plan->sequence = by_weight;
		plan->one_has_all |= plan->servers > 1 && shares->keys[i] == n;
	}
}

static int
bare_number(char text[KEY_BYTES], uint32_t k)
{
	return snprintf(text, KEY_BYTES, "%u", k);
}

static int
with_prefix(char text[KEY_BYTES], uint32_t k)
{
	return snprintf(text, KEY_BYTES, "key:%08u", k);
}

static int
of_many_digits(char text[KEY_BYTES], uint32_t k)
{
	return snprintf(text, KEY_BYTES, "%016u", k);
}

/* Measures sequential keys. A hash may spread keys of one form evenly and those of another
 * unevenly, so the worst form counts. */
static void
measure_sequence(struct front_plan *plan, const struct front_ring *ring, struct shares *shares)
{
	const uint32_t by_servers = plan->servers * KEYS_SERVER,
		       n = by_servers > KEYS_MIN ? by_servers : KEYS_MIN;

	measure_form(plan, ring, shares, bare_number, n);
	measure_form(plan, ring, shares, with_prefix, n);
	measure_form(plan, ring, shares, of_many_digits, n);
}

static void
size_slots(struct front_plan *plan, uint32_t items)
{
	const double share = 1 / plan->n;

	plan->formula = admission_formula(share);
	plan->items = items == FRONT_ITEMS_AUTO ? admission_items(share) : items;
	if (plan->items == 0 || plan->items == FRONT_ITEMS_MEMORY)
		return;
	plan->slots = admission_slots(plan->items);
	plan->slot_bytes = admission_bytes(plan->items);
	plan->bound = admission_bound(share, plan->items);
}

bool
front_plan_make(struct front_plan *plan, struct front_ring *ring, const struct front_config *config,
		struct error *err)
{
	const struct front_fleet fleet = front_config_fleet(config);
	struct shares shares = {0};

	*plan = (struct front_plan){.servers = fleet.nservers};
	if (!check_together(config, err))
		return false;
	/* The server with the highest weight has a point. */
	ensure(front_ring_build(ring, &fleet, NULL));
	front_plan_due(config, shares.due);
	front_ring_shares(ring, shares.points);
	measure_points(plan, config, &shares);
	measure_sequence(plan, ring, &shares);
	size_slots(plan, config->items);
	return true;
}

void
front_plan_age(const struct front_plan *plan, const struct front_config *config,
	       char words[FRONT_AGE_BYTES])
{
	if (plan->items == 0)
		snprintf(words, FRONT_AGE_BYTES, "no copies: every get goes to its server");
	else if (config->shared)
		snprintf(words, FRONT_AGE_BYTES,
			 "copies are at most %.10g s old, whoever writes to the servers (shared)",
			 (double)config->ttl_ns / NS_PER_S);
	else
		snprintf(words, FRONT_AGE_BYTES,
			 "copies are right only if every write passes this front (sole); where "
			 "others write, too: shared");
}

static void
warn_of_hash(struct front_warning *w, const struct front_plan *plan, const char *hash)
{
	*w = (struct front_warning){.key = "front.hash", .fix = EVEN_HASHES};
	if (plan->one_has_all)
		snprintf(w->words, sizeof w->words,
			 "%s: one server has all keys: the points are 32 bits, such a hash is less",
			 hash);
	else
		snprintf(w->words, sizeof w->words,
			 "%s: of keys that are numbered in sequence one server has up to %.2f of "
			 "what its weight asks for, of its points %.2f",
			 hash, plan->sequence, plan->busiest);
}

/* Warns of values that servers may have kept from earlier. Returns the number of warnings, at most
 * one: the first is for shared mode, the second for hand-overs, which are for sole mode only. */
static uint32_t
warn_of_old(struct front_warning *w, const struct front_config *config)
{
	if (config->shared && config->auto_eject_hosts) {
		*w = (struct front_warning){
			.key = "front.auto_eject_hosts",
			.fix = "sole, where every write passes this front: it returns flushed",
			.words = "shared: a server that has left returns with what it had then, "
				 "however old, and this front's writes went elsewhere"};
		return 1;
	}
	if (config->warm_ns == 0 || config->reload_flushes)
		return 0;
	*w = (struct front_warning){
		.key = "front.warm",
		.fix = "front.reload: flush, which empties only servers that may have such values",
		.words = "with front.reload: keep a server that a reload adds answers with what it "
			 "still has, "
			 "of keys that moved too, however old"};
	return 1;
}

uint32_t
front_plan_warnings(const struct front_plan *plan, const struct front_config *config,
		    struct front_warning out[FRONT_WARNINGS_MAX])
{
	uint32_t n = 0;

	if (plan->without_points != 0) {
		out[n] = (struct front_warning){
			.key = "front.servers",
			.fix = "weights that are closer to each other, or no such server"};
		snprintf(out[n++].words, sizeof out[0].words,
			 "weights so small that %u of %u servers have no key, %s is the first",
			 plan->without_points, plan->servers, plan->without);
	}
	if (plan->one_has_all || plan->sequence > UNEVEN * plan->busiest)
		warn_of_hash(&out[n++], plan, front_hash_name(config->hash));
	n += warn_of_old(&out[n], config);
	if (config->items != FRONT_ITEMS_MEMORY && plan->items != 0 && plan->memory_bytes != 0 &&
	    plan->memory_bytes / plan->items < FRONT_COPY_BYTES) {
		out[n] = (struct front_warning){.key = "front.items",
						.fix = "more memory (-m), or fewer items"};
		snprintf(out[n++].words, sizeof out[0].words,
			 "%u copies have %llu bytes each, with keys and what an item takes: larger "
			 "ones push each other out, and the bound on a server is lost",
			 plan->items, (unsigned long long)(plan->memory_bytes / plan->items));
	}
	if (config->items == FRONT_ITEMS_MEMORY) {
		out[n] = (struct front_warning){.key = "front.items", .fix = "auto"};
		snprintf(out[n++].words, sizeof out[0].words,
			 "memory: no load of a server is bounded: a scan of more keys than there "
			 "is memory for takes the copies of all others");
	}
	return n;
}
