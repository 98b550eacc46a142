#include "soak_talk.h"

#include "base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 200u

struct value {
	uint32_t len, version;
	bool there;
};

struct maker {
	struct soak_talk *talk;
	struct sim_rng *rng;
	uint32_t client;
	uint32_t versions;
	struct value value[TALK_KEYS];
};

static void
put(uint8_t *to, uint32_t *at, const char *format, va_list args)
{
	char line[LINE_BYTES];
	const int n = vsnprintf(line, sizeof line, format, args);

	ensure(n > 0 && (uint32_t)n < sizeof line);
	memcpy(to + *at, line, (uint32_t)n);
	*at += (uint32_t)n;
}

static void __attribute__((format(printf, 2, 3))) ask(struct maker *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(m->talk->ask, &m->talk->ask_len, format, args);
	va_end(args);
}

static void __attribute__((format(printf, 2, 3))) want(struct maker *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(m->talk->want, &m->talk->want_len, format, args);
	va_end(args);
}

/* Appends the value's bytes and the end of its line. */
static void
fill(const struct maker *m, uint32_t key, uint8_t *to, uint32_t *at)
{
	const struct value *v = &m->value[key];

	for (uint32_t i = 0; i < v->len; i++)
		to[*at + i] = (uint8_t)(v->version * 53 + key * 17 + m->client * 101 + i * 31 +
					(i >> 8) * 7);
	*at += v->len;
	to[(*at)++] = '\r';
	to[(*at)++] = '\n';
}

static uint32_t
value_len(struct sim_rng *rng)
{
	const uint32_t kind = sim_below(rng, 100);

	if (kind < 60)
		return sim_below(rng, 200);
	if (kind < 88)
		return 200 + sim_below(rng, 5000);
	return 5000 + sim_below(rng, TALK_VALUE_MAX - 5000);
}

static void
make_set(struct maker *m, uint32_t key)
{
	const bool meta = sim_chance(m->rng, 300), quiet = sim_chance(m->rng, 200);

	m->value[key] = (struct value){value_len(m->rng), ++m->versions, true};
	if (meta)
		ask(m, "ms c%u-%u %u%s\r\n", m->client, key, m->value[key].len, quiet ? " q" : "");
	else
		ask(m, "set c%u-%u 0 0 %u%s\r\n", m->client, key, m->value[key].len,
		    quiet ? " noreply" : "");
	fill(m, key, m->talk->ask, &m->talk->ask_len);
	if (!quiet)
		want(m, meta ? "HD\r\n" : "STORED\r\n");
}

static void
make_get(struct maker *m, uint32_t key)
{
	const uint32_t keys = 1 + sim_below(m->rng, TALK_KEYS - key);

	ask(m, "get");
	for (uint32_t i = key; i < key + keys; i++) {
		ask(m, " c%u-%u", m->client, i);
		if (!m->value[i].there)
			continue;
		want(m, "VALUE c%u-%u 0 %u\r\n", m->client, i, m->value[i].len);
		fill(m, i, m->talk->want, &m->talk->want_len);
	}
	ask(m, "\r\n");
	want(m, "END\r\n");
}

static void
make_meta_get(struct maker *m, uint32_t key)
{
	ask(m, "mg c%u-%u v\r\n", m->client, key);
	if (!m->value[key].there) {
		want(m, "EN\r\n");
		return;
	}
	want(m, "VA %u\r\n", m->value[key].len);
	fill(m, key, m->talk->want, &m->talk->want_len);
}

static void
make_delete(struct maker *m, uint32_t key)
{
	ask(m, "delete c%u-%u\r\n", m->client, key);
	want(m, m->value[key].there ? "DELETED\r\n" : "NOT_FOUND\r\n");
	m->value[key].there = false;
}

static void
make_request(struct maker *m)
{
	const uint32_t key = sim_below(m->rng, TALK_KEYS), kind = sim_below(m->rng, 100);

	if (kind < 40) {
		make_set(m, key);
	} else if (kind < 75) {
		make_get(m, key);
	} else if (kind < 90) {
		make_meta_get(m, key);
	} else if (kind < 95) {
		make_delete(m, key);
	} else {
		ask(m, "mn\r\n");
		want(m, "MN\r\n");
	}
}

void
soak_talk_make(struct soak_talk *talk, struct sim_rng *rng, uint32_t client, uint32_t bytes)
{
	/* A single request may ask for all values. */
	const uint32_t room = bytes + TALK_KEYS * (TALK_VALUE_MAX + LINE_BYTES);
	struct maker m = {.talk = talk, .rng = rng, .client = client};

	*talk = (struct soak_talk){.ask = malloc(room), .want = malloc(room)};
	ensure(talk->ask != NULL && talk->want != NULL);
	while (talk->ask_len < bytes && talk->want_len < bytes)
		make_request(&m);
	ask(&m, "mn\r\n");
	want(&m, "MN\r\n");
}

void
soak_talk_free(struct soak_talk *talk)
{
	free(talk->ask);
	free(talk->want);
}
