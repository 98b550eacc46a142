/*
 * memcached_peer.c - sends batches of gets and sets over a unix socket, and counts the replies.
 */
#include "memcached_peer.h"
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STATS_BYTES   65536u
#define CONNECT_TRIES 100u
#define CONNECT_US    50000u
#define KEY_AT        4u /* offset in every request */
/* Lengths of the replies "VALUE <16> 0 32\r\n" "<32>\r\n" "END\r\n", and "END\r\n" of an absent
 * key. */
#define HIT_BYTES  (6u + 16u + 7u + BENCH_VALUE_BYTES + 2u + 5u)
#define MISS_BYTES 5u
#define LOOK_BYTES 4u /* "HD\r\n", "EN\r\n" */

static void
fail(const char *words)
{
	perror(words);
	exit(1);
}

void
peer_open(struct peer *p, const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	*p = (struct peer){.socket = socket(AF_UNIX, SOCK_STREAM, 0)};
	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	for (uint32_t tries = 0; tries < CONNECT_TRIES; tries++) {
		if (connect(p->socket, (struct sockaddr *)&at, sizeof at) == 0)
			return;
		usleep(CONNECT_US);
	}
	fail("memcached: connect");
}

void
peer_close(struct peer *p)
{
	close(p->socket);
}

/* Writes a key's text: different for each number, and without forbidden characters. */
static void
key_text(uint64_t key, char *text)
{
	static const char digits[] = "0123456789abcdef";
	const uint64_t mixed = bench_mix(key);

	for (uint32_t i = 0; i < BENCH_KEY_BYTES; i++)
		text[i] = digits[mixed >> 4 * i & 15];
}

static void
put(struct peer *p, const char *words, size_t len, uint64_t key)
{
	char *at = p->out + p->out_len;

	memcpy(at, words, len);
	key_text(key, at + KEY_AT);
	p->out_len += (uint32_t)len;
}

void
peer_set(struct peer *p, uint64_t key)
{
	static const char words[] = "set 0123456789abcdef 0 0 32 noreply\r\n"
				    "a value of thirty-two characters\r\n";

	put(p, words, sizeof words - 1, key);
}

void
peer_get(struct peer *p, uint64_t key)
{
	static const char words[] = "get 0123456789abcdef\r\n";

	put(p, words, sizeof words - 1, key);
	p->asked++;
}

void
peer_look(struct peer *p, uint64_t key)
{
	static const char words[] = "mg  0123456789abcdef\r\n";

	put(p, words, sizeof words - 1, key);
	p->asked++;
}

static void
send_all(struct peer *p)
{
	for (uint32_t at = 0; at < p->out_len;) {
		const ssize_t n = write(p->socket, p->out + at, p->out_len - at);

		if (n <= 0)
			fail("memcached: write");
		at += (uint32_t)n;
	}
	p->out_len = 0;
}

void
peer_set_sized(struct peer *p, uint64_t key, uint32_t key_bytes, uint32_t value_bytes)
{
	static const char end[] = "\r\n";
	char line[PEER_KEY_MAX + 64];
	int len;

	ensure(key_bytes >= BENCH_KEY_BYTES && key_bytes <= PEER_KEY_MAX);
	ensure(value_bytes <= PEER_VALUE_MAX);
	len = snprintf(line, sizeof line, "set %0*d 0 0 %u noreply\r\n", (int)key_bytes, 0,
		       value_bytes);
	key_text(key, line + KEY_AT);
	if (p->out_len + (uint32_t)len + value_bytes + 2 > sizeof p->out)
		send_all(p);
	memcpy(p->out + p->out_len, line, (size_t)len);
	memset(p->out + p->out_len + len, 'v', value_bytes);
	memcpy(p->out + p->out_len + len + value_bytes, end, 2);
	p->out_len += (uint32_t)len + value_bytes + 2;
}

/* Reads until at least `bytes` of answer are contiguous. */
static const char *
need(struct peer *p, uint32_t bytes)
{
	while (p->in_len - p->in_at < bytes) {
		ssize_t n;

		memmove(p->in, p->in + p->in_at, p->in_len - p->in_at);
		p->in_len -= p->in_at;
		p->in_at = 0;
		n = read(p->socket, p->in + p->in_len, sizeof p->in - p->in_len);
		if (n <= 0)
			fail("memcached: read");
		p->in_len += (uint32_t)n;
	}
	return p->in + p->in_at;
}

void
peer_flush(struct peer *p, bool *hit)
{
	send_all(p);
	for (uint32_t i = 0; i < p->asked; i++) {
		const char *answer = need(p, MISS_BYTES);

		hit[i] = answer[0] == 'V';
		if (!hit[i] && memcmp(answer, "END\r\n", MISS_BYTES) != 0)
			fail("memcached: not an answer to get");
		need(p, hit[i] ? HIT_BYTES : MISS_BYTES);
		p->in_at += hit[i] ? HIT_BYTES : MISS_BYTES;
	}
	p->asked = 0;
}

void
peer_flush_looks(struct peer *p, bool *hit)
{
	send_all(p);
	for (uint32_t i = 0; i < p->asked; i++) {
		const char *answer = need(p, LOOK_BYTES);

		hit[i] = answer[0] == 'H';
		if (!hit[i] && memcmp(answer, "EN\r\n", LOOK_BYTES) != 0)
			fail("memcached: not an answer to mg");
		p->in_at += LOOK_BYTES;
	}
	p->asked = 0;
}

static uint64_t
stat_of(struct peer *p, const char *request, const char *name)
{
	char stats[STATS_BYTES + 1], want[64];
	const char *found;
	uint32_t len = 0;

	p->out_len = (uint32_t)snprintf(p->out, sizeof p->out, "%s\r\n", request);
	send_all(p);
	do {
		const ssize_t n = read(p->socket, stats + len, STATS_BYTES - len);

		if (n <= 0)
			fail("memcached: stats");
		len += (uint32_t)n;
		stats[len] = '\0';
	} while (len < 5 || memcmp(stats + len - 5, "END\r\n", 5) != 0);
	snprintf(want, sizeof want, "STAT %s ", name);
	found = strstr(stats, want);
	return found != NULL ? strtoull(found + strlen(want), NULL, 10) : 0;
}

uint64_t
peer_stat(struct peer *p, const char *name)
{
	return stat_of(p, "stats", name);
}

uint64_t
peer_stat_of_slabs(struct peer *p, const char *name)
{
	return stat_of(p, "stats slabs", name);
}
