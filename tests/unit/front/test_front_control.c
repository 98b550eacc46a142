/*
 * test_front_control.c - servers that fail, leave and return; fleets that change.
 *
 * Goal:   no state gives a key to another server before every core has settled a state that
 *         refuses it; a server that left is used again after a probe and a flush only, and leaves
 *         again only when stand-ins hold none of its values.
 * Method: cores are their reports; the state after each step is checked. Every generation is
 *         compared with the one before: a key that was not refused has the same server, or none.
 */
#include "front/front_control.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CORES 2u
#define KEYS  400u
#define S     1000000000ull
#define NONE  UINT32_MAX

struct world {
	struct front_exchange *x;
	struct front_control control;
	struct front_config config[2];
	uint64_t now_ns;
	uint32_t generation;
	uint32_t had[KEYS]; /* the server of each key */
};

static void
servers_read(struct front_servers *s, uint32_t count, char first)
{
	s->count = count;
	for (uint32_t i = 0; i < count; i++) {
		snprintf(s->server[i].name, sizeof s->server[i].name, "%c", first + (char)i);
		s->server[i].weight = 1;
		snprintf(s->host[i].host, sizeof s->host[i].host, "10.0.0.%u",
			 (uint32_t)(first + (char)i));
		s->host[i].port = 11211;
	}
}

static struct world *
world_create(uint32_t servers, uint32_t gutter, bool ejects)
{
	struct world *w = calloc(1, sizeof *w);
	struct front_config *config = &w->config[0];
	const uint32_t room = 16;
	const size_t bytes = (front_exchange_bytes(room) + 63) & ~(size_t)63;

	*config = (struct front_config){.hash = FRONT_HASH_MURMUR,
					.server_connections = 1,
					.server_failure_limit = 2,
					.server_retry_timeout_ns = 30 * S,
					.auto_eject_hosts = ejects,
					.gutter_ttl_s = 10};
	servers_read(&config->servers, servers, 'a');
	servers_read(&config->gutter, gutter, 'p');
	w->config[1] = *config;
	w->x = aligned_alloc(64, bytes);
	check_ptr(w->x);
	memset(w->x, 0, bytes);
	front_exchange_init(w->x, CORES, room);
	w->now_ns = 100 * S;
	front_control_init(&w->control, w->x, config);
	return w;
}

static void
world_destroy(struct world *w)
{
	free(w->x);
	free(w);
}

static const struct front_state *
state_of(struct world *w)
{
	return front_exchange_turn_mt(w->x);
}

/* Returns the server of a key, computed as a core computes it. */
static uint32_t
server_of(const struct front_state *s, uint32_t number)
{
	char text[12];
	const struct view key = {(uint8_t *)text, (uint32_t)sprintf(text, "key%u", number)};
	const uint32_t home = front_ring_server(s->ring, key);
	uint32_t to;

	if (s->condition[home] == FRONT_PLACE_IN_USE)
		return s->next->npoints == 0 || front_ring_server(s->next, key) == home ? home
											: NONE;
	if (s->condition[home] != FRONT_PLACE_AWAY || s->stand->npoints == 0)
		return NONE;
	to = front_ring_server(s->stand, key);
	return s->condition[to] == FRONT_PLACE_IN_USE ? to : NONE;
}

static void
judge(struct world *w)
{
	const struct front_state *s = state_of(w);

	for (uint32_t i = 0; i < KEYS; i++) {
		const uint32_t has = server_of(s, i);

		if (w->generation != 0 && has != w->had[i] && has != NONE && w->had[i] != NONE)
			fail_msg("generation %u: key %u goes from server %u to %u at once",
				 s->generation, i, w->had[i], has);
		w->had[i] = has;
	}
	check(w->generation == 0 || s->generation - w->generation <= 1);
	w->generation = s->generation;
}

static void
settle(struct world *w, uint32_t core)
{
	front_exchange_settled_mt(w->x, core, state_of(w));
}

/* Runs one step after all cores have settled the state before it. */
static void
step(struct world *w)
{
	judge(w);
	for (uint32_t i = 0; i < CORES; i++)
		settle(w, i);
	front_control_step(&w->control, w->now_ns);
	judge(w);
}

static void
steps(struct world *w)
{
	for (uint32_t i = 0; i < 8; i++)
		step(w);
}

static uint32_t
keys_of(struct world *w, uint32_t server)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < KEYS; i++)
		n += server_of(state_of(w), i) == server;
	return n;
}

static void
fails(struct world *w, uint32_t server, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		front_report_failure_mt(&w->x->report[server], w->now_ns, w->now_ns);
}

/* Reports what the probing core would: an answered probe and, if flushed, the flush. */
static void
answers(struct world *w, uint32_t server, bool flushed)
{
	struct front_report *r = &w->x->report[server];

	if (flushed)
		r->flush_done = r->flush_due;
	r->probed = state_of(w)->probe[server];
}

static uint8_t
condition(struct world *w, uint32_t server)
{
	return state_of(w)->condition[server];
}

static enum front_health
health(struct world *w, uint32_t server)
{
	return w->control.place[server].health;
}

TEST(a_fleet_begins_in_use)
{
	struct world *w = world_create(3, 2, true);
	const struct front_state *s = state_of(w);

	check_eq(s->generation, 1);
	check_eq(s->count, 5);
	check(!s->special);
	check_eq(ip_addr_v4_get(&s->address[1].ip), 0x0a000000 + 'b');
	for (uint32_t i = 0; i < 3; i++)
		check(keys_of(w, i) > KEYS / 6);
	check_eq(keys_of(w, 3) + keys_of(w, 4), 0);
	steps(w);
	check_eq(state_of(w)->generation, 1);
	check(front_control_room(&w->config[0]) >= 13);
	world_destroy(w);
}

TEST(two_failures_make_it_down_and_a_probe_brings_it_back)
{
	struct world *w = world_create(3, 0, false);

	fails(w, 1, 1);
	steps(w);
	check_eq(condition(w, 1), FRONT_PLACE_IN_USE);
	front_report_good_mt(&w->x->report[1]);
	fails(w, 1, 1);
	steps(w);
	check_eq(condition(w, 1), FRONT_PLACE_IN_USE);
	fails(w, 1, 1);
	step(w);
	check_eq(condition(w, 1), FRONT_PLACE_REFUSED);
	check_eq(keys_of(w, 1), 0);
	check(keys_of(w, NONE) > KEYS / 6);
	check_eq(state_of(w)->pause_ms[1], FRONT_PROBE_MS);
	w->now_ns += 3600 * S;
	steps(w);
	check_eq(condition(w, 1), FRONT_PLACE_REFUSED);
	answers(w, 1, false);
	steps(w);
	check_eq(condition(w, 1), FRONT_PLACE_IN_USE);
	check(!state_of(w)->special);
	/* The answer counted once: two new failures refuse the server again. */
	fails(w, 1, 2);
	steps(w);
	check_eq(condition(w, 1), FRONT_PLACE_REFUSED);
	world_destroy(w);
}

/* Requests that were in flight at a failure belong to the same incident. */
TEST(one_incident_is_one_failure)
{
	struct world *w = world_create(2, 0, false);
	struct front_report *r = &w->x->report[0];

	for (uint32_t i = 0; i < 10; i++)
		check_eq(front_report_failure_mt(r, w->now_ns - S, w->now_ns + i), 1);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_IN_USE);
	check_eq(front_report_failure_mt(r, w->now_ns + S, w->now_ns + S), 2);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
	world_destroy(w);
}

/* The server's requests end before another server gets its keys. */
TEST(it_leaves_when_all_cores_have_settled_that)
{
	for (uint32_t gutter = 0; gutter <= 2; gutter += 2) {
		struct world *w = world_create(3, gutter, true);

		fails(w, 0, 2);
		step(w);
		check_eq(health(w, 0), FRONT_HEALTH_LEAVING);
		check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
		for (uint32_t i = 0; i < 5; i++) {
			settle(w, 0);
			front_control_step(&w->control, w->now_ns);
			check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
		}
		check(!front_report_owes_mt(&w->x->report[0]));
		step(w);
		check_eq(condition(w, 0), FRONT_PLACE_AWAY);
		check_eq(state_of(w)->pause_ms[0], 30000);
		check_eq(keys_of(w, 0) + keys_of(w, NONE), 0);
		check_eq(keys_of(w, 3) != 0, gutter != 0);
		check(front_report_owes_mt(&w->x->report[0]));
		world_destroy(w);
	}
}

TEST(it_returns_flushed_and_in_two_phases)
{
	for (uint32_t gutter = 0; gutter <= 2; gutter += 2) {
		struct world *w = world_create(3, gutter, true);

		fails(w, 0, 2);
		steps(w);
		check_eq(condition(w, 0), FRONT_PLACE_AWAY);
		const uint32_t probe = state_of(w)->probe[0];

		answers(w, 0, false);
		steps(w);
		check_eq(condition(w, 0), FRONT_PLACE_AWAY);
		check(state_of(w)->probe[0] != probe);
		answers(w, 0, true);
		step(w);
		check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
		for (uint32_t i = 0; i < 5; i++) {
			settle(w, 1);
			front_control_step(&w->control, w->now_ns);
			check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
		}
		step(w);
		check_eq(condition(w, 0), FRONT_PLACE_IN_USE);
		check(keys_of(w, 0) > KEYS / 6);
		check(!state_of(w)->special);
		world_destroy(w);
	}
}

/* In shared mode a returning server owes no flush: others have used it meanwhile. */
TEST(in_shared_mode_it_returns_with_what_it_has)
{
	struct world *w = world_create(3, 0, true);

	w->config[0].shared = true;
	fails(w, 0, 2);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_AWAY);
	check(!front_report_owes_mt(&w->x->report[0]));
	answers(w, 0, false);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_IN_USE);
	world_destroy(w);
}

/* Stand-ins hold values of the server's earlier absence for gutter_ttl. */
TEST(it_does_not_leave_again_within_gutter_ttl)
{
	for (uint32_t gutter = 0; gutter <= 2; gutter += 2) {
		struct world *w = world_create(3, gutter, true);

		fails(w, 0, 2);
		steps(w);
		answers(w, 0, true);
		steps(w);
		check_eq(condition(w, 0), FRONT_PLACE_IN_USE);
		fails(w, 0, 2);
		steps(w);
		check_eq(health(w, 0), FRONT_HEALTH_DOWN);
		w->now_ns += 11 * S;
		steps(w);
		check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
		w->now_ns += 2 * S;
		steps(w);
		check_eq(condition(w, 0), FRONT_PLACE_AWAY);
		world_destroy(w);
	}
}

/* Without a gutter, a second absence moves keys that were moved already. */
TEST(stand_ins_change_no_sooner_than_gutter_ttl)
{
	struct world *w = world_create(4, 0, true);

	w->control.membership[0].config = &w->config[0];
	fails(w, 0, 2);
	steps(w);
	fails(w, 1, 2);
	steps(w);
	check_eq(health(w, 1), FRONT_HEALTH_DOWN);
	w->now_ns += 13 * S;
	step(w);
	check_eq(health(w, 1), FRONT_HEALTH_LEAVING);
	check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
	step(w);
	check_eq(condition(w, 0), FRONT_PLACE_AWAY);
	check_eq(condition(w, 1), FRONT_PLACE_AWAY);
	check_eq(keys_of(w, 0) + keys_of(w, 1) + keys_of(w, NONE), 0);
	answers(w, 0, true);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_AWAY);
	w->now_ns += 13 * S;
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_IN_USE);
	check_eq(condition(w, 1), FRONT_PLACE_AWAY);
	answers(w, 1, true); /* the last server's return changes no stand-in */
	steps(w);
	check_eq(condition(w, 1), FRONT_PLACE_IN_USE);
	world_destroy(w);
}

TEST(one_that_nobody_stands_in_for_stays)
{
	struct world *w = world_create(2, 0, true);

	fails(w, 0, 2);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_AWAY);
	check_eq(keys_of(w, 1), KEYS);
	w->now_ns += 60 * S;
	fails(w, 1, 2);
	steps(w);
	check_eq(health(w, 1), FRONT_HEALTH_DOWN);
	check_eq(keys_of(w, NONE), KEYS);
	check(!front_report_owes_mt(&w->x->report[1]));
	world_destroy(w);
	w = world_create(1, 1, true);
	fails(w, 1, 2);
	steps(w);
	w->now_ns += 60 * S;
	steps(w);
	check_eq(health(w, 1), FRONT_HEALTH_DOWN); /* a server of the gutter */
	check_eq(keys_of(w, 0), KEYS);
	fails(w, 0, 2);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_AWAY);
	check_eq(keys_of(w, NONE), KEYS);
	answers(w, 1, true);
	steps(w);
	check_eq(keys_of(w, 1), KEYS);
	world_destroy(w);
}

TEST(one_that_owes_a_flush_is_not_used)
{
	struct world *w = world_create(2, 0, false);

	front_report_owe_mt(&w->x->report[0]);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
	answers(w, 0, false);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
	answers(w, 0, true);
	front_report_owe_mt(&w->x->report[0]); /* another flush became due meanwhile */
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
	answers(w, 0, true);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_IN_USE);
	world_destroy(w);
}

TEST(another_address_waits_for_the_requests_of_the_former)
{
	for (uint32_t flushes = 0; flushes < 2; flushes++) {
		struct world *w = world_create(2, 0, false);
		const struct ip_addr ip = ip_addr_v4(0x0a000099), was = state_of(w)->address[1].ip;

		w->config[0].reload_flushes = flushes;
		front_control_located(&w->control, w->config[0].servers.host[1].host, &ip);
		step(w);
		check_eq(condition(w, 1), FRONT_PLACE_REFUSED);
		check(ip_addr_equal(&state_of(w)->address[1].ip, &was));
		settle(w, 0);
		front_control_step(&w->control, w->now_ns);
		check(ip_addr_equal(&state_of(w)->address[1].ip, &was));
		step(w);
		check(ip_addr_equal(&state_of(w)->address[1].ip, &ip));
		check_eq(condition(w, 1), flushes ? FRONT_PLACE_REFUSED : FRONT_PLACE_IN_USE);
		answers(w, 1, true);
		steps(w);
		check_eq(condition(w, 1), FRONT_PLACE_IN_USE);
		world_destroy(w);
	}
}

static void
reload(struct world *w)
{
	struct error err;

	check(front_control_reload(&w->control, &w->config[1], w->now_ns, &err));
}

TEST(a_reload_moves_keys_in_two_phases)
{
	struct world *w = world_create(3, 0, false);
	struct front_servers *next = &w->config[1].servers;

	/* The reload removes b, adds x and changes the order. */
	next->server[1] = next->server[0];
	next->host[1] = next->host[0];
	strcpy(next->server[0].name, "x");
	strcpy(next->host[0].host, "10.0.0.200");
	reload(w);
	check_eq(state_of(w)->generation, 1);
	step(w);
	check(keys_of(w, NONE) > KEYS / 6);
	check(keys_of(w, 0) > KEYS / 8);
	check_eq(condition(w, 3), FRONT_PLACE_IN_USE);
	for (uint32_t i = 0; i < 5; i++) {
		settle(w, 0);
		front_control_step(&w->control, w->now_ns);
		check_eq(keys_of(w, 3), 0);
	}
	check(front_control_config(&w->control) == &w->config[0]);
	step(w);
	check(front_control_config(&w->control) == &w->config[1]);
	check_eq(keys_of(w, NONE) + keys_of(w, 1), 0);
	check(keys_of(w, 3) > KEYS / 6);
	check_eq(condition(w, 1), FRONT_PLACE_VACANT);
	check_str(w->control.place[3].host->host, "10.0.0.200");
	check(!front_report_owes_mt(&w->x->report[3]));
	world_destroy(w);
}

TEST(a_reload_may_flush_who_gains_keys)
{
	struct world *w = world_create(3, 0, false);

	servers_read(&w->config[1].servers, 4, 'a');
	w->config[1].reload_flushes = true;
	reload(w);
	steps(w);
	for (uint32_t i = 0; i < 3; i++)
		check_eq(condition(w, i), FRONT_PLACE_IN_USE);
	check_eq(condition(w, 3), FRONT_PLACE_REFUSED);
	answers(w, 3, true);
	steps(w);
	check(keys_of(w, 3) > KEYS / 8);
	world_destroy(w);
}

/* A refused reload changes nothing, not even in part. */
TEST(a_reload_that_cannot_be_changes_nothing)
{
	struct world *w = world_create(3, 0, false);
	struct error err;

	servers_read(&w->config[1].servers, 14, 'f');
	check(!front_control_reload(&w->control, &w->config[1], w->now_ns, &err));
	check(strstr(err.text, "room") != NULL);
	steps(w);
	check_eq(state_of(w)->generation, 1);
	servers_read(&w->config[1].servers, 4, 'a');
	reload(w);
	check(!front_control_reload(&w->control, &w->config[1], w->now_ns, &err));
	steps(w);
	check_eq(state_of(w)->count, 4);
	world_destroy(w);
}

/* The keys of the absent server are refused until the new fleet's stand-ins hold no
 * values of the old one. */
TEST(a_reload_while_a_server_is_away)
{
	struct world *w = world_create(3, 1, true);

	fails(w, 0, 2);
	steps(w);
	servers_read(&w->config[1].gutter, 2, 'q');
	reload(w);
	step(w);
	check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_REFUSED);
	check_eq(condition(w, 3), FRONT_PLACE_VACANT);
	w->now_ns += 13 * S;
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_AWAY);
	check(keys_of(w, 4) + keys_of(w, 5) > KEYS / 6);
	answers(w, 0, true);
	steps(w);
	check_eq(condition(w, 0), FRONT_PLACE_IN_USE);
	world_destroy(w);
}

TEST(a_reload_waits_for_addresses)
{
	struct world *w = world_create(2, 0, false);
	const struct ip_addr ip = ip_addr_v4(0x0a000099);

	servers_read(&w->config[1].servers, 3, 'a');
	strcpy(w->config[1].servers.host[2].host, "name");
	reload(w);
	steps(w);
	check_eq(state_of(w)->generation, 1);
	front_control_located(&w->control, "name", &ip);
	steps(w);
	check_eq(state_of(w)->count, 3);
	check(ip_addr_equal(&state_of(w)->address[2].ip, &ip));
	world_destroy(w);
}

static void
note_refused(void *arg, const struct front_host *host)
{
	strcpy(arg, host->host);
}

/* A server that is down is tried with it at once. */
TEST(new_login_reaches_the_cores_and_servers_that_are_down)
{
	static const struct front_login login = {.line = "set k 0 -1 3\r\nu p\r\n"};
	struct world *w = world_create(3, 0, false);
	uint32_t probe;

	check_str(state_of(w)->login.line, "");
	w->control.exchange->report[1].failures = 2;
	steps(w);
	probe = state_of(w)->probe[1];
	check(probe != 0);
	front_control_login(&w->control, &login);
	step(w);
	check_str(state_of(w)->login.line, login.line);
	check_eq(state_of(w)->probe[1], probe + 1);
	check_eq(state_of(w)->pause_ms[1], 0);
	check_eq(state_of(w)->probe[0], 0);
	world_destroy(w);
}

TEST(reload_without_an_address_is_refused)
{
	struct world *w = world_create(2, 0, false);
	const struct ip_addr ip = ip_addr_v4(0x0a000099);
	char refused[FRONT_HOST_BYTES] = "";

	w->control.refused = note_refused;
	w->control.arg = refused;
	servers_read(&w->config[1].servers, 3, 'a');
	strcpy(w->config[1].servers.host[2].host, "name");
	reload(w);
	w->now_ns += FRONT_LOCATE_NS - 1;
	steps(w);
	check(refused[0] == '\0');
	w->now_ns++;
	steps(w);
	check(strcmp(refused, "name") == 0);
	check_eq(state_of(w)->generation, 1);
	check(front_control_config(&w->control) == &w->config[0]);
	/* An address that arrives late changes nothing and does not hinder the next reload. */
	front_control_located(&w->control, "name", &ip);
	steps(w);
	check_eq(state_of(w)->generation, 1);
	reload(w);
	front_control_located(&w->control, "name", &ip);
	steps(w);
	check_eq(state_of(w)->count, 3);
	world_destroy(w);
}

/* A server of the present fleet that never had an address does not keep others from joining. */
TEST(reload_beside_a_nameless_server_goes_on)
{
	struct world *w = world_create(2, 0, false);

	strcpy(w->config[0].servers.host[1].host, "nowhere");
	servers_read(&w->config[1].servers, 3, 'a');
	strcpy(w->config[1].servers.host[1].host, "nowhere");
	w->control.place[1].ip = (struct ip_addr){0};
	reload(w);
	steps(w);
	check_eq(state_of(w)->count, 3);
	world_destroy(w);
}
