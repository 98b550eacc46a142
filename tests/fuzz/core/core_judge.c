#include "core_judge.h"

#include "base/check.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX 400u

struct text {
	const uint8_t *p;
	uint32_t len;
};

/* Returns a byte of a value. It differs for every key and version from the first byte on: 17 is
 * odd, versions are few. */
static uint8_t
value_byte(uint32_t key, uint32_t version, uint32_t i)
{
	return (uint8_t)(key * 43 + version * 17 + i * 13 + (i >> 8));
}

static uint32_t
key_put(uint8_t *to, uint32_t key)
{
	to[0] = JUDGE_KEY_MARK;
	to[1] = (uint8_t)('a' + key % JUDGE_KEYS);
	return 2;
}

static bool
stores(const struct order *o)
{
	return o->kind >= ORDER_SET && o->kind <= ORDER_REPLACE;
}

static uint32_t
words_put(uint8_t *to, const char *words)
{
	const uint32_t len = (uint32_t)strlen(words);

	memcpy(to, words, len);
	return len;
}

/* Writes "mg <key> v f k", "md <key>" or "ms <key> <len> F<version>
 * M<mode>". Returns the bytes. */
static uint32_t
meta_line_put(uint8_t *to, const struct order *o, uint32_t version)
{
	static const char mode[ORDER_KINDS] = {
		[ORDER_SET] = 'S', [ORDER_ADD] = 'E', [ORDER_REPLACE] = 'R'};
	char rest[64] = "";
	uint32_t at;

	at = words_put(to, stores(o) ? "ms " : o->kind == ORDER_DELETE ? "md " : "mg ");
	at += key_put(to + at, o->key);
	if (stores(o))
		snprintf(rest, sizeof rest, " %u F%u M%c T%d O%u", o->len, version, mode[o->kind],
			 o->past ? -1 : 0, version);
	else
		snprintf(rest, sizeof rest, o->kind == ORDER_GET ? " v f O%u" : " O%u", version);
	at += words_put(to + at, rest);
	return at + words_put(to + at, "\r\n");
}

static uint32_t
text_line_put(uint8_t *to, const struct order *o, uint32_t version)
{
	static const char *const verb[ORDER_KINDS] = {
		"get", "gets", "set", "add", "replace", "delete", "touch", "flush_all",
	};
	char rest[64] = "";
	uint32_t at = words_put(to, verb[o->kind]);

	for (uint32_t i = 0; i < o->keys; i++) {
		to[at++] = ' ';
		at += key_put(to + at, o->key + i);
	}
	if (stores(o))
		snprintf(rest, sizeof rest, " %u %d %u", version, o->past ? -1 : 0, o->len);
	else if (o->kind == ORDER_TOUCH)
		snprintf(rest, sizeof rest, " %u", o->len);
	at += words_put(to + at, rest);
	return at + words_put(to + at, o->noreply ? " noreply\r\n" : "\r\n");
}

uint32_t
judge_order(struct judge *j, uint8_t *to, const struct order *order)
{
	const uint32_t version = j->count;
	struct order *o = &j->orders[j->count++];
	uint32_t at;

	ensure(version < JUDGE_ORDERS_MAX);
	*o = *order;
	o->sent = ++j->clock;
	at = o->meta ? meta_line_put(to, o, version) : text_line_put(to, o, version);
	if (!stores(o))
		return at;
	for (uint32_t i = 0; i < o->len; i++)
		to[at++] = value_byte(o->key % JUDGE_KEYS, version, i);
	at += words_put(to + at, "\r\n");
	return at;
}

/* ---- allowed answers ---- */

/* True if a was done before b began. */
static bool
before(const struct order *a, const struct order *b)
{
	return (a->done != 0 && a->done <= b->sent) || (a->peer == b->peer && a < b);
}

/* True if the key has no earlier value after this order. */
static bool
replaces(const struct order *o, uint32_t key)
{
	if (!o->took)
		return false;
	if (o->kind == ORDER_FLUSH)
		return true;
	return (stores(o) || o->kind == ORDER_DELETE) && o->key % JUDGE_KEYS == key;
}

static bool
may_find(const struct judge *j, const struct order *get, const struct order *found, uint32_t key)
{
	if (found->past || found->wrong || before(get, found))
		return false;
	for (uint32_t i = 0; i < j->count; i++) {
		const struct order *o = &j->orders[i];

		if (o != found && replaces(o, key) && before(found, o) && before(o, get))
			return false;
	}
	return true;
}

/* Judges a value: its flags name the version, and the bytes must agree. */
static void
judge_value(const struct judge *j, const struct order *get, uint32_t key, uint32_t version,
	    struct text value)
{
	const struct order *found = &j->orders[version];

	ensure(version < j->count && stores(found));
	ensure(found->key % JUDGE_KEYS == key && found->len == value.len);
	for (uint32_t i = 0; i < value.len; i++)
		ensure(value.p[i] == value_byte(key, version, i));
	ensure(may_find(j, get, found, key));
}

/* ---- reading ---- */

/* Returns the length of the line at p with its end; 0 if it is incomplete. */
static uint32_t
line_len(struct text t)
{
	const uint8_t *end = memchr(t.p, '\n', t.len < LINE_MAX ? t.len : LINE_MAX);

	if (end == NULL) {
		ensure(t.len < LINE_MAX);
		return 0;
	}
	ensure(end > t.p && end[-1] == '\r');
	return (uint32_t)(end - t.p) + 1;
}

static bool
begins(struct text t, const char *with)
{
	const size_t len = strlen(with);

	return t.len >= len && memcmp(t.p, with, len) == 0;
}

/* Reads one VALUE block whose line is `line` bytes; returns 0 if it is incomplete. *asked moves
 * behind its key. */
static uint32_t
read_value(const struct judge *j, const struct order *get, struct text t, uint32_t line,
	   uint32_t *asked)
{
	char head[LINE_MAX] = "";
	unsigned flags, len;
	unsigned long long cas;
	unsigned char mark, name;
	int words;

	memcpy(head, t.p, line - 2);
	words = sscanf(head, "VALUE %c%c %u %u %llu", (char *)&mark, (char *)&name, &flags, &len,
		       &cas);
	ensure(words == (get->kind == ORDER_GETS ? 5 : 4) && mark == JUDGE_KEY_MARK);
	if (t.len < line + len + 2)
		return 0;
	ensure(memcmp(t.p + line + len, "\r\n", 2) == 0);
	while (*asked < get->keys && (get->key + *asked) % JUDGE_KEYS + 'a' != name)
		++*asked;
	ensure(*asked < get->keys);
	++*asked;
	judge_value(j, get, name - 'a', flags, (struct text){t.p + line, len});
	return line + len + 2;
}

static uint32_t
read_get(const struct judge *j, const struct order *get, struct text t)
{
	uint32_t at = 0, asked = 0;

	for (;;) {
		const struct text rest = {t.p + at, t.len - at};
		const uint32_t line = line_len(rest);
		uint32_t used = 0;

		if (line == 0)
			return 0;
		if (begins(rest, "END\r\n"))
			return at + line;
		if (begins(rest, "VALUE "))
			used = read_value(j, get, rest, line, &asked);
		else
			ensure(!"a get is answered with values and END");
		if (used == 0)
			return 0;
		at += used;
	}
}

/* Reads EN, or VA with the value; both name their request. Returns the bytes; 0 if incomplete. */
static uint32_t
read_meta_get(const struct judge *j, const struct order *get, struct text t)
{
	const uint32_t line = line_len(t);
	char head[LINE_MAX] = "", opaque[16];
	unsigned flags, len;
	int end = 0;

	if (line == 0)
		return 0;
	snprintf(opaque, sizeof opaque, "O%u", (unsigned)(get - j->orders));
	memcpy(head, t.p, line - 2);
	ensure(strcmp(strrchr(head, ' ') + 1, opaque) == 0);
	if (begins(t, "EN O"))
		return line;
	ensure(sscanf(head, "VA %u f%u O%n", &len, &flags, &end) == 2 && end != 0);
	if (t.len < line + len + 2)
		return 0;
	ensure(memcmp(t.p + line + len, "\r\n", 2) == 0);
	judge_value(j, get, get->key % JUDGE_KEYS, flags, (struct text){t.p + line, len});
	return line + len + 2;
}

static uint32_t
read_meta_line(struct order *o, struct text t)
{
	const uint32_t line = line_len(t);

	if (line == 0)
		return 0;
	o->took = begins(t, "HD O");
	o->wrong = !o->took;
	ensure(o->took || begins(t, "NS O") || begins(t, "NF O") || begins(t, "SERVER_ERROR "));
	if (o->kind == ORDER_SET)
		ensure(o->took || begins(t, "SERVER_ERROR "));
	/* A refused ms removes the old value in every mode, as in read_line(). */
	if (o->kind == ORDER_SET || (o->kind == ORDER_DELETE && begins(t, "NF O")))
		o->took = true;
	return line;
}

static uint32_t
read_line(struct order *o, struct text t)
{
	static const char *const took[ORDER_KINDS] = {
		[ORDER_SET] = "STORED\r\n",     [ORDER_ADD] = "STORED\r\n",
		[ORDER_REPLACE] = "STORED\r\n", [ORDER_DELETE] = "DELETED\r\n",
		[ORDER_TOUCH] = "TOUCHED\r\n",  [ORDER_FLUSH] = "OK\r\n",
	};
	const uint32_t line = line_len(t);

	if (line == 0)
		return 0;
	o->took = begins(t, took[o->kind]);
	o->wrong = !o->took;
	if (o->kind == ORDER_DELETE && begins(t, "NOT_FOUND\r\n"))
		o->took = true; /* the key was absent: done after any order that found it */
	else if (o->kind == ORDER_SET || o->kind == ORDER_FLUSH)
		ensure(o->took || begins(t, "SERVER_ERROR "));
	if (o->kind == ORDER_SET)
		o->took = true; /* a failed set removes the old value, too */
	ensure(o->took || begins(t, "NOT_STORED\r\n") || begins(t, "NOT_FOUND\r\n") ||
	       begins(t, "SERVER_ERROR "));
	return line;
}

static uint32_t
read_answer(const struct judge *j, struct order *o, struct text t)
{
	if (o->meta)
		return o->kind == ORDER_GET ? read_meta_get(j, o, t) : read_meta_line(o, t);
	return o->kind <= ORDER_GETS ? read_get(j, o, t) : read_line(o, t);
}

uint32_t
judge_answer(struct judge *j, uint8_t peer, uint32_t *next, const uint8_t *p, uint32_t len)
{
	struct order *o;
	uint32_t used;

	while (*next < j->count && (j->orders[*next].peer != peer || j->orders[*next].noreply))
		++*next;
	if (*next == j->count || len == 0)
		return 0;
	o = &j->orders[*next];
	used = read_answer(j, o, (struct text){p, len});
	if (used != 0) {
		o->done = ++j->clock;
		++*next;
	}
	return used;
}
