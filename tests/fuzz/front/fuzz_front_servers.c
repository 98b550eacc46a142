/*
 * Goal:   any list of servers is refused in one line that begins with the option, or every server
 *         has a host, a port, a weight and a name of its own, and is read back from its text; any
 *         such fleet has a ring. Method: the bytes as a file and, if there is no zero byte among
 *         them, as a list.
 */
#include "fuzz_target.h"

#include "front/front_servers.h"

#include <stdio.h>
#include <stdlib.h>

#define RING_SERVERS 8u /* larger rings take too long here */
#define ENTRY_BYTES  (FRONT_HOST_BYTES + FRONT_NAME_BYTES + 32)
#define OPTION       "--front-servers: "

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

static struct front_servers servers, again;

static void
check_line(const struct error *err)
{
	must(memchr(err->text, 0, sizeof err->text) != NULL);
	must(strncmp(err->text, OPTION, sizeof OPTION - 1) == 0);
	for (const char *c = err->text; *c != '\0'; c++)
		must((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void
check_server(uint32_t i)
{
	const struct front_server *server = &servers.server[i];
	const struct front_host *host = &servers.host[i];
	char text[ENTRY_BYTES];
	struct error err;

	must(memchr(server->name, 0, sizeof server->name) != NULL && server->name[0] != '\0');
	must(memchr(host->host, 0, sizeof host->host) != NULL && host->host[0] != '\0');
	must(host->port != 0 && server->weight - 1 < FRONT_WEIGHT_MAX);
	for (uint32_t k = 0; k < i; k++)
		must(strcmp(server->name, servers.server[k].name) != 0);
	snprintf(text, sizeof text, "%s:%u:%u %s", host->host, host->port, server->weight,
		 server->name);
	if (strchr(text, ',') != NULL)
		return; /* valid as a file's name only */
	must(front_servers_read(&again, text, &err) && again.count == 1);
	must(strcmp(again.server[0].name, server->name) == 0 &&
	     strcmp(again.host[0].host, host->host) == 0 && again.host[0].port == host->port &&
	     again.server[0].weight == server->weight);
}

static void
check_servers(void)
{
	const struct front_fleet fleet = {
		.distribution = FRONT_KETAMA, .nservers = servers.count, .servers = servers.server};
	struct front_ring *ring;

	must(servers.count - 1 < FRONT_SERVERS_MAX);
	for (uint32_t i = 0; i < servers.count; i++)
		check_server(i);
	if (servers.count > RING_SERVERS)
		return;
	ring = malloc(front_ring_bytes(servers.count));
	must(ring != NULL && front_ring_build(ring, &fleet, NULL));
	free(ring);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;
	struct error err;

	if (size > FRONT_FILE_BYTES || (text = malloc(size + 1)) == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (front_servers_read_lines(&servers, "F", (struct view){data, (uint32_t)size}, &err))
		check_servers();
	else
		check_line(&err);
	if (strlen(text) == size) {
		if (front_servers_read(&servers, text, &err))
			check_servers();
		else
			check_line(&err);
	}
	free(text);
	return 0;
}
