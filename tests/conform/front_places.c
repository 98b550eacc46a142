/*
 * front_places.c - where lib/front places keys, for run_placement to compare.
 *
 *     front_places DISTRIBUTION HASH TAG ORDER NAME WEIGHT LIVE [NAME WEIGHT LIVE ...] < KEYS >
 * SERVERS
 *
 * TAG: two characters or "-"; ORDER: name or given; LIVE: 1 or 0. KEYS: each a byte of length, then
 * its bytes. SERVERS: 16 bits a key.
 */
#include "front/front_ring.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_SERVER 5
#define SERVER_WORDS 3

static void
fail(const char *what)
{
	fprintf(stderr, "front_places: %s\n", what);
	exit(2);
}

static enum front_distribution
distribution_by_name(const char *name)
{
	static const char *const names[] = {"ketama", "consistent", "modula", "jump"};

	for (int i = 0; i < 4; i++) {
		if (strcmp(name, names[i]) == 0)
			return (enum front_distribution)i;
	}
	fail("no such distribution");
	return FRONT_KETAMA;
}

static struct front_ring *
ring_of(char **argv, uint32_t nservers)
{
	static struct front_server servers[FRONT_SERVERS_MAX];
	static bool live[FRONT_SERVERS_MAX];
	struct front_fleet fleet = {.distribution = distribution_by_name(argv[1]),
				    .given_order = strcmp(argv[4], "given") == 0,
				    .nservers = nservers,
				    .servers = servers};
	struct front_ring *ring = malloc(front_ring_bytes(nservers));

	if (!front_hash_by_name(argv[2], &fleet.hash))
		fail("no such hash");
	if (strlen(argv[3]) == 2)
		memcpy(fleet.tag, argv[3], 2);
	for (uint32_t i = 0; i < nservers; i++) {
		char **words = argv + FIRST_SERVER + i * SERVER_WORDS;

		snprintf(servers[i].name, sizeof servers[i].name, "%s", words[0]);
		servers[i].weight = (uint32_t)atoi(words[1]);
		live[i] = words[2][0] == '1';
	}
	if (ring == NULL || !front_ring_build(ring, &fleet, live))
		fail("no server is live");
	return ring;
}

int
main(int argc, char **argv)
{
	const int words = argc - FIRST_SERVER;
	struct front_ring *ring;
	uint8_t key[256];
	int len;

	if (words < SERVER_WORDS || words % SERVER_WORDS != 0 ||
	    words / SERVER_WORDS > (int)FRONT_SERVERS_MAX)
		fail("usage: DISTRIBUTION HASH TAG ORDER NAME WEIGHT LIVE ...");
	ring = ring_of(argv, (uint32_t)(words / SERVER_WORDS));
	while ((len = getchar()) != EOF) {
		uint16_t server;

		if (fread(key, 1, (size_t)len, stdin) != (size_t)len)
			fail("a key is cut");
		server = (uint16_t)front_ring_server(
			ring, (struct view){.data = key, .len = (uint32_t)len});
		fwrite(&server, sizeof server, 1, stdout);
	}
	free(ring);
	return 0;
}
