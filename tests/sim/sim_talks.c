#include "sim_talks.h"

#include "support/test.h"

#include <stdio.h>

static void
begin_round(struct sim_talk *t, uint32_t n)
{
	char value[TALK_VALUE + 1];

	for (uint32_t i = 0; i < TALK_VALUE; i++)
		value[i] = (char)('a' + (n * 7 + t->round * 3 + i) % 26);
	value[TALK_VALUE] = '\0';
	t->ask_len =
		(uint32_t)snprintf(t->ask, TALK_TEXT_MAX, "set k%u 0 0 %u\r\n%s\r\nget k%u\r\n", n,
				   TALK_VALUE, value, n);
	t->answer_len = (uint32_t)snprintf(t->answer, TALK_TEXT_MAX,
					   "STORED\r\nVALUE k%u 0 %u\r\n%s\r\nEND\r\n", n,
					   TALK_VALUE, value);
	t->asked = t->answered = 0;
}

static void
ask(struct stack *s, struct sim_talk *t)
{
	const uint32_t left = t->ask_len - t->asked;
	const uint32_t n = left < CONN_RESERVE_MAX ? left : CONN_RESERVE_MAX;

	if (n == 0 || !conn_writable(s, t->conn, 1))
		return;
	memcpy(conn_reserve(s, t->conn, n), t->ask + t->asked, n);
	conn_commit(s, t->conn, n);
	t->asked += n;
}

static void
receive(struct stack *s, struct sim_talk *t, struct conn *c)
{
	const struct view v = conn_peek(c);

	check(v.len <= t->answer_len - t->answered);
	check_bytes(v.data, t->answer + t->answered, v.len);
	conn_advance(s, c, v.len);
	t->answered += v.len;
}

static struct sim_talk *
talk_of(struct sim_talks *all, const struct conn *c)
{
	for (uint32_t i = 0; i < TALKS; i++)
		if (all->talks[i].conn == c)
			return &all->talks[i];
	return NULL;
}

static void
serve_client(void *arg)
{
	struct sim_talks *all = arg;
	struct stack *s = all->client->stack;
	struct conn *c;

	while ((c = stack_pop_ready(s)) != NULL) {
		struct sim_talk *t = talk_of(all, c);

		check(t != NULL);
		while (conn_peek(c).len > 0)
			receive(s, t, c);
	}
	for (uint32_t i = 0; i < TALKS; i++) {
		struct sim_talk *t = &all->talks[i];

		if (t->conn == NULL || t->round >= all->rounds)
			continue;
		if (t->answered == t->answer_len) {
			t->round++;
			begin_round(t, i);
		}
		if (t->round < all->rounds)
			ask(s, t);
	}
}

static void
on_opened(void *arg, struct conn *c)
{
	(void)arg;
	(void)c;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct sim_talks *all = arg;
	struct sim_talk *t = talk_of(all, c);

	check(t != NULL);
	t->conn = NULL;
	all->gone++;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	(void)arg;
	(void)c;
	fail_msg("a connection failed: %d", (int)why);
}

void
sim_talks_begin(struct sim_talks *t, struct sim_stack *client, uint32_t rounds)
{
	const struct stack_user user = {t, on_opened, on_gone, on_failed};

	*t = (struct sim_talks){.client = client, .rounds = rounds};
	client->serve = serve_client;
	client->arg = t;
	stack_attach(client->stack, &user);
}

void
sim_talks_connect(struct sim_talks *t)
{
	const struct conn_target to = {.ip = ip_addr_v4(SIM_IP), .port = SIM_PORT};

	for (uint32_t i = 0; i < TALKS; i++) {
		t->talks[i].conn = conn_connect(t->client->stack, &to);
		check(t->talks[i].conn != NULL);
		begin_round(&t->talks[i], i);
	}
}

bool
sim_talks_done(const struct sim_talks *t)
{
	for (uint32_t i = 0; i < TALKS; i++)
		if (t->talks[i].round < t->rounds)
			return false;
	return true;
}

void
sim_talks_close(struct sim_talks *t)
{
	for (uint32_t i = 0; i < TALKS; i++)
		if (t->talks[i].conn != NULL)
			conn_close(t->client->stack, t->talks[i].conn);
}
