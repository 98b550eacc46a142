/*
 * test_front_names.c - addresses of servers from their names.
 *
 * Goal:   a textual address is never looked up; a name keeps its address while that is among its
 *         answers, and while it cannot be looked up; every name has its turn; the system's own
 *         lookup knows addresses and the hosts file, and reports an unknown name.
 * Method: a lookup of a table that the test changes; the system's with a name of /etc/hosts, and
 *         with one that is sent to no name server.
 */
#include "front/front_names.h"
#include "front/front_servers.h"
#include "support/localhost.h"

#define RECORDS_MAX 4u

static struct front_servers servers;
static struct front_names names;

struct record {
	const char *host;
	enum front_lookup result;
	uint32_t count;
	uint32_t ip[RECORDS_MAX];
};

struct table {
	struct record record[RECORDS_MAX];
	uint32_t asked;
};

static enum front_lookup
look_up(void *arg, const char *host, struct front_answers *answers)
{
	struct table *t = arg;

	t->asked++;
	for (uint32_t i = 0; i < RECORDS_MAX && t->record[i].host != NULL; i++) {
		const struct record *r = &t->record[i];

		if (strcmp(r->host, host) != 0)
			continue;
		answers->count = r->count;
		for (uint32_t k = 0; k < r->count; k++)
			answers->ip[k] = ip_addr_v4(r->ip[k]);
		return r->result;
	}
	fail_msg("%s was looked up", host);
	return FRONT_LOOKUP_FAILED;
}

static void
begin(const char *list)
{
	struct error err;

	check(front_servers_read(&servers, list, &err));
	front_names_init(&names, &servers);
}

static uint32_t
ip_of(uint32_t server)
{
	return ip_addr_v4_get(&names.name[server].ip);
}

TEST(an_address_is_never_looked_up)
{
	struct table t = {0};
	struct front_step step;

	begin("10.0.0.7:1:1,2001:db8::7:1:1");
	check_eq(ip_of(0), 0x0a000007);
	check(ip_addr_is_v4(&names.name[0].ip) && !ip_addr_is_v4(&names.name[1].ip));
	check_eq(names.name[1].ip.b[15], 7);
	check_eq(names.name[1].last, FRONT_LOOKUP_FOUND);
	for (int i = 0; i < 3; i++) {
		step = front_names_step(&names, &servers, look_up, &t);
		check(step.none_left && step.last && !step.changed);
	}
	check_eq(t.asked, 0);
}

TEST(names_have_their_turns)
{
	struct table t = {.record = {{"a", FRONT_LOOKUP_FOUND, 1, {1}},
				     {"b", FRONT_LOOKUP_FOUND, 1, {2}},
				     {"c", FRONT_LOOKUP_FOUND, 1, {3}}}};
	static const uint32_t order[] = {1, 3, 4};

	begin("10.0.0.1:1:1,a:1:1,10.0.0.2:1:1,b:1:1,c:1:1,10.0.0.3:1:1");
	for (uint32_t i = 0; i < 9; i++) {
		const struct front_step step = front_names_step(&names, &servers, look_up, &t);

		check_eq(step.server, order[i % 3]);
		check_eq(step.last, i % 3 == 2);
		check_eq(step.changed, i < 3);
		check(!step.none_left);
		check_eq(ip_of(step.server), i % 3 + 1);
	}
	check_eq(t.asked, 9);
}

TEST(an_address_stays_while_the_name_has_it)
{
	static const struct {
		enum front_lookup result;
		uint32_t count, ip[RECORDS_MAX];
		uint32_t want;
		bool changed;
	} steps[] = {
		{FRONT_LOOKUP_NO_NAME, 0, {0}, 0, false},
		{FRONT_LOOKUP_FAILED, 0, {0}, 0, false},
		{FRONT_LOOKUP_FOUND, 3, {5, 6, 7}, 5, true},
		{FRONT_LOOKUP_FOUND, 3, {6, 7, 5}, 5, false},
		{FRONT_LOOKUP_FOUND, 3, {7, 5, 6}, 5, false},
		{FRONT_LOOKUP_FAILED, 0, {0}, 5, false},
		{FRONT_LOOKUP_NO_NAME, 0, {0}, 5, false},
		{FRONT_LOOKUP_FOUND, 2, {7, 6}, 7, true},
		{FRONT_LOOKUP_FOUND, 1, {5}, 5, true},
	};
	struct table t = {.record = {{.host = "a"}}};

	begin("a:1:1");
	check(ip_addr_is_zero(&names.name[0].ip));
	for (uint32_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		struct front_step step;

		t.record[0].result = steps[i].result;
		t.record[0].count = steps[i].count;
		memcpy(t.record[0].ip, steps[i].ip, sizeof steps[i].ip);
		step = front_names_step(&names, &servers, look_up, &t);
		check_eq(step.changed, steps[i].changed);
		check_eq(ip_of(0), steps[i].want);
		check_eq(names.name[0].last, steps[i].result);
	}
}

#define LABEL_64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

TEST(the_system_knows_its_hosts_and_says_what_it_does_not)
{
	static const struct {
		const char *host;
		enum front_lookup result;
		uint32_t ip;
	} cases[] = {
		{"localhost", FRONT_LOOKUP_FOUND, 0x7f000001},
		{"192.0.2.9", FRONT_LOOKUP_FOUND, 0xc0000209},
		{LABEL_64, FRONT_LOOKUP_NO_NAME, 0}, /* RFC 1035: 63 at most; no query is sent */
		{"2001:db8::1", FRONT_LOOKUP_NO_NAME, 0}, /* IPv4 only */
	};
	bool ipv6 = false;

	need_localhost();
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct front_answers answers = {0};

		check_eq(front_lookup_system(&ipv6, cases[i].host, &answers), cases[i].result);
		check_eq(answers.count != 0, cases[i].result == FRONT_LOOKUP_FOUND);
		if (answers.count != 0)
			check_eq(ip_addr_v4_get(&answers.ip[0]), cases[i].ip);
	}
}

TEST(ipv6_counts_where_it_is_asked_for)
{
	struct front_answers answers = {0};
	bool ipv6 = true;

	need_localhost();
	check_eq(front_lookup_system(&ipv6, "2001:db8::1", &answers), FRONT_LOOKUP_FOUND);
	check_eq(answers.count, 1);
	check_eq(answers.ip[0].b[0], 0x20);
	answers.count = 0;
	check_eq(front_lookup_system(&ipv6, "localhost", &answers), FRONT_LOOKUP_FOUND);
	check_eq(ip_addr_v4_get(&answers.ip[0]), 0x7f000001);
}
