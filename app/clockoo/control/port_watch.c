/*
 * port_watch.c - pauses the cores, resets the port or waits for its driver, and lets the cores
 * continue.
 */
#include "port_watch.h"
#include "base/time_units.h"
#include "net/neigh_table.h"

#include <stdio.h>
#include <time.h>

/* Steps in which a call waits for the cores to pause. Later calls check again without a wait. */
#define PAUSE_STEPS   200u
#define PAUSE_STEP_NS 100000

const struct counter_name port_watch_counter_names[PORT_WATCH_COUNTER_COUNT] = {
	PORT_WATCH_COUNTERS(COUNTER_NAME)};

bool
port_watch_begin(struct port_watch *w, const struct port_watch_parts *parts, struct error *err)
{
	*w = (struct port_watch){.of = *parts, .nics = parts->other != NULL ? 2 : 1};
	w->nic[0].device = parts->device;
	w->nic[1].device = parts->other;
	for (uint32_t i = 0; i < w->nics; i++) {
		struct port_watch_nic *n = &w->nic[i];

		if (!port_events_begin(&n->events, n->device->id, n->device->name, err))
			return false;
	}
	return true;
}

void
port_watch_end(struct port_watch *w)
{
	for (uint32_t i = 0; i < w->nics; i++)
		port_events_end(&w->nic[i].events);
}

bool
port_watch_is_away(const struct port_watch *w)
{
	return (w->nic[0].wanted | w->nic[1].wanted) != 0;
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

/* Ends the program. From here on no driver's function is called. */
static void
end_program(struct port_watch *w, const char *why)
{
	for (uint32_t i = 0; i < w->nics; i++)
		device_abandon(w->nic[i].device);
	error_set_code(&w->end, ERROR_PORT, "--port %s: %s", port_name(w), why);
}

/* Pauses the cores, so that they leave the port. */
static void
leave(struct port_watch *w, uint64_t now_ns)
{
	const struct timespec step = {.tv_nsec = PAUSE_STEP_NS};
	const uint32_t cores = w->of.request.cfg->cores;

	w->left_ns = now_ns;
	w->began_ns = clock_ns(CLOCK_MONOTONIC);
	process_pause(w->of.process);
	for (uint32_t i = 0; i < PAUSE_STEPS && !process_all_paused(w->of.process, cores); i++)
		nanosleep(&step, NULL);
}

/* Counts and reports the repair. The cores continue, unless the bond's other NIC is still away. */
static void
come_back(struct port_watch *w, struct port_watch_nic *n)
{
	const struct rule_report *rules = &n->device->rules;
	const uint64_t away_ns = clock_ns(CLOCK_MONOTONIC) - w->began_ns;
	const bool reset = (n->wanted & PORT_EVENT_RESET) != 0;

	count(w, reset ? NIC_RESETS : NIC_RECOVERIES, 1);
	n->wanted = 0;
	device_leave(n->device, false);
	if (!port_watch_is_away(w)) {
		count(w, NIC_AWAY_NS, away_ns);
		process_resume(w->of.process);
		neigh_announce_mt(w->of.neigh);
	}
	fprintf(stderr,
		"clockoo: --port %s: %s; the cores waited %.3f s, %u of %u rules are set again\n",
		port_name(w),
		reset ? "reset, as its driver asked, and set up again" : "recovered by its driver",
		(double)away_ns / NS_PER_S, rules->made, rules->made + rules->refused);
}

/* Returns the request by which the NIC was started. */
static struct device_request
request_of(const struct port_watch *w, const struct port_watch_nic *n)
{
	struct device_request request = w->of.request;

	request.first = n->device == w->of.device ? NULL : w->of.device;
	return request;
}

/* Resets the port, or restores the groups and rules that its driver has lost. False: try again
 * later. */
static bool
set_up_again(struct port_watch *w, struct port_watch_nic *n, uint64_t now_ns, struct error *err)
{
	const struct device_request request = request_of(w, n);

	if (!(n->wanted & PORT_EVENT_RESET))
		return device_restore(n->device, &request, err);
	if (device_reset(n->device, &request, err))
		return true;
	count(w, NIC_RESETS_FAILED, 1);
	n->retry_ns = now_ns + PORT_RETRY_NS;
	return false;
}

/* Adds announced events to those not handled yet. A new recovery cancels the result of an earlier
 * one. */
static void
want(struct port_watch_nic *n, uint32_t news)
{
	if (news & PORT_EVENT_RECOVERING)
		n->wanted &= ~(uint32_t)PORT_EVENT_RECOVERED;
	n->wanted |= news;
	if (n->wanted != 0)
		device_leave(n->device, true);
}

/* True while the driver recovers the port: no other call of it is allowed. */
static bool
driver_recovers(const struct port_watch_nic *n)
{
	return (n->wanted & (PORT_EVENT_RECOVERING | PORT_EVENT_RECOVERED)) ==
	       PORT_EVENT_RECOVERING;
}

/* Takes the events of all NICs. False if one of them ends the program. */
static bool
take_events(struct port_watch *w)
{
	for (uint32_t i = 0; i < w->nics; i++) {
		const uint32_t news = port_events_take(&w->nic[i].events);

		if (news & (PORT_EVENT_REMOVED | PORT_EVENT_RECOVERY_FAILED)) {
			end_program(w, news & PORT_EVENT_REMOVED
					       ? "the device was removed"
					       : "its driver could not recover the device");
			return false;
		}
		want(&w->nic[i], news);
	}
	return true;
}

void
port_watch_run(struct port_watch *w, uint64_t now_ns)
{
	const bool was_away = port_watch_is_away(w);
	struct error err = {.text = "its driver did not recover it"};

	if (!take_events(w) || !port_watch_is_away(w))
		return;
	if (!was_away)
		leave(w, now_ns);
	for (uint32_t i = 0; i < w->nics; i++) {
		struct port_watch_nic *n = &w->nic[i];

		if (n->wanted != 0 && !driver_recovers(n) && now_ns >= n->retry_ns &&
		    process_all_paused(w->of.process, w->of.request.cfg->cores) &&
		    set_up_again(w, n, now_ns, &err))
			come_back(w, n);
	}
	if (port_watch_is_away(w) && now_ns - w->left_ns >= PORT_AWAY_MAX_NS)
		end_program(w, err.text);
}
