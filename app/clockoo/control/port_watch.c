/*
 * port_watch.c - pauses the cores, resets the port or waits for its driver, and goes on.
 */
#include "port_watch.h"
#include "base/time_units.h"
#include "net/neigh_table.h"

#include <stdio.h>
#include <time.h>

/* The cores are waited for in steps, and longer only by the next calls. */
#define PAUSE_STEPS   200u
#define PAUSE_STEP_NS 100000

const struct counter_name port_watch_counter_names[PORT_WATCH_COUNTER_COUNT] = {
	PORT_WATCH_COUNTERS(COUNTER_NAME)};

bool
port_watch_begin(struct port_watch *w, const struct port_watch_parts *parts, struct error *err)
{
	*w = (struct port_watch){.of = *parts};
	return port_events_begin(&w->events, parts->device->id, parts->device->name, err);
}

void
port_watch_end(struct port_watch *w)
{
	port_events_end(&w->events);
}

bool
port_watch_is_away(const struct port_watch *w)
{
	return w->wanted != 0;
}

static const char *
port_name(const struct port_watch *w)
{
	return w->of.request.cfg->port;
}

static void
count(struct port_watch *w, enum port_watch_counter which, uint64_t n)
{
	counter_add(&w->counters[which], n);
}

/* Ends the program. No driver is called any more. */
static void
end_program(struct port_watch *w, const char *why)
{
	device_abandon(w->of.device);
	error_set_code(&w->end, ERROR_PORT, "--port %s: %s", port_name(w), why);
}

/* Takes the port from the cores. */
static void
leave(struct port_watch *w, uint64_t now_ns)
{
	const struct timespec step = {.tv_nsec = PAUSE_STEP_NS};
	const uint32_t cores = w->of.request.cfg->cores;

	w->left_ns = now_ns;
	w->began_ns = clock_ns(CLOCK_MONOTONIC);
	device_leave(w->of.device, true);
	process_pause(w->of.process);
	for (uint32_t i = 0; i < PAUSE_STEPS && !process_all_paused(w->of.process, cores); i++)
		nanosleep(&step, NULL);
}

/* Gives the port back to the cores. */
static void
come_back(struct port_watch *w)
{
	const struct rule_report *rules = &w->of.device->rules;
	const uint64_t away_ns = clock_ns(CLOCK_MONOTONIC) - w->began_ns;
	const bool reset = (w->wanted & PORT_EVENT_RESET) != 0;

	count(w, reset ? NIC_RESETS : NIC_RECOVERIES, 1);
	count(w, NIC_AWAY_NS, away_ns);
	w->wanted = 0;
	device_leave(w->of.device, false);
	process_resume(w->of.process);
	neigh_announce_mt(w->of.neigh);
	fprintf(stderr,
		"clockoo: --port %s: %s; the cores waited %.3f s, %u of %u rules are set again\n",
		port_name(w),
		reset ? "reset, as its driver asked, and set up again" : "recovered by its driver",
		(double)away_ns / NS_PER_S, rules->made, rules->made + rules->refused);
}

/* Resets the port, or sets again what its driver lost. False: to be tried again. */
static bool
set_up_again(struct port_watch *w, uint64_t now_ns, struct error *err)
{
	const struct port_watch_parts *of = &w->of;

	if (!(w->wanted & PORT_EVENT_RESET))
		return device_restore(of->device, &of->request, err);
	if (device_reset(of->device, &of->request, err))
		return true;
	count(w, NIC_RESETS_FAILED, 1);
	w->retry_ns = now_ns + PORT_RETRY_NS;
	return false;
}

/* Adds what was announced to what is wanted. A recovery that begins makes an earlier result void.
 */
static void
want(struct port_watch *w, uint32_t news)
{
	if (news & PORT_EVENT_RECOVERING)
		w->wanted &= ~(uint32_t)PORT_EVENT_RECOVERED;
	w->wanted |= news;
}

/* True if the driver still has the port, and forbids all calls. */
static bool
driver_recovers(const struct port_watch *w)
{
	return (w->wanted & (PORT_EVENT_RECOVERING | PORT_EVENT_RECOVERED)) ==
	       PORT_EVENT_RECOVERING;
}

void
port_watch_run(struct port_watch *w, uint64_t now_ns)
{
	const uint32_t news = port_events_take(&w->events);
	const bool was_away = port_watch_is_away(w);
	struct error err = {.text = "its driver did not recover it"};

	if (news & (PORT_EVENT_REMOVED | PORT_EVENT_RECOVERY_FAILED)) {
		end_program(w, news & PORT_EVENT_REMOVED
				       ? "the device was removed"
				       : "its driver could not recover the device");
		return;
	}
	want(w, news);
	if (!port_watch_is_away(w))
		return;
	if (!was_away)
		leave(w, now_ns);
	if (!driver_recovers(w) && now_ns >= w->retry_ns &&
	    process_all_paused(w->of.process, w->of.request.cfg->cores) &&
	    set_up_again(w, now_ns, &err))
		come_back(w);
	else if (now_ns - w->left_ns >= PORT_AWAY_MAX_NS)
		end_program(w, err.text);
}
