/*
 * kernel_servers.c - the memory and the thread of the helper (sock_helper.h).
 */
#include "kernel_servers.h"

#include "config/lcores.h"
#include "front/front_config.h"
#include "process/last_words.h"
#include "process/process.h"
#include "sock/sock_helper.h"
#include "sock/sock_links.h"

#include <stdlib.h>
#include <string.h>

#define THREAD_NAME "clockoo-sockets"

static_assert(CORES_MAX <= SOCK_CORES_MAX, "each core has its port");
static_assert(FRONT_LANES_MAX <= SOCK_PLACES_MAX, "each lane has its place");
static_assert(FRONT_PATH_BYTES == SOCK_PATH_BYTES, "the longest path is the kernel's");

struct kernel_servers {
	struct sock_helper helper;
	struct sock_links_config links;
	struct sock_file *files;
	pthread_t thread;
	bool runs;
};

bool
kernel_servers_are_used(const struct front_config *front)
{
	return front != NULL && (front_servers_by_kernel(&front->servers) ||
				 front_servers_by_kernel(&front->gutter));
}

static struct sock_links_config
links_of(const struct front_settings *front)
{
	return (struct sock_links_config){.conns_max = front->conns_max,
					  .links = front->servers * front->connections};
}

size_t
kernel_servers_core_bytes(const struct front_settings *front)
{
	const struct sock_links_config c = links_of(front);

	return sock_links_bytes(&c);
}

bool
kernel_servers_begin(struct kernel_servers **ks, const struct front_config *front,
		     const struct front_settings *settings, uint32_t cores, struct error *err)
{
	struct kernel_servers *k;
	int e;

	*ks = NULL;
	if (!kernel_servers_are_used(front))
		return true;
	k = aligned_alloc(alignof(struct kernel_servers), sizeof *k);
	ensure(k != NULL);
	memset(k, 0, sizeof *k);
	k->links = links_of(settings);
	k->files = calloc((size_t)cores * k->links.links, sizeof *k->files);
	ensure(k->files != NULL);
	e = sock_helper_open(&k->helper, k->files, cores, k->links.links);
	k->links.signal = &k->helper.signal;
	*ks = k;
	return e == 0 || error_set(err,
				   "--front-servers: no descriptors for the kernel's "
				   "connections: %s",
				   strerror(-e));
}

void
kernel_servers_build(struct kernel_servers *ks, struct region *region, uint32_t core,
		     struct serve *serve, struct stack *stack, struct telemetry *telemetry)
{
	struct sock_links *links = sock_links_create(region, &ks->links, serve, stack);

	sock_helper_attach(&ks->helper, core, sock_links_port(links));
	ensure(telemetry_add_to(telemetry, TELEMETRY_STACK,
				&(struct telemetry_set){core, SOCK_LINK_COUNTER_COUNT,
							sock_link_counter_names,
							sock_link_counters(links)}));
}

static void *
servers_run(void *arg)
{
	struct kernel_servers *ks = arg;

	last_words_thread("the thread of servers that the kernel reaches");
	sock_helper_help(&ks->helper);
	return NULL;
}

bool
kernel_servers_start(struct kernel_servers *ks, const struct process *process, struct error *err)
{
	int rc;

	if (ks == NULL)
		return true;
	rc = pthread_create(&ks->thread, NULL, servers_run, ks);
	if (rc != 0)
		return error_set(err, "--front-servers: cannot start a thread: %s", strerror(rc));
	pthread_setname_np(ks->thread, THREAD_NAME);
	process_pin_thread(process, ks->thread);
	ks->runs = true;
	return true;
}

void
kernel_servers_end(struct kernel_servers *ks)
{
	if (ks == NULL)
		return;
	if (ks->runs) {
		sock_helper_end(&ks->helper);
		pthread_join(ks->thread, NULL);
	}
	sock_helper_close(&ks->helper);
	free(ks->files);
	free(ks);
}
