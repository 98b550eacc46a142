/*
 * front_ring.c - builds a ring's points from its live servers, and finds the server of a key.
 */
#include "front_ring.h"

#include "base/check.h"
#include "base/hash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RING_SHIFT (32 - FRONT_RING_BITS)

#define POINTS_PER_DIGEST 4u
#define ORDINAL_BYTES     12u /* "-" and a number */

size_t
front_ring_bytes(uint32_t nservers)
{
	return sizeof(struct front_ring) +
	       sizeof(struct front_point) * (FRONT_POINTS_MAX * nservers + FRONT_POINTS_COUNTED);
}

static void
add_point(struct front_ring *ring, uint32_t value, uint32_t server)
{
	ensure(ring->npoints < FRONT_POINTS_MAX * ring->nservers);
	ring->points[ring->npoints++] = (struct front_point){.value = value, .server = server};
}

/* Writes "name-ordinal", whose hash is a point of the server. */
static struct view
ordinal_name(char text[FRONT_NAME_BYTES + ORDINAL_BYTES], const struct front_server *server,
	     uint32_t ordinal)
{
	const int len = snprintf(text, FRONT_NAME_BYTES + ORDINAL_BYTES, "%s-%u", server->name,
				 (unsigned)ordinal);

	return (struct view){.data = (const uint8_t *)text, .len = (uint32_t)len};
}

/* Returns the number of digests of a server. Every step is rounded to a float, as in nutcracker:
 * exact arithmetic differs in one fleet of 2,000. */
static uint32_t
weighted_digests(uint32_t weight, uint32_t weights, uint32_t nlive)
{
	const float share = (float)weight / (float)weights,
		    a_server = share * (float)FRONT_POINTS_WEIGHTED / (float)POINTS_PER_DIGEST,
		    digests = (float)((double)(a_server * (float)nlive) + 1e-10);

	return (uint32_t)floorf(digests);
}

static void
add_weighted(struct front_ring *ring, const struct front_server *server, uint32_t index,
	     uint32_t digests)
{
	char text[FRONT_NAME_BYTES + ORDINAL_BYTES];
	uint32_t values[POINTS_PER_DIGEST];

	for (uint32_t i = 0; i < digests; i++) {
		front_hash_points(ordinal_name(text, server, i), values);
		for (uint32_t k = 0; k < POINTS_PER_DIGEST; k++)
			add_point(ring, values[k], index);
	}
}

static void
add_equal(struct front_ring *ring, const struct front_server *server, uint32_t index)
{
	char text[FRONT_NAME_BYTES + ORDINAL_BYTES];

	for (uint32_t i = 0; i < FRONT_POINTS_EQUAL; i++)
		add_point(ring, front_hash(ring->hash, ordinal_name(text, server, i)), index);
}

/* Compares two points. Equal ones are in the order of their servers. */
static int
compare_points(const void *a, const void *b)
{
	const struct front_point *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? 1 : -1;
	return (x->server > y->server) - (x->server < y->server);
}

static int
compare_names(const void *a, const void *b, void *servers)
{
	const struct front_server *all = servers;
	const char *x = all[*(const uint32_t *)a].name, *y = all[*(const uint32_t *)b].name;
	const size_t nx = strlen(x), ny = strlen(y);

	return nx != ny ? (nx > ny) - (nx < ny) : strcmp(x, y);
}

struct live {
	uint32_t index[FRONT_SERVERS_MAX]; /* indices in the fleet, in the order of placement */
	uint32_t n, weights;
};

static void
find_live(struct live *l, const struct front_fleet *fleet, const bool *live)
{
	l->n = l->weights = 0;
	for (uint32_t i = 0; i < fleet->nservers; i++) {
		if (live != NULL && !live[i])
			continue;
		ensure(fleet->servers[i].weight - 1 < FRONT_WEIGHT_MAX);
		l->index[l->n++] = i;
		l->weights += fleet->servers[i].weight;
	}
	if (!fleet->given_order)
		qsort_r(l->index, l->n, sizeof l->index[0], compare_names,
			(void *)(uintptr_t)fleet->servers);
}

/* Adds a server's points. Until they are sorted, they name the server by its place in the order. */
static void
add_server(struct front_ring *ring, const struct front_server *server, uint32_t place,
	   const struct live *l, uint32_t weights_so_far)
{
	switch (ring->distribution) {
	case FRONT_KETAMA:
		add_weighted(ring, server, place,
			     weighted_digests(server->weight, l->weights, l->n));
		break;
	case FRONT_CONSISTENT:
		add_equal(ring, server, place);
		break;
	case FRONT_MODULA:
		add_point(ring, weights_so_far, place);
		break;
	case FRONT_JUMP:
		add_point(ring, place, place);
		break;
	}
}

/* Computes between which points the search for a value must look. For most values that is a single
 * point. */
static void
index_points(struct front_ring *ring)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < 1u << FRONT_RING_BITS; i++) {
		while (at < ring->npoints && ring->points[at].value >> RING_SHIFT < i)
			at++;
		ring->from[i] = at;
	}
	ring->from[1u << FRONT_RING_BITS] = ring->npoints;
}

bool
front_ring_build(struct front_ring *ring, const struct front_fleet *fleet, const bool *live)
{
	struct live l;
	uint32_t weights = 0;

	ensure(fleet->nservers - 1 < FRONT_SERVERS_MAX);
	*ring = (struct front_ring){
		.distribution = fleet->distribution,
		.hash = fleet->hash,
		.tag = {fleet->tag[0], fleet->tag[1]},
		.skip_len = (uint32_t)strlen(fleet->skip),
		.nservers = fleet->nservers,
		.whole_keys = fleet->nservers > 1 && fleet->tag[0] == 0 && fleet->skip[0] == 0 &&
			      (fleet->distribution == FRONT_KETAMA ||
			       fleet->distribution == FRONT_CONSISTENT),
	};
	memcpy(ring->skip, fleet->skip, sizeof ring->skip);
	find_live(&l, fleet, live);
	for (uint32_t place = 0; place < l.n; place++) {
		weights += fleet->servers[l.index[place]].weight;
		add_server(ring, &fleet->servers[l.index[place]], place, &l, weights);
	}
	qsort(ring->points, ring->npoints, sizeof ring->points[0], compare_points);
	for (uint32_t i = 0; i < ring->npoints; i++)
		ring->points[i].server = l.index[ring->points[i].server];
	index_points(ring);
	return ring->npoints != 0;
}

void
front_ring_rename(struct front_ring *ring, const uint16_t *names)
{
	for (uint32_t i = 0; i < ring->npoints; i++)
		ring->points[i].server = names[ring->points[i].server];
}

/* Returns the part of a key that is hashed. skip is removed from the key's beginning. Of the rest,
 * the part between the first tag[0] and the next tag[1] is taken, unless that is empty. */
static struct view
tagged(const struct front_ring *ring, struct view key)
{
	const uint8_t *end = key.data + key.len, *from, *to;

	if (key.len > ring->skip_len && memcmp(key.data, ring->skip, ring->skip_len) == 0)
		key = (struct view){.data = key.data + ring->skip_len,
				    .len = key.len - ring->skip_len};
	if (ring->tag[0] == 0 || key.len == 0)
		return key;
	from = memchr(key.data, ring->tag[0], key.len);
	if (from == NULL || ++from == end)
		return key;
	to = memchr(from, ring->tag[1], (size_t)(end - from));
	return to == NULL || to == from ? key
					: (struct view){.data = from, .len = (uint32_t)(to - from)};
}

/* Returns the server at the first point that is not below value; behind the last point it is the
 * first one. The last points of the search are counted without a branch. The branch would be
 * unpredictable, and its misprediction would cost more than counting while the key's hash is
 * computed. */
static uint32_t
server_at(const struct front_ring *ring, uint32_t value)
{
	const uint32_t *from = &ring->from[value >> RING_SHIFT];
	uint32_t low = from[0], high = from[1], below = 0;

	while (unlikely(high - low > FRONT_POINTS_COUNTED)) {
		const uint32_t middle = low + (high - low) / 2;

		if (ring->points[middle].value < value)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = 0; i < FRONT_POINTS_COUNTED; i++)
		below += (uint32_t)(i < high - low) &
			 (uint32_t)(ring->points[low + i].value < value);
	low += below;
	return ring->points[low == ring->npoints ? 0 : low].server;
}

/* Computes a key's bucket by Lamping and Veach, "A fast, minimal memory, consistent hash algorithm"
 * (2014). */
static uint32_t
jump(uint64_t hash, uint32_t nbuckets)
{
	int64_t bucket = -1, next = 0;

	while (next < (int64_t)nbuckets) {
		bucket = next;
		hash = hash * 2862933555777941757ull + 1;
		next = (int64_t)((double)(bucket + 1) *
				 ((double)(1ll << 31) / (double)((hash >> 33) + 1)));
	}
	return (uint32_t)bucket;
}

static NOT_FLAT uint32_t
server_of(const struct front_ring *ring, struct view key)
{
	const struct front_point *last = &ring->points[ring->npoints - 1];
	struct view part;

	if (ring->nservers == 1)
		return last->server;
	part = tagged(ring, key);
	switch (ring->distribution) {
	case FRONT_JUMP:
		return ring->points[jump(hash_bytes(part.data, part.len, 0), ring->npoints)].server;
	case FRONT_MODULA:
		return server_at(ring, front_hash(ring->hash, part) % last->value + 1);
	case FRONT_KETAMA:
	case FRONT_CONSISTENT:
		break;
	}
	return server_at(ring, front_hash(ring->hash, part));
}

/* Returns the server of a key. Most rings have points and hash keys as a whole, so that is checked
 * first. */
uint32_t
front_ring_server(const struct front_ring *ring, struct view key)
{
	if (likely(ring->whole_keys))
		return server_at(ring, front_hash(ring->hash, key));
	return server_of(ring, key);
}

/* Sets gains for the keys between the last point of *is and point i: from the owners of points of
 * *was there, and from that of the first point behind. Returns the index of that first point. */
static uint32_t
stretch_gains(const struct front_ring *was, const struct front_ring *is, uint32_t i, uint32_t k,
	      bool *gains)
{
	const struct front_point end = is->points[i];

	if (i > 0 && is->points[i - 1].value == end.value)
		return k;
	for (; k < was->npoints && was->points[k].value < end.value; k++)
		gains[end.server] |= was->points[k].server != end.server;
	gains[end.server] |= was->points[k < was->npoints ? k : 0].server != end.server;
	while (k < was->npoints && was->points[k].value == end.value)
		k++;
	return k;
}

void
front_ring_gains(const struct front_ring *was, const struct front_ring *is, bool *gains)
{
	const bool circle =
		is->distribution == FRONT_KETAMA || is->distribution == FRONT_CONSISTENT;
	uint32_t k = 0;

	for (uint32_t i = 0; i < is->npoints; i++)
		if (circle)
			k = stretch_gains(was, is, i, k, gains);
		else
			gains[is->points[i].server] = true;
	/* Keys behind the last point belong to the first one. */
	for (; circle && k <= was->npoints; k++)
		gains[is->points[0].server] |=
			was->points[k % was->npoints].server != is->points[0].server;
}

/* Returns the distance from the previous point. Points lie on a circle, sums of weights on a
 * line. */
static uint32_t
span(const struct front_ring *ring, uint32_t point)
{
	const uint32_t line =
		ring->distribution == FRONT_MODULA ? 0 : ring->points[ring->npoints - 1].value;

	return ring->points[point].value - (point == 0 ? line : ring->points[point - 1].value);
}

void
front_ring_shares(const struct front_ring *ring, double *shares)
{
	const bool even = ring->npoints == 1 || ring->distribution == FRONT_JUMP;
	uint64_t all = 0;

	for (uint32_t i = 0; i < ring->npoints; i++)
		all += even ? 1 : span(ring, i);
	for (uint32_t i = 0; i < ring->nservers; i++)
		shares[i] = 0;
	for (uint32_t i = 0; i < ring->npoints; i++)
		shares[ring->points[i].server] += (double)(even ? 1 : span(ring, i)) / (double)all;
}
