/*
 * Authentication. Goal: where users are required, a connection without one gets refusals only, in
 * text and in binary, wherever its bytes are cut; a connection with one is served; the table can
 * be replaced while cores turn, but not while one of them may read the old one. Method:
 * conversations as tables, tokens of every length, a table replaced between turns.
 */
#include "binary_talk.h"
#include "conversation.h"
#include "support/test.h"
#include "net/access_list.h"
#include "proto/mc_table.h"
#include "serve/serve_policy.h"

#include <stdlib.h>

static struct rig *rig;

static void
role_add(struct serve_users *users, const char *name, const char *word, enum mc_role role)
{
	struct serve_user *u = &users->user[users->count++];

	u->role = (uint8_t)role;
	u->name_len = (uint8_t)strlen(name);
	u->password_len = (uint8_t)strlen(word);
	memcpy(u->bytes, name, u->name_len);
	memcpy(u->bytes + u->name_len, word, u->password_len);
}

static void
user_add(struct serve_users *users, const char *name, const char *word)
{
	role_add(users, name, word, MC_ROLE_ADMIN);
}

SETUP(start)
{
	const struct serve_policy policy = {.auth = true};
	struct serve_users users = {.count = 0};

	rig = rig_create();
	user_add(&users, "ann", "secret");
	user_add(&users, "bob", "with a space");
	user_add(&users, "", "nameless");
	serve_shared_set_policy(rig->shared, &policy);
	check(serve_users_replace_mt(rig->shared, &users));
	rig_turn(rig);
}

TEARDOWN(stop)
{
	rig_destroy(rig);
}

#define NO "CLIENT_ERROR unauthenticated\r\n"

TEST(only_users_are_served)
{
	const struct row rows[] = {
		{"get abc\r\nget a b c d e f\r\nversion\r\nstats settings\r\nflush_all\r\n",
		 NO NO NO NO NO},
		{"add k 0 0 5\r\nhello\r\nversion\r\n", NO NO NO}, /* its body is a command */
		{"set k 0 0 10\r\nann secret\r\nset k 0 0 1\r\nx\r\nget k\r\n",
		 "STORED\r\nSTORED\r\nVALUE k 0 1\r\nx\r\nEND\r\n"},
		{"set k 0 0 16\r\nbob with a space\r\nversion\r\n", "STORED\r\nVERSION 9.8.7\r\n"},
		{"set k 0 0 9\r\n nameless\r\nversion\r\n", "STORED\r\nVERSION 9.8.7\r\n"},
		{"set k 0 0 10 noreply\r\nann secret\r\nversion\r\n",
		 "STORED\r\nVERSION 9.8.7\r\n"},
		{"set k 0 0 10\r\nann Secret\r\nversion\r\nset k 0 0 10\r\nann secret\r\nmn\r\n",
		 "CLIENT_ERROR authentication failure\r\n" NO "STORED\r\nMN\r\n"},
		{"set k 0 0 9\r\nann secre\r\n", "CLIENT_ERROR authentication failure\r\n"},
		{"set k 0 0 11\r\nann secretx\r\n", "CLIENT_ERROR authentication failure\r\n"},
		{"set k 0 0 3\r\nann\r\n", "CLIENT_ERROR bad authentication token format\r\n"},
		{"set k 0 0 0\r\n\r\n", "CLIENT_ERROR bad authentication token format\r\n"},
		{"set k 0 0 10\r\nann secretxyversion\r\n",
		 "CLIENT_ERROR bad command line termination\r\n" NO},
		{"set k 0 0 16385\r\nversion\r\n", "CLIENT_ERROR auth token too long\r\n" NO},
		{"set k 0 0 x\r\n", NO},
		{"watch\r\nlru_crawler metadump all\r\n", NO NO},
		{"mg abc v\r\nms k 2\r\nhi there\r\n", NO NO NO},
	};

	ROWS_HOLD(rig, rows);
	check(rig_count(rig, AUTH_CMDS) > 0 && rig_count(rig, AUTH_ERRORS) > 0);
}

#define DENIED "CLIENT_ERROR not allowed for this user\r\n"

static void
roles_begin(void)
{
	struct serve_users users = {.count = 0};

	role_add(&users, "r", "r", MC_ROLE_READ);
	role_add(&users, "w", "w", MC_ROLE_WRITE);
	role_add(&users, "a", "a", MC_ROLE_ADMIN);
	check(serve_users_replace_mt(rig->shared, &users));
	rig_turn(rig);
}

/* A refused request's body is skipped, and the requests behind it are answered. */
TEST(a_user_may_do_what_its_role_says)
{
	const struct row rows[] = {
		{"set x 0 0 3\r\nw w\r\nset k 0 0 1\r\nv\r\nms m 1\r\nv\r\nincr k 1\r\ndelete "
		 "k\r\n",
		 "STORED\r\nSTORED\r\nHD\r\nCLIENT_ERROR cannot increment or decrement "
		 "non-numeric value\r\nDELETED\r\n"},
		{"set x 0 0 3\r\nr r\r\nget m\r\nmg m v\r\nversion\r\nmn\r\n",
		 "STORED\r\nVALUE m 0 1\r\nv\r\nEND\r\nVA 1\r\nv\r\nVERSION 9.8.7\r\nMN\r\n"},
		{"set x 0 0 3\r\nr r\r\nset k 0 0 5\r\nget m\r\nms m 2\r\nxy\r\ndelete m\r\n"
		 "md m\r\nma m\r\ntouch m 1\r\ngat 1 m n o\r\nmg m v T9\r\nmg z N9 v\r\n"
		 "get m\r\n",
		 "STORED\r\n" DENIED DENIED DENIED DENIED DENIED DENIED DENIED DENIED DENIED
		 "VALUE m 0 1\r\nv\r\nEND\r\n"},
		{"set x 0 0 3\r\nr r\r\nset k 0 0 1 noreply\r\nx\r\nget k\r\n",
		 "STORED\r\nEND\r\n"},
		{"set x 0 0 3\r\nw w\r\nflush_all\r\nshutdown\r\nstats reset\r\nverbosity 1\r\n"
		 "watch\r\nlru_crawler metadump all\r\nstats cachedump 1 1\r\nstats detail dump\r\n"
		 "cache_memlimit 100\r\nget m\r\n",
		 "STORED\r\n" DENIED DENIED DENIED DENIED DENIED DENIED DENIED DENIED DENIED
		 "VALUE m 0 1\r\nv\r\nEND\r\n"},
		{"set x 0 0 3\r\na a\r\nverbosity 1\r\nstats reset\r\nflush_all\r\nget m\r\n",
		 "STORED\r\nOK\r\nRESET\r\nOK\r\nEND\r\n"},
		/* A connection that names another user is that user from then on. */
		{"set x 0 0 3\r\nr r\r\nset x 0 0 3\r\na a\r\nflush_all\r\n",
		 "STORED\r\n" DENIED DENIED},
	};

	roles_begin();
	ROWS_HOLD(rig, rows);
}

TEST(what_cannot_be_a_user_is_not_answered)
{
	const char *const rows[] = {"quit\r\n", "mn\r\n", "GET / HTTP/1.1\r\n"};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct conn *c = rig_open(rig);

		rig_receive_text(rig, c, rows[i]);
		rig_turn(rig);
		check_str(rig_sent(c, NULL), "");
		check(rig_closed(c));
		rig_lose(rig, c);
	}
}

TEST(a_token_of_any_length_is_read_to_its_end)
{
	const uint32_t lens[] = {100, 2047, 2048, 2049, 5000, 16384};

	for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
		char *text = malloc(lens[i] + 128);
		const int head = sprintf(text, "set k 0 0 %u\r\n", lens[i]);
		struct conn *c = rig_open(rig);

		memset(text + head, 'a', lens[i]);
		memcpy(text + head, "ann ", 4);
		strcpy(text + head + lens[i], "\r\nset k 0 0 10\r\nann secret\r\nversion\r\n");
		for (uint32_t at = 0; at < strlen(text); at += 700) {
			const uint32_t left = (uint32_t)strlen(text) - at;

			rig_receive(rig, c, text + at, left < 700 ? left : 700);
			rig_turn(rig);
		}
		rig_turn(rig);
		check_str(rig_sent(c, NULL),
			  "CLIENT_ERROR authentication failure\r\nSTORED\r\nVERSION 9.8.7\r\n");
		rig_lose(rig, c);
		check_eq(rig_chunks_used(rig), 0);
		free(text);
	}
}

TEST(a_token_without_a_chunk_is_refused)
{
	struct conn *c = rig_open(rig);

	rig_set_chunks(rig, 1);
	rig_receive_text(rig, c, "set k 0 0 10\r\nann");
	rig_turn(rig);
	rig_receive_text(rig, c, " secret\r\n");
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "SERVER_ERROR out of memory\r\n");
}

TEST(user_tables_change_only_when_no_core_reads_them)
{
	struct serve_users users = {.count = 0};
	const struct row before[] = {
		{"set k 0 0 10\r\nann secret\r\n", "STORED\r\n"},
		{"set k 0 0 7\r\ncarol x\r\n", "CLIENT_ERROR authentication failure\r\n"},
	};
	const struct row after[] = {
		{"set k 0 0 10\r\nann secret\r\n", "CLIENT_ERROR authentication failure\r\n"},
		{"set k 0 0 7\r\ncarol x\r\n", "STORED\r\n"},
	};

	ROWS_HOLD(rig, before);
	user_add(&users, "carol", "x");
	check(serve_users_replace_mt(rig->shared, &users));
	/* The core may still read the old table. */
	check(!serve_users_replace_mt(rig->shared, &users));
	rig_turn(rig);
	ROWS_HOLD(rig, after);
	check(serve_users_replace_mt(rig->shared, &users));
}

/* The user of a connection is changed between two requests. */
TEST(open_connections_have_the_role_of_the_table_now)
{
	static const struct step {
		enum mc_role role; /* of "u x"; MC_ROLE_NONE: not in the table */
		const char *word, *said, *answer;
	} steps[] = {
		{MC_ROLE_ADMIN, "x", "flush_all\r\n", "OK\r\n"},
		{MC_ROLE_WRITE, "x", "flush_all\r\n", DENIED},
		{MC_ROLE_WRITE, "x", "set k 0 0 1\r\nv\r\n", "STORED\r\n"},
		{MC_ROLE_READ, "x", "delete k\r\n", DENIED},
		{MC_ROLE_READ, "x", "get k\r\n", "VALUE k 0 1\r\nv\r\nEND\r\n"},
		{MC_ROLE_NONE, "x", "get k\r\n", NO},
		/* A user that was removed and returns must give its password again. */
		{MC_ROLE_ADMIN, "x", "get k\r\n", NO},
		{MC_ROLE_ADMIN, "x", "set u 0 0 3\r\nu x\r\nget k\r\n",
		 "STORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n"},
		{MC_ROLE_ADMIN, "y", "get k\r\n", NO},
	};
	struct conn *c = rig_open(rig);

	roles_begin();
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		struct serve_users users = {.count = 0};

		role_add(&users, "other", "o", MC_ROLE_READ);
		if (steps[i].role != MC_ROLE_NONE)
			role_add(&users, "u", steps[i].word, steps[i].role);
		check(serve_users_replace_mt(rig->shared, &users));
		rig_turn(rig);
		if (i == 0) {
			rig_receive_text(rig, c, "set u 0 0 3\r\nu x\r\n");
			rig_turn(rig);
		}
		rig_forget_sent(c);
		rig_receive_text(rig, c, steps[i].said);
		rig_turn(rig);
		rig_turn(rig);
		check_str(rig_sent(c, NULL), steps[i].answer);
	}
}

TEST(a_list_that_is_replaced_is_the_stacks_and_all_connections_are_looked_at)
{
	static const struct access_list one, other;
	const struct row users[] = {{"set k 0 0 10\r\nann secret\r\n", "STORED\r\n"}};
	uint32_t turns = 0, looked;

	check(rig_access(rig, &looked) == NULL);
	check_eq(looked, 0);
	check(serve_access_replace_mt(rig->shared, &one));
	for (; turns <= FAKE_CONNS && !serve_settled_mt(rig->shared); turns++) {
		check(!serve_access_replace_mt(rig->shared,
					       &other)); /* the core may still read the old list */
		rig_turn(rig);
		check(rig_access(rig, &looked) == &one);
	}
	check_eq(turns, FAKE_CONNS);
	check_eq(looked, FAKE_CONNS);
	ROWS_HOLD(rig, users); /* as before */
	check(serve_access_replace_mt(rig->shared, NULL));
	rig_turn(rig);
	check(rig_access(rig, &looked) == NULL);
}

TEST(datagrams_are_dropped_where_users_are_asked_for)
{
	const struct fake_sent *sent;

	rig_datagram_text(rig, 1, "version\r\n");
	rig_turn(rig);
	check_eq(rig_datagrams_sent(rig, &sent), 0);
	check_eq(rig_count(rig, UDP_DROP_AUTH), 1);
}

/* ---- SASL ---- */

static uint32_t
put_packet(uint8_t *at, uint8_t op, const char *key, const void *value, uint32_t value_len)
{
	const uint16_t key_len = (uint16_t)strlen(key);
	const uint32_t body = key_len + value_len;

	memset(at, 0, 24);
	at[0] = 0x80;
	at[1] = op;
	at[2] = (uint8_t)(key_len >> 8);
	at[3] = (uint8_t)key_len;
	at[10] = (uint8_t)(body >> 8);
	at[11] = (uint8_t)body;
	memcpy(at + 24, key, key_len);
	if (value_len > 0)
		memcpy(at + 24 + key_len, value, value_len);
	return 24 + body;
}

struct said {
	uint8_t op;
	const char *key;
	const char *value;
	uint32_t value_len;
	uint16_t status;
	const char *text; /* of the reply */
};

static void
said_holds(const struct said *said, size_t count, bool closed)
{
	struct conn *c = rig_open(rig);
	uint8_t bytes[512];
	uint32_t len, at = 0;
	const char *sent;

	for (size_t i = 0; i < count; i++) {
		rig_receive(rig, c, bytes,
			    put_packet(bytes, said[i].op, said[i].key, said[i].value,
				       said[i].value_len));
		rig_turn(rig);
	}
	sent = rig_sent(c, &len);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *p = (const uint8_t *)sent + at;
		const uint32_t body = (uint32_t)(p[10] << 8 | p[11]);

		check(at + 24 <= len);
		check_eq(p[0], 0x81);
		check_eq(p[1], said[i].op);
		check_eq(p[6] << 8 | p[7], said[i].status);
		check_eq(body, strlen(said[i].text));
		check_bytes(p + 24, said[i].text, body);
		at += 24 + body;
	}
	check_eq(at, len);
	check_eq(rig_closed(c), closed);
	rig_lose(rig, c);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(binary_clients_name_users_by_sasl)
{
	const struct said right[] = {
		{SASL_LIST, "", NULL, 0, 0, "PLAIN"},
		{VERSION, "", NULL, 0, 0, "9.8.7"},
		{SASL_AUTH, "PLAIN", "\0ann\0wrong", 10, 0x20, "Auth failure."},
		{SASL_AUTH, "PLAIN", "\0ann\0secret", 11, 0, "Authenticated"},
		{NOOP, "", NULL, 0, 0, ""},
	};
	const struct said as_another[] = {
		{SASL_AUTH, "PLAIN", "joe\0ann\0secret", 14, 0, "Authenticated"},
		{NOOP, "", NULL, 0, 0, ""},
	};
	const struct said bad[] = {
		{SASL_AUTH, "CRAM-MD5", "\0ann\0secret", 11, 0x20, "Auth failure."},
		{SASL_AUTH, "PLAIN", "ann secret", 10, 0x20, "Auth failure."},
		{SASL_AUTH, "PLAIN", "\0ann", 4, 0x20, "Auth failure."},
		{SASL_AUTH, "PLAIN", NULL, 0, 0x20, "Auth failure."},
		{NOOP, "", NULL, 0, 0x20, "Auth failure."},
	};
	const struct said get[] = {{GET, "a", NULL, 0, 0x20, "Auth failure."}};

	said_holds(right, 5, false);
	said_holds(as_another, 2, false);
	said_holds(bad, 5, true);
	said_holds(get, 1, true);
}

/* Commands are refused as a wrong user is, and the connection stays; quiet commands, too. */
TEST(roles_hold_in_binary)
{
	const struct said read[] = {
		{SASL_AUTH, "PLAIN", "\0r\0r", 4, 0, "Authenticated"},
		{FLUSH, "", NULL, 0, 0x20, "Auth failure."},
		{FLUSHQ, "", NULL, 0, 0x20, "Auth failure."},
		{DELETE, "k", NULL, 0, 0x20, "Auth failure."},
		{DELETEQ, "k", NULL, 0, 0x20, "Auth failure."},
		{APPEND, "k", "noise", 5, 0x20, "Auth failure."},
		{STAT, "reset", NULL, 0, 0x20, "Auth failure."},
		{STAT, "detail dump", NULL, 0, 0x20, "Auth failure."},
		{GET, "k", NULL, 0, 1, "Not found"},
		{NOOP, "", NULL, 0, 0, ""},
	};
	const struct said write[] = {
		{SASL_AUTH, "PLAIN", "\0w\0w", 4, 0, "Authenticated"},
		{DELETE, "k", NULL, 0, 1, "Not found"},
		{FLUSH, "", NULL, 0, 0x20, "Auth failure."},
	};
	const struct said admin[] = {
		{SASL_AUTH, "PLAIN", "\0a\0a", 4, 0, "Authenticated"},
		{FLUSH, "", NULL, 0, 0, ""},
		{STAT, "reset", NULL, 0, 0, ""},
	};

	roles_begin();
	said_holds(read, sizeof read / sizeof read[0], false);
	said_holds(write, sizeof write / sizeof write[0], false);
	said_holds(admin, sizeof admin / sizeof admin[0], false);
}
