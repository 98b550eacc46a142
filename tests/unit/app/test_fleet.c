/*
 * test_fleet.c - the fleet behind a front while it runs.
 *
 * Goal:   cores see textual addresses at once, those of names when they are resolved, none of a
 *         name that never was, and the last one of a name that fails; a state is published only
 *         when something changed; the thread resolves what the hosts file has.
 * Method: passes with a lookup of the test's own, whose answers it changes; the thread with the
 *         system's.
 */
#include "config/config.h"
#include "fleet/fleet.h"
#include "support/localhost.h"

#include <unistd.h>

#define CORES    1u /* more are refused so far */
#define TRIES    6000
#define TRIES_US 10000

/* The address of every name; 0: none. */
struct world {
	uint32_t ip;
	uint32_t asked;
	const char *only; /* NULL or the only name with an address; others fail */
};

static enum front_lookup
look_up(void *arg, const char *host, struct front_answers *answers)
{
	struct world *w = arg;

	w->asked++;
	if (w->ip == 0 || (w->only != NULL && strcmp(w->only, host) != 0))
		return FRONT_LOOKUP_FAILED;
	answers->count = 1;
	answers->ip[0] = ip_addr_v4(w->ip);
	return FRONT_LOOKUP_FOUND;
}

/* The fleets made so far; the process never frees them. */
static struct fleet *begun[8];
static uint32_t begun_count;

static struct fleet *
begin(const char *servers)
{
	struct fleet *f = NULL;
	struct config cfg;
	struct error err;

	config_defaults(&cfg);
	cfg.cores = CORES;
	check(config_set(&cfg, "address", "10.0.0.250/24", &err));
	check(config_set(&cfg, "front-servers", servers, &err));
	if (!fleet_begin(&f, &cfg, &err))
		fail_msg("%s", err.text);
	check(begun_count < sizeof begun / sizeof begun[0]);
	begun[begun_count++] = f;
	return f;
}

static const struct front_state *
turn(struct fleet *f)
{
	const struct front_state *now = front_exchange_turn_mt(f->exchange);

	front_exchange_settled_mt(f->exchange, 0, now);
	return now;
}

/* Ticks until nothing changes. */
static void
ticks(struct fleet *f)
{
	for (uint32_t i = 0; i < 6; i++) {
		turn(f);
		fleet_tick(f, i);
	}
}

static bool
pass(struct fleet *f, struct world *w)
{
	const bool all = fleet_pass(f, look_up, w);

	ticks(f);
	return all;
}

static uint32_t
ip_of(struct fleet *f, uint32_t server)
{
	return ip_addr_v4_get(&turn(f)->address[server].ip);
}

TEST(without_servers_there_is_no_fleet)
{
	struct fleet none, *f = &none;
	struct config cfg;
	struct error err;

	config_defaults(&cfg);
	check(fleet_begin(&f, &cfg, &err));
	check_null(f);
	strcpy(cfg.front.servers, "a:0:1");
	check(!fleet_begin(&f, &cfg, &err));
	check_null(f);
}

TEST(addresses_as_text_are_there_from_the_start)
{
	struct fleet *f = begin("10.0.0.7:11211:1,name:7:1,10.0.0.8:8:1");
	const struct front_state *s = turn(f);

	check_eq(s->generation, 1);
	check_eq(s->count, 3);
	check_eq(ip_of(f, 0), 0x0a000007);
	check_eq(ip_of(f, 2), 0x0a000008);
	check(ip_addr_is_zero(&s->address[1].ip));
	check_eq(s->address[1].port, 7);
	check_eq(s->ring->nservers, 3);
}

TEST(names_are_published_when_they_change_and_only_then)
{
	struct fleet *f = begin("10.0.0.7:11211:1,a:7:1,b:7:1");
	struct world w = {.ip = 0};

	turn(f);
	check(!pass(f, &w));
	check_eq(w.asked, 2);
	check_eq(turn(f)->generation, 1);
	w.ip = 0x01020304;
	check(pass(f, &w));
	check_eq(turn(f)->generation, 2);
	check_eq(ip_of(f, 1), 0x01020304);
	check_eq(ip_of(f, 2), 0x01020304);
	check_eq(ip_of(f, 0), 0x0a000007);
	check(pass(f, &w));
	check_eq(turn(f)->generation, 2);
	w.ip = 0;
	check(pass(f, &w));
	check_eq(ip_of(f, 1), 0x01020304);
	check_eq(turn(f)->generation, 2);
	w.ip = 0x01020305;
	check(pass(f, &w));
	check_eq(turn(f)->generation, 4); /* in two phases */
	check_eq(ip_of(f, 2), 0x01020305);
	w.only = "a";
	w.ip = 0x01020306;
	check(pass(f, &w));
	check_eq(turn(f)->generation, 6);
	check_eq(ip_of(f, 1), 0x01020306);
	check_eq(ip_of(f, 2), 0x01020305);
	check_eq(w.asked, 12);
}

TEST(addresses_alone_need_no_thread)
{
	struct fleet *f = begin("10.0.0.7:11211:1");
	struct world w = {.ip = 1};

	turn(f);
	check(pass(f, &w));
	check_eq(w.asked, 0);
	check_eq(turn(f)->generation, 1);
}

TEST(the_thread_finds_what_the_hosts_file_has)
{
	struct fleet *f = begin("localhost:11211:1");
	struct error err;
	int i = 0;

	need_localhost();
	turn(f);
	check(fleet_start(f, &err));
	while (ip_of(f, 0) != 0x7f000001 && ++i < TRIES) {
		ticks(f);
		usleep(TRIES_US);
	}
	check(i < TRIES);
}

static struct fleet_spec *
look(const char *servers)
{
	struct fleet_spec *l;
	struct config cfg;
	struct error err;

	config_defaults(&cfg);
	cfg.cores = CORES;
	check(config_set(&cfg, "address", "10.0.0.250/24", &err));
	check(config_set(&cfg, "front-servers", servers, &err));
	check(fleet_spec_read(&l, &cfg, &err));
	return l;
}

/* The names of another list are looked up at once; known addresses stay. */
TEST(a_reload_is_another_list)
{
	struct fleet *f = begin("10.0.0.7:11211:1,a:7:1");
	struct world w = {.ip = 0x01020304};
	struct fleet_spec *next = look("b:7:1,a:7:1,10.0.0.9:1:1");
	struct error err;

	check(pass(f, &w));
	f->runs = true; /* no thread looks up beside us */
	check(!fleet_has(f, next));
	check(fleet_reload(f, next, 0, &err));
	check(fleet_has(f, next));
	ticks(f);
	check_eq(turn(f)->count, 2);
	w.only = "b";
	w.ip = 0x01020305;
	check(pass(f, &w));
	check_eq(turn(f)->count, 4);
	check_eq(turn(f)->condition[0], FRONT_PLACE_VACANT);
	check_eq(ip_of(f, 1), 0x01020304);
	check_eq(ip_of(f, 2), 0x01020305);
	check_eq(ip_of(f, 3), 0x0a000009);
	check(f->spec == next && f->next == NULL);
	next = look("a:1:1,b:1:1,c:1:1,d:1:1,e:1:1,f:1:1,g:1:1,h:1:1,i:1:1,j:1:1,k:1:1");
	check(!fleet_reload(f, next, 0, &err));
	fleet_spec_free(next);
	ticks(f);
	check_eq(turn(f)->count, 4);
}

/* The name is wrong, and the servers of before stay. */
TEST(refused_reload_leaves_the_fleet_as_it_was)
{
	struct fleet *f = begin("10.0.0.7:11211:1");
	struct fleet_spec *next = look("10.0.0.8:11211:1,nowhere:11211:1");
	struct fleet_spec *was = f->spec;
	struct world w = {.ip = 0};
	struct error err;

	f->runs = true; /* no thread looks up beside us */
	check(fleet_reload(f, next, 0, &err));
	check(!pass(f, &w));
	fleet_tick(f, FRONT_LOCATE_NS);
	ticks(f);
	check(f->next == NULL && f->spec == was);
	check_eq(turn(f)->count, 1);
	check_eq(ip_of(f, 0), 0x0a000007);
	check_eq(f->hosts.count, 1);
	next = look("10.0.0.9:11211:1");
	check(fleet_reload(f, next, 0, &err));
	ticks(f);
	check(f->spec == next);
}

TEST(start_has_the_addresses_of_names)
{
	struct fleet *f = begin("localhost:11211:1");
	struct error err;

	need_localhost();
	check(fleet_start(f, &err));
	fleet_wait(f, TRIES);
	check_eq(ip_of(f, 0), 0x7f000001);
}

/* The lookup comes far sooner than FLEET_LOOKUP_S. */
TEST(name_of_a_failed_server_is_looked_up_at_once)
{
	struct fleet *f = begin("localhost:11211:1");
	struct error err;
	uint32_t passes = 0, i = 0;

	check(fleet_start(f, &err));
	fleet_wait(f, TRIES);
	ticks(f);
	for (uint32_t n = 0; n < f->spec->config.server_failure_limit; n++)
		front_report_failure_mt(&f->exchange->report[0], n + 1, n + 1);
	ticks(f);
	check_eq(turn(f)->condition[0], FRONT_PLACE_REFUSED);
	while (passes < 2 && ++i < TRIES) {
		usleep(TRIES_US);
		pthread_mutex_lock(&f->lock);
		passes = f->passes;
		pthread_mutex_unlock(&f->lock);
	}
	check(passes >= 2);
}
