/*
 * Administration while other cores are at work. Goal: one core may read the state of the others
 * (counts, snapshots of connections, prefixes, events, users) while they write it, and a table of
 * users may be exchanged meanwhile; the connection limit (-c) holds over all cores together, to
 * the last connection. Method: two cores on threads of their own, each busy with requests,
 * connections that open and close, and every statistic; a third thread that exchanges users. The
 * test is meant to run under ThreadSanitizer; without it, every request must still be answered.
 */
#include "proto/mc_table.h"
#include "support/test.h"
#include "unit/serve/fake_stack.h"
#include "serve/serve_policy.h"

#include <pthread.h>

#define ROUNDS 300u

static struct rig *rigs[2];
static _Atomic uint32_t wrong, running;

static void
ask(struct rig *rig, const char *text, const char *end)
{
	struct conn *c = rig_open(rig);
	const size_t end_len = strlen(end);
	uint32_t len;

	rig_receive_text(rig, c, "set k 0 0 5\r\nann x\r\n");
	rig_receive_text(rig, c, text);
	for (uint32_t i = 0; i < 400; i++) {
		rig_turn(rig);
		rig_sent(c, &len);
		if (len >= end_len && memcmp(rig_sent(c, NULL) + len - end_len, end, end_len) == 0)
			break;
	}
	wrong += len < end_len || memcmp(rig_sent(c, NULL) + len - end_len, end, end_len) != 0;
	rig_lose(rig, c);
}

static void *
core(void *arg)
{
	static const char *const rows[][2] = {
		{"set a:1 0 0 1\r\nx\r\nget a:1 b:2\r\n", "END\r\n"},
		{"delete a:1\r\nmd b:2\r\n", "NF\r\n"}, /* the other core sets a:1 */
		{"stats\r\n", "END\r\n"},
		{"stats conns\r\n", "END\r\n"},
		{"stats slabs\r\nstats items\r\nstats settings\r\n", "END\r\n"},
		{"stats detail on\r\nstats detail dump\r\n", "END\r\n"},
		{"stats reset\r\n", "RESET\r\n"},
		{"incr n 1\r\nms n 1\r\n5\r\nma n\r\n", "HD\r\n"},
		{"lru_crawler mgdump all\r\n", "EN\r\n"},
		{"slabs reassign -1 3\r\nverbosity 1\r\n", "OK\r\n"},
	};
	struct rig *rig = arg;
	struct conn *watcher = NULL;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		const uint32_t row = i % (sizeof rows / sizeof rows[0]);

		if (i % 20 == 0) {
			if (watcher != NULL)
				rig_lose(rig, watcher);
			watcher = rig_open(rig);
			rig_receive_text(rig, watcher,
					 "set k 0 0 5\r\nann x\r\nwatch fetchers "
					 "mutations deletions connevents rawcmds\r\n");
		}
		ask(rig, rows[row][0], rows[row][1]);
		rig_acked(rig, watcher);
		rig_forget_sent(watcher);
	}
	/* The other core may wait for this one to pass an epoch. */
	running--;
	while (running > 0)
		rig_turn(rig);
	return NULL;
}

#define ann                                                                                        \
	((struct serve_user){                                                                      \
		.name_len = 3, .password_len = 1, .role = MC_ROLE_ADMIN, .bytes = "annx"})

static void *
exchange_users(void *arg)
{
	uint32_t done = 0;

	for (uint32_t i = 0; running > 0; i++) {
		struct serve_users users = {.count = 1 + i % SERVE_USERS_MAX};

		for (uint32_t k = 0; k < users.count; k++)
			users.user[k] = ann;
		done += serve_users_replace_mt(rigs[0]->shared, &users);
		(void)serve_stop_requested_mt(rigs[0]->shared);
		serve_rusage_set_mt(rigs[0]->shared, i, i);
	}
	wrong += done == 0;
	return NULL;
}

TEST(cores_are_asked_about_while_they_work)
{
	const struct serve_policy policy = {.auth = true, .detail = true};
	const struct serve_users users = {.count = 1, .user = {ann}};
	pthread_t threads[3];

	rig_create_cores(rigs, 2);
	serve_shared_set_policy(rigs[0]->shared, &policy);
	check(serve_users_replace_mt(rigs[0]->shared, &users));
	running = 2;
	pthread_create(&threads[2], NULL, exchange_users, NULL);
	for (uint32_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, core, rigs[i]);
	for (uint32_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	check_eq(wrong, 0);
	check(rig_count(rigs[0], EVENTS_SENT) + rig_count(rigs[1], EVENTS_SENT) > 0);
	rig_destroy(rigs[1]);
	rig_destroy(rigs[0]);
}

TEST(the_limit_holds_over_all_cores_to_the_last_connection)
{
	const struct serve_info info = {.conns_max = 5};
	const char *const words = "ERROR Too many open connections\r\n";
	struct conn *open[5], *late;

	rig_create_cores(rigs, 2);
	serve_shared_set_info(rigs[0]->shared, &info);
	for (uint32_t i = 0; i < 5; i++)
		open[i] = rig_open(rigs[i > 0]); /* one on core 0, four on core 1 */
	for (uint32_t i = 0; i < 2; i++) {
		late = rig_open(rigs[i]);
		check_str(rig_sent(late, NULL), words);
		check(rig_closed(late));
		rig_lose(rigs[i], late);
	}
	/* A closed connection makes room on either core, for exactly one. */
	rig_lose(rigs[1], open[4]);
	open[4] = rig_open(rigs[0]);
	check_str(rig_sent(open[4], NULL), "");
	check_str(rig_sent(rig_open(rigs[0]), NULL), words);
	check_str(rig_sent(rig_open(rigs[1]), NULL), words);
	rig_destroy(rigs[1]);
	rig_destroy(rigs[0]);
}

/* A connection that was answered and closed no longer counts, however long its
 * client keeps its end open. */
TEST(a_closed_connection_makes_room_at_once)
{
	static const char *const ends[] = {"quit\r\n", "GET / HTTP/1.1\r\n", "version\r\nquit\r\n"};
	const struct serve_info info = {.conns_max = 2};
	struct conn *stays, *next;
	struct stack_usage usage;

	rig_create_cores(rigs, 1);
	serve_shared_set_info(rigs[0]->shared, &info);
	stays = rig_open(rigs[0]);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		next = rig_open(rigs[0]);
		check(!rig_closed(next));
		rig_receive_text(rigs[0], next, ends[i]);
		rig_turn(rigs[0]);
		check(rig_closed(next));
		check_eq(rig_count(rigs[0], CONN_ENDED), i + 1);
		stack_usage_mt(rigs[0]->stack, &usage);
		check_eq(usage.conns_open, 1);
	}
	check(!rig_closed(stays));
	rig_destroy(rigs[0]);
}

#define TICKETS 20000u
#define AT_MOST 3u

static _Atomic uint32_t inside, most_inside;

static void *
come_and_go(void *arg)
{
	struct rig *rig = arg;

	for (uint32_t i = 0; i < TICKETS; i++) {
		struct conn *c = rig_open(rig);

		if (!rig_closed(c)) {
			const uint32_t now = ++inside;

			wrong += now > AT_MOST;
			most_inside = now > most_inside ? now : most_inside;
			inside--;
		}
		rig_lose(rig, c);
	}
	return NULL;
}

TEST(the_limit_holds_while_connections_come_and_go_on_both_cores)
{
	const struct serve_info info = {.conns_max = AT_MOST};
	pthread_t threads[2];
	struct conn *held[2];

	rig_create_cores(rigs, 2);
	serve_shared_set_info(rigs[0]->shared, &info);
	wrong = 0;
	for (uint32_t i = 0; i < 2; i++) {
		held[i] = rig_open(rigs[i]);
		inside++;
	}
	for (uint32_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, come_and_go, rigs[i]);
	for (uint32_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	check_eq(wrong, 0);
	/* Connections that were closed are no longer counted: there is room for one. */
	check_str(rig_sent(rig_open(rigs[0]), NULL), "");
	check(rig_closed(rig_open(rigs[1])));
	check_ptr(held[0]);
	rig_destroy(rigs[1]);
	rig_destroy(rigs[0]);
}
