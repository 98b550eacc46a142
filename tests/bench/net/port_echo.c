/*
 * port_echo.c - measures the frames that a virtual port carries without work behind it: the
 * ceiling of a server.
 *
 *     port_echo serve OPTIONS          every frame goes back to its sender, as long as the reply to
 *                                      a UDP get (echo_turns.h)
 *     port_echo ask --ms MS [--frames FILE] OPTIONS
 *                                      frames as long as that get, or those of a capture file for
 *                                      a server that answers each; ECHO_WINDOW of them in flight;
 *                                      one line of JSON
 *
 * OPTIONS are those of clockoo that concern the port: --port, --socket, --lcores, --no-huge and so
 * on; see clockoo --help. serve ends by a signal.
 */
#include "echo_turns.h"
#include "nic.h"

#include "dpdk/eal.h"
#include "dpdk/lcore_run.h"
#include "support/frame_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 2048u
#define MS_MAX 3600000u

struct echo {
	struct config config;
	struct nic nic;
	bool serve;
	uint32_t ms;
	bool has_frames;
	struct frame_file frames;
	struct echo_asker asker;
};

static int
echo_refused(const struct error *err)
{
	fprintf(stderr, "port_echo: %s\n", err->text);
	return 1;
}

static void
serve(const struct echo *e, struct port *port)
{
	for (;;)
		if (echo_answer(port) == 0)
			lcore_idle(e->config.yield);
}

/* Runs the sending end. The first half of the time is only a warm-up. */
static void
ask(struct echo *e, struct port *port)
{
	echo_ask_begin(&e->asker, port, e->has_frames ? &e->frames : NULL, e->ms * 500000ull,
		       tsc_clock_ns(&e->nic.clock));
	while (echo_ask(&e->asker, tsc_clock_ns(&e->nic.clock)))
		;
}

static int
work(void *arg)
{
	struct echo *e = arg;
	struct port *port = &e->nic.device.ports[0].port;

	e->serve ? serve(e, port) : ask(e, port);
	return 0;
}

static bool
options_of(struct echo *e, int argc, char **argv, struct error *err)
{
	e->serve = argc > 1 && strcmp(argv[1], "serve") == 0;
	if (!e->serve && (argc < 2 || strcmp(argv[1], "ask") != 0))
		return error_set(err, "expected serve or ask");
	config_defaults(&e->config);
	for (int i = 2; i < argc; i++) {
		const char *name = argv[i] + 2;
		const bool flag = strcmp(name, "no-huge") == 0 || strcmp(name, "yield") == 0;

		if (strncmp(argv[i], "--", 2) != 0 || (!flag && i + 1 == argc))
			return error_set(err, "%s: expected an option, and its value", argv[i]);
		if (strcmp(name, "ms") == 0)
			e->ms = (uint32_t)strtoul(argv[++i], NULL, 10);
		else if (strcmp(name, "frames") == 0) {
			e->has_frames = frame_file_read(&e->frames, argv[++i]);
			if (!e->has_frames)
				return error_set(
					err,
					"--frames %s: no capture of at most %u Ethernet frames",
					argv[i], FRAME_FILE_MAX);
		} else if (!config_set(&e->config, name, flag ? "yes" : argv[++i], err))
			return false;
	}
	if (!e->serve && (e->ms == 0 || e->ms > MS_MAX))
		return error_set(err, "--ms: expected 1 to %u", MS_MAX);
	return config_finish(&e->config, err);
}

static bool
start(struct echo *e, struct error *err)
{
	return nic_prepare(&e->nic, &e->config, err) &&
	       nic_check_resources(&e->nic, &e->config, 0, FRAMES, err) &&
	       nic_start(&e->nic, &e->config, FRAMES, err);
}

int
main(int argc, char **argv)
{
	static struct echo e;
	void *args[1] = {&e};
	struct error err;

	if (!options_of(&e, argc, argv, &err) || !start(&e, &err))
		return echo_refused(&err);
	if (e.serve) {
		puts("port_echo ready: every frame goes back");
		fflush(stdout);
	}
	if (!lcores_run(&e.config.lcores, work, args, &err))
		return echo_refused(&err);
	nic_stop(&e.nic);
	if (e.asker.answered == 0) {
		fputs("port_echo: no frame came back\n", stderr);
		return 1;
	}
	printf("{\"part\": \"port_echo\", \"frames_per_s\": %.1f, \"lost\": %llu, \"idle\": %.3f, "
	       "\"block_ns\": %.2f}\n",
	       echo_frames_per_s(&e.asker), (unsigned long long)e.asker.lost,
	       (double)e.asker.idle / (double)e.asker.turns, echo_block_ns(&e.asker));
	return 0;
}
