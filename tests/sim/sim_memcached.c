/*
 * sim_memcached.c - the model server: a request is executed once all of its bytes have arrived.
 */
#include "sim_memcached.h"
#include "sim_stack.h"

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define REPLY_MAX 4096u
#define SENT_MAX  400u

static char *
value_of(struct sim_memcached *s, const char *key)
{
	const uint32_t n = (uint32_t)(key[3] - '0');

	ensure(strncmp(key, "key", 3) == 0 && n < SIM_MEMCACHED_KEYS &&
	       (key[4] == '\0' || key[4] == '.'));
	return s->value[n];
}

/* ---- requests ---- */

static void
get(struct sim_memcached *s, char *keys, bool with_cas, char *reply)
{
	char *rest = keys, *key;

	while ((key = strtok_r(rest, " ", &rest)) != NULL) {
		const char *value = value_of(s, key);

		s->gets++;
		if (value[0] == '\0')
			continue;
		reply += sprintf(reply, "VALUE %s 0 %zu", key, strlen(value));
		if (with_cas)
			reply += sprintf(reply, " %llu",
					 (unsigned long long)s->cas[(uint32_t)(key[3] - '0')]);
		reply += sprintf(reply, "\r\n%s\r\n", value);
	}
	strcpy(reply, "END\r\n");
}

static const char *delete (struct sim_memcached *s, const char *key)
{
	char *value = value_of(s, key);
	const bool there = value[0] != '\0';

	value[0] = '\0';
	return there ? "DELETED\r\n" : "NOT_FOUND\r\n";
}

static void
me(struct sim_memcached *s, const char *key, char *reply)
{
	if (value_of(s, key)[0] == '\0')
		strcpy(reply, "EN\r\n");
	else
		sprintf(reply, "ME %s exp=%d la=0 cas=1 fetch=no cls=1 size=61\r\n", key, s->exp);
}

/* Answers mg, with those of the flags v, f, c, t and O that the request has. */
static void
mg(struct sim_memcached *s, char *line, char *reply)
{
	char *rest = line, *key = strtok_r(rest, " ", &rest), *flag;
	const char *value = value_of(s, key);

	s->gets++;
	if (value[0] == '\0') {
		strcpy(reply, "EN\r\n");
		return;
	}
	reply += sprintf(reply, "VA %zu", strlen(value));
	while ((flag = strtok_r(rest, " ", &rest)) != NULL) {
		if (flag[0] == 'c')
			reply += sprintf(reply, " c%llu",
					 (unsigned long long)s->cas[(uint32_t)(key[3] - '0')]);
		else if (flag[0] == 't')
			reply += sprintf(reply, " t%d", s->exp);
		else if (flag[0] != 'v')
			reply += sprintf(reply, " %s%s", flag, flag[0] == 'f' ? "0" : "");
	}
	sprintf(reply, "\r\n%s\r\n", value);
}

/* Answers version and mn, and ERROR to everything else. */
static const char *
plain_answer(const struct sim_memcached *s, const char *line)
{
	if (strcmp(line, "version") == 0)
		return s->version != NULL ? s->version : "VERSION 1\r\n";
	return strcmp(line, "mn") == 0 && s->version != NULL ? "MN\r\n" : "ERROR\r\n";
}

/* Returns the reply of a store that is refused; NULL: it is stored. */
static const char *
refusal(char verb, const char *value, uint64_t is, uint64_t expected)
{
	const bool there = value[0] != '\0';

	if (verb == 'a' && there)
		return "NOT_STORED\r\n";
	if (verb != 'c' || (there && is == expected))
		return NULL;
	return there ? "EXISTS\r\n" : "NOT_FOUND\r\n";
}

/* Executes a store; returns the bytes of the whole request, or 0 if it is incomplete. */
static uint32_t
store(struct sim_memcached *s, const struct sim_said *said, char *line, uint32_t len, char *reply)
{
	char verb[8], key[8], *value;
	unsigned long long expected = 0;
	uint32_t flags, body;
	const char *refused;
	uint64_t *cas;
	int exptime;

	ensure(sscanf(line, "%7s %7s %u %d %u %llu", verb, key, &flags, &exptime, &body,
		      &expected) >= 5 &&
	       body < SIM_MEMCACHED_VALUE);
	if (said->len < len + body + 2)
		return 0;
	value = value_of(s, key);
	cas = &s->cas[(uint32_t)(key[3] - '0')];
	refused = refusal(verb[0], value, *cas, expected);
	strcpy(reply, refused != NULL ? refused : "STORED\r\n");
	if (refused != NULL)
		return len + body + 2;
	memcpy(value, line + len, body);
	value[body] = '\0';
	++*cas;
	return len + body + 2;
}

static char *
list_row(char *reply, uint32_t number, const struct ip_addr *ip, uint16_t port)
{
	reply += sprintf(reply, "STAT %u:addr tcp:", number);
	reply = ip_addr_text(reply, ip);
	return reply + sprintf(reply, ":%u\r\nSTAT %u:state conn_new_cmd\r\n", port, number);
}

static void
list(struct sim_memcached *s, char *reply)
{
	const struct ip_addr other = ip_addr_v4(0x0a000909);
	struct ip_addr ip;
	uint16_t port;

	conn_peer(s->conn, &ip, &port);
	s->listed++;
	reply = list_row(reply, 23, &other, port);
	if (s->lists_former)
		reply = list_row(reply, 24, &ip, SIM_FORMER_PORT);
	if (s->lists == SIM_LISTS)
		reply = list_row(reply, 31, &ip, port);
	if (s->former != NULL)
		reply = list_row(reply, 26, &ip, s->former_port);
	if (s->left.len > 0)
		reply = list_row(reply, 25, &ip, s->left_port);
	strcpy(reply, s->lists == SIM_LISTS_NONSENSE ? "VALUE\r\n" : "END\r\n");
}

/* Executes the first request; returns its bytes, or 0 if it is incomplete. */
static uint32_t
execute(struct sim_memcached *s, struct sim_said *said, char *reply)
{
	char *line = said->bytes, *end = memchr(line, '\n', said->len);
	uint32_t len;

	if (end == NULL)
		return 0;
	len = (uint32_t)(end + 1 - line);
	if (strncmp(line, "set ", 4) == 0 || strncmp(line, "add ", 4) == 0 ||
	    strncmp(line, "cas ", 4) == 0) {
		len = store(s, said, line, len, reply);
		s->sets += len > 0 && line[0] == 's';
		return len;
	}
	end[-1] = '\0';
	if (strncmp(line, "get ", 4) == 0) {
		get(s, line + 4, false, reply);
	} else if (strncmp(line, "gets ", 5) == 0) {
		get(s, line + 5, true, reply);
	} else if (strncmp(line, "delete ", 7) == 0) {
		strcpy(reply, delete (s, line + 7));
	} else if (strcmp(line, "stats conns") == 0 && s->lists != SIM_LISTS_NOT) {
		list(s, reply);
	} else if (strncmp(line, "flush_all ", 10) == 0) {
		if (strcmp(line + 10, "0") == 0) /* a delayed flush is not modelled */
			memset(s->value, 0, sizeof s->value);
		strcpy(reply, "OK\r\n");
	} else if (strncmp(line, "me ", 3) == 0 && s->version != NULL) {
		me(s, line + 3, reply);
	} else if (strncmp(line, "mg ", 3) == 0 && s->version != NULL) {
		mg(s, line + 3, reply);
	} else {
		strcpy(reply, plain_answer(s, line));
	}
	return len;
}

static bool
take(struct sim_memcached *s, struct sim_said *said, char *reply)
{
	const uint32_t len = said->len > 0 ? execute(s, said, reply) : 0;

	said->len -= len;
	memmove(said->bytes, said->bytes + len, said->len);
	if (len > 0 && s->executed != NULL)
		s->executed(s->arg);
	return len > 0;
}

/* ---- the connection ---- */

void
sim_memcached_opened(struct sim_memcached *s, struct conn *c)
{
	struct conn *before = s->conn; /* a connection whose end was lost on the way */
	struct ip_addr ip;
	uint16_t port;

	conn_peer(c, &ip, &port);
	if (port == SIM_FORMER_PORT) { /* a listed connection that does not exist */
		conn_abort(s->stack, c);
		return;
	}
	if (before != NULL) {
		s->left = s->said;
		s->left_port = s->port;
	}
	if (s->keeps_former && before != NULL) {
		s->former = before;
		s->former_port = s->port;
		before = NULL;
	}
	s->conn = c;
	s->port = port;
	s->said.len = s->replies.len = 0;
	if (before != NULL)
		conn_abort(s->stack, before);
}

void
sim_memcached_gone(struct sim_memcached *s, const struct conn *c)
{
	if (s->former == c)
		s->former = NULL;
	if (s->conn != c)
		return;
	s->conn = NULL;
	s->left = s->said;
	s->left_port = s->port;
}

/* Counts the unread sets and keys; values have no spaces. */
static void
unread_count(struct sim_memcached *s)
{
	const struct sim_said *said = &s->said;
	uint32_t sets = 0, keys = 0;

	for (uint32_t i = 0; i + 4 <= said->len; i++) {
		sets += memcmp(said->bytes + i, "set ", 4) == 0;
		keys += memcmp(said->bytes + i, " key", 4) == 0;
	}
	if (sets > s->sets_most)
		s->sets_most = sets;
	if (keys > s->keys_most)
		s->keys_most = keys;
}

static void
replies_send(struct sim_memcached *s)
{
	struct sim_said *r = &s->replies;

	while (r->len > 0 && conn_writable(s->stack, s->conn, 1)) {
		const uint32_t len = r->len < SENT_MAX ? r->len : SENT_MAX;

		memcpy(conn_reserve(s->stack, s->conn, len), r->bytes, len);
		conn_commit(s->stack, s->conn, len);
		r->len -= len;
		memmove(r->bytes, r->bytes + len, r->len);
	}
}

void
sim_memcached_turn(struct sim_memcached *s)
{
	char reply[REPLY_MAX];

	if (s->conn == NULL)
		return;
	sim_receive(s->stack, s->conn, s->said.bytes, &s->said.len, SIM_MEMCACHED_SAID);
	unread_count(s);
	while (!s->waits && s->replies.len + REPLY_MAX <= SIM_MEMCACHED_SAID &&
	       take(s, &s->said, reply)) {
		memcpy(s->replies.bytes + s->replies.len, reply, strlen(reply));
		s->replies.len += (uint32_t)strlen(reply);
	}
	if (!s->mute)
		replies_send(s);
}

void
sim_memcached_restart(struct sim_memcached *s)
{
	if (s->conn != NULL)
		conn_abort(s->stack, s->conn);
	s->conn = NULL;
	s->said.len = s->left.len = s->replies.len = 0;
	memset(s->value, 0, sizeof s->value);
	memset(s->cas, 0, sizeof s->cas);
}

void
sim_memcached_late(struct sim_memcached *s)
{
	char reply[REPLY_MAX];

	if (!take(s, &s->left, reply)) /* an incomplete request is never completed */
		s->left.len = 0;
}
