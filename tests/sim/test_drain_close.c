/*
 * A drain that closes each connection after its next answer (SERVE_DRAIN_CLOSE). At its end, new
 * connections get no answer and those without a request are closed. Goal: no client loses an
 * answer, and none keeps its connection. Method: a whole core, a stack as its clients, and the
 * bytes that each of them received before the end of its stream.
 */
#include "sim_service.h"
#include "base/time_units.h"
#include "serve/serve_policy.h"

#include "support/test.h"

#include <stdio.h>

#define CLIENTS 8u
#define STEP_NS 50000u
#define SOON_NS (NS_PER_S / 10)
#define GET     "get none\r\n"
#define SET     "set k 0 0 5\r\nhe"

struct client {
	struct conn *conn;
	char said[256];
	uint32_t len;
	bool opened, ended;
};

struct world {
	struct sim_service sim;
	struct client clients[CLIENTS];
};

static struct client *
client_of(struct world *w, const struct conn *c)
{
	uint32_t i = 0;

	while (i < CLIENTS && w->clients[i].conn != c)
		i++;
	check(i < CLIENTS);
	return &w->clients[i];
}

static void
on_opened(void *arg, struct conn *c)
{
	client_of(arg, c)->opened = true;
}

static void
on_gone(void *arg, struct conn *c)
{
	client_of(arg, c)->conn = NULL;
}

static void
receive(struct world *w, struct conn *c)
{
	struct client *client = client_of(w, c);

	sim_receive(w->sim.ss->stack, c, client->said, &client->len, sizeof client->said - 1);
	if (conn_eof(c)) {
		client->ended = true;
		conn_close(w->sim.ss->stack, c);
	}
}

static void
serve(void *arg)
{
	struct world *w = arg;
	struct conn *c;

	while ((c = stack_pop_ready(w->sim.ss->stack)) != NULL)
		receive(w, c);
}

static void
run(struct world *w, uint64_t ns)
{
	sim_service_run(&w->sim, ns, STEP_NS);
}

static void
open_client(struct world *w, uint32_t i)
{
	w->clients[i].conn = sim_service_connect(&w->sim);
	check_ptr(w->clients[i].conn);
	run(w, SOON_NS);
	check(w->clients[i].opened);
}

static void
say(struct world *w, uint32_t i, const char *text)
{
	sim_service_say(&w->sim, w->clients[i].conn, text, (uint32_t)strlen(text));
}

static void
begin(struct world *w)
{
	const struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, NULL};

	*w = (struct world){0};
	sim_service_create(&w->sim, &o, &user, serve);
}

static void
drain_as(struct world *w, enum serve_drain how)
{
	check(serve_drain_mt(w->sim.sc->shared, how));
	run(w, SOON_NS);
}

static void
drain(struct world *w)
{
	drain_as(w, SERVE_DRAIN_CLOSE);
}

/* Begins a world with one client, and then its drain. */
static void
begin_draining(struct world *w)
{
	begin(w);
	open_client(w, 0);
	drain(w);
}

/* Checks that the client received exactly this text, and whether its stream has ended. */
static void
check_said(const struct world *w, uint32_t i, const char *text, bool ended)
{
	check_eq(w->clients[i].len, strlen(text));
	check(memcmp(w->clients[i].said, text, strlen(text)) == 0);
	check_eq(w->clients[i].ended, ended);
}

TEST(a_connection_ends_behind_its_next_answer)
{
	struct world w;

	begin(&w);
	open_client(&w, 0);
	say(&w, 0, GET);
	run(&w, SOON_NS);
	check_said(&w, 0, "END\r\n", false);
	drain(&w);
	check_said(&w, 0, "END\r\n", false); /* no request of it is under way */
	say(&w, 0, GET GET GET);
	run(&w, SOON_NS);
	check_said(&w, 0, "END\r\nEND\r\nEND\r\nEND\r\n", true);
	sim_service_destroy(&w.sim);
}

TEST(a_new_connection_is_served_and_ends_behind_its_answer)
{
	struct world w;

	begin(&w);
	drain(&w);
	open_client(&w, 0);
	say(&w, 0, "version\r\n");
	run(&w, SOON_NS);
	check(w.clients[0].len > 0 && w.clients[0].ended);
	sim_service_destroy(&w.sim);
}

TEST(behind_a_write_without_reply_a_connection_goes_on)
{
	struct world w;

	begin_draining(&w);
	say(&w, 0, "set k 0 0 5 noreply\r\nhello\r\n");
	run(&w, SOON_NS);
	check_said(&w, 0, "", false);
	say(&w, 0, "get k\r\n");
	run(&w, SOON_NS);
	check_said(&w, 0, "VALUE k 0 5\r\nhello\r\nEND\r\n", true);
	sim_service_destroy(&w.sim);
}

TEST(a_value_that_has_not_arrived_is_waited_for)
{
	struct world w;

	begin_draining(&w);
	say(&w, 0, GET SET);
	run(&w, (DRAIN_IDLE_S + 3) * NS_PER_S);
	check_said(&w, 0, "END\r\n", false);
	say(&w, 0, "llo\r\n");
	run(&w, SOON_NS);
	check_said(&w, 0, "END\r\nSTORED\r\n", true);
	sim_service_destroy(&w.sim);
}

#define KEY_64  "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define KEY_320 KEY_64 KEY_64 KEY_64 KEY_64 KEY_64
#define KEYS_520                                                                                   \
	KEY_64 " " KEY_64 " " KEY_64 " " KEY_64 " " KEY_64 " " KEY_64 " " KEY_64 " " KEY_64 " "
#define KEYS_2600  KEYS_520 KEYS_520 KEYS_520 KEYS_520 KEYS_520
#define BAD_FORMAT "CLIENT_ERROR bad command line format\r\n"
#define TOO_LARGE  "SERVER_ERROR object too large for cache\r\n"
/* Binary: a request's head, with the bytes of extras and of the body. */
#define HEAD(op, extras, body)                                                                     \
	"\x80" op "\0\x01" extras "\0\0\0\0\0\0" body "\0\0\0\0\0\0\0\0\0\0\0\0"
#define GETQ    HEAD("\x09", "\0", "\x01") "n"
#define SETQ    HEAD("\x11", "\x08", "\x0e") "\0\0\0\0\0\0\0\0khello"
#define NOTHING "\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

struct cut_case {
	const char *text;
	uint32_t len;
	const char *answer;
	uint32_t answer_len;
	uint32_t from; /* the first byte at which the request is cut */
	bool stays;    /* the connection stays, to discard the rest of a body or line */
};

#define CASE(text, answer, ...)                                                                    \
	{                                                                                          \
		text, sizeof(text) - 1, answer, sizeof(answer) - 1, __VA_ARGS__                    \
	}

/* Sends a request in two parts, the first one in steps, and checks that the connection ends after
 * the answer and no earlier. */
static void
check_cut(struct world *w, const struct cut_case *t, uint32_t cut, uint32_t step)
{
	struct client *client = &w->clients[0];

	*client = (struct client){.conn = sim_service_connect(&w->sim)};
	run(w, SOON_NS);
	check(client->opened);
	for (uint32_t at = 0; at < cut; at += step) {
		sim_service_say(&w->sim, client->conn, t->text + at, step);
		run(w, step < cut ? NS_PER_MS : SOON_NS);
		check(!client->ended);
	}
	sim_service_say(&w->sim, client->conn, t->text + cut, t->len - cut);
	run(w, SOON_NS);
	check_eq(client->len, t->answer_len);
	check(memcmp(client->said, t->answer, t->answer_len) == 0);
	check_eq(client->ended, !t->stays);
	if (client->conn != NULL)
		conn_abort(w->sim.ss->stack, client->conn);
	run(w, SOON_NS);
}

TEST(no_connection_ends_amid_a_request)
{
	static const struct cut_case cases[] = {
		CASE("get one two three\r\n", "END\r\n", 1, false),
		CASE("get " KEYS_2600 "k\r\n", "END\r\n", 1, false),
		CASE("get one " KEY_320 " two\r\n", BAD_FORMAT, 1, false),
		CASE("get " KEYS_2600 KEY_320 " " KEY_320 "\r\n", BAD_FORMAT, 1, false),
		CASE("get " KEYS_2600 KEY_320 " " KEY_320 " ", BAD_FORMAT, 3000, true),
		CASE("set " KEY_320 " 0 0 5\r\nhello\r\n", BAD_FORMAT, 1, false),
		CASE("set " KEY_320 " 0 0 9\r\nhello\r\n", BAD_FORMAT, 330, true),
		CASE("set k 0 0 9999999\r\nhello", TOO_LARGE, 1, true),
		CASE(GET "set k 0 0 9999999\r\nhello", "END\r\n" TOO_LARGE, sizeof GET, true),
		CASE("ms k 9999999\r\nhello", TOO_LARGE, 1, true),
		CASE("set k 0 0 many\r\n", BAD_FORMAT, 1, false),
		CASE("set k 0 0 5 noreply\r\nhello\r\n" GET, "END\r\n", 1, false),
		CASE("mg none q\r\nmg none v q\r\nmn\r\n", "MN\r\n", 1, false),
		CASE("ms k 5 q\r\nhello\r\nmn\r\n", "MN\r\n", 1, false),
		CASE(GETQ SETQ GETQ "\x80" NOTHING, "\x81" NOTHING, 1, false),
	};
	struct world w;

	begin(&w);
	drain(&w);
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct cut_case *t = &cases[i];

		for (uint32_t cut = t->from; cut < t->len; cut += 1 + t->len / 32)
			check_cut(&w, t, cut, cut);
		if (t->from == 1)
			check_cut(&w, t, t->len - 1, 1);
	}
	sim_service_destroy(&w.sim);
}

/* A client sends the rest of a refused request late: when an idle connection would have been
 * closed, or once the drain has begun. */
static void
check_rest_is_discarded(bool drain_first)
{
	static const struct {
		const char *said, *rest, *answer;
		bool ends;
	} cases[] = {{"set " KEY_320 " 0 0 5\r\nhe", "llo\r\n", BAD_FORMAT, true},
		     {"get " KEYS_2600 KEY_320 " ", "two\r\n", BAD_FORMAT, true},
		     {"set k 0 0 1100000 noreply\r\nhe", "", "", false}};
	struct world w;

	begin(&w);
	for (uint32_t i = 0; i < 3; i++)
		open_client(&w, i);
	if (drain_first)
		drain(&w);
	for (uint32_t i = 0; i < 3; i++)
		say(&w, i, cases[i].said);
	run(&w, (DRAIN_IDLE_S + 3) * NS_PER_S);
	if (!drain_first)
		drain(&w);
	for (uint32_t i = 0; i < 3; i++) {
		check_said(&w, i, cases[i].answer, false);
		say(&w, i, cases[i].rest);
	}
	run(&w, SOON_NS);
	for (uint32_t i = 0; i < 3; i++)
		check_said(&w, i, cases[i].answer, cases[i].ends);
	sim_service_destroy(&w.sim);
}

TEST(what_is_discarded_ends_a_connection_behind_its_last_byte)
{
	check_rest_is_discarded(true);
}

TEST(a_drain_amid_what_is_discarded_ends_a_connection_behind_it)
{
	check_rest_is_discarded(false);
}

TEST(a_refused_value_ends_a_connection_once_it_is_discarded)
{
	static const char *const lines[] = {"set k 0 0 1100000\r\n",
					    "set k 0 0 1100000 noreply\r\n"};
	struct world w;

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t left = 1100002;

		begin_draining(&w);
		say(&w, 0, lines[i]);
		while (left > 0) {
			check_said(&w, 0, i == 0 && w.clients[0].len != 0 ? TOO_LARGE : "", false);
			sim_service_send_body(&w.sim, w.clients[0].conn, &left, 60000);
			run(&w, 2 * NS_PER_MS);
		}
		run(&w, SOON_NS);
		check_said(&w, 0, i == 0 ? TOO_LARGE : "", i == 0);
		if (i == 1) {
			say(&w, 0, GET);
			run(&w, SOON_NS);
			check_said(&w, 0, "END\r\n", true);
		}
		sim_service_destroy(&w.sim);
	}
}

/* A pipeline's last request uses up the connection's share of a turn. */
TEST(a_connection_ends_behind_requests_of_several_turns)
{
	struct world w;

	begin_draining(&w);
	say(&w, 0,
	    GET GET GET GET GET GET GET GET GET GET GET GET GET GET GET GET GET GET GET GET GET GET
		    GET GET GET GET GET GET GET GET GET GET);
	run(&w, SOON_NS);
	check_eq(w.clients[0].len, 32 * strlen("END\r\n"));
	check(w.clients[0].ended);
	sim_service_destroy(&w.sim);
}

TEST(an_idle_connection_ends_after_a_while)
{
	struct world w;

	begin(&w);
	open_client(&w, 0);
	say(&w, 0, GET);
	run(&w, SOON_NS);
	drain(&w);
	run(&w, NS_PER_S / 2);
	check_said(&w, 0, "END\r\n", false);
	run(&w, (DRAIN_IDLE_S + 3) * NS_PER_S);
	check_said(&w, 0, "END\r\n", true);
	sim_service_destroy(&w.sim);
}

TEST(a_new_connection_at_the_end_waits_for_another_host)
{
	struct world w;

	begin_draining(&w);
	drain_as(&w, SERVE_DRAIN_CLOSE_LAST);
	w.clients[1].conn = sim_service_connect(&w.sim);
	run(&w, NS_PER_S + 2 * SOON_NS);
	check(!w.clients[1].opened);
	check_ptr(w.clients[1].conn); /* its SYN is repeated: it was not reset */
	check_said(&w, 0, "", false);
	say(&w, 0, GET);
	run(&w, SOON_NS);
	check_said(&w, 0, "END\r\n", true);
	sim_service_destroy(&w.sim);
}

TEST(at_the_end_only_a_request_under_way_keeps_a_connection)
{
	static const struct {
		const char *said, *rest, *answer;
	} cases[] = {{"", "", ""}, {SET, "llo\r\n", "STORED\r\n"}, {"get no", "ne\r\n", "END\r\n"}};
	struct world w;

	begin(&w);
	for (uint32_t i = 0; i < 3; i++)
		open_client(&w, i);
	drain(&w);
	for (uint32_t i = 0; i < 3; i++)
		say(&w, i, cases[i].said);
	run(&w, SOON_NS);
	drain_as(&w, SERVE_DRAIN_CLOSE_LAST);
	check(!w.clients[0].ended);
	drain_as(&w, SERVE_DRAIN_CLOSE_IDLE);
	for (uint32_t i = 0; i < 3; i++) {
		check_eq(w.clients[i].ended, i == 0);
		if (i != 0)
			say(&w, i, cases[i].rest);
	}
	run(&w, SOON_NS);
	for (uint32_t i = 0; i < 3; i++)
		check_said(&w, i, cases[i].answer, true);
	sim_service_destroy(&w.sim);
}

TEST(before_a_drain_connections_stay_open)
{
	struct world w;

	begin(&w);
	open_client(&w, 0);
	for (uint32_t i = 0; i < 3; i++) {
		say(&w, 0, GET);
		run(&w, (DRAIN_IDLE_S + 3) * NS_PER_S);
	}
	check_said(&w, 0, "END\r\nEND\r\nEND\r\n", false);
	sim_service_destroy(&w.sim);
}
