/*
 * control.c - the control thread: signals, requests of clients, reload, link, clock, --live,
 * watchdog.
 */
#include "control.h"
#include "admin/admin.h"
#include "base/time_units.h"
#include "capture/capture_service.h"
#include "fleet/fleet.h"
#include "monitor/conflict_alarm.h"
#include "monitor/drop_alarm.h"
#include "process/last_words.h"
#include "process/signals.h"
#include "fleet/front_cores.h"
#include "monitor/http_server.h"
#include "monitor/live.h"
#include "reload.h"
#include "serve/serve_policy.h"
#include "net/neigh_table.h"
#include "access/tls_cores.h"
#include "wire/ipv6_wire.h"
#include "process/watchdog.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS ((int64_t)NS_PER_S / 10) /* the delay after which a client's shutdown is seen */
#define TICKS_S 10u                      /* ticks in a second */

static uint64_t
monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Returns a pending signal, 0 if there is none. */
static int
signal_take(void)
{
	const sigset_t set = signals_taken();
	const struct timespec none = {0};

	return sigtimedwait(&set, NULL, &none);
}

/* Waits for a signal, for a request of HTTP or capture, or for left_ns. */
static void
wait_for_any(const struct appliance *a, int signals, int64_t left_ns)
{
	const struct timespec t = {left_ns / (int64_t)NS_PER_S, left_ns % (int64_t)NS_PER_S};
	struct pollfd files[2 + CAPTURE_POLLS] = {{signals, POLLIN, 0},
						  {http_fd(a->http), POLLIN, 0}};

	ppoll(files, 2 + capture_service_polls(a->capture, files + 2), &t, NULL);
}

/* Answers requests of HTTP and of `clockoo capture`. True if there is more to do. */
static bool
answer(struct appliance *a)
{
	const bool http = http_run(a->http, monotonic_ns());

	return capture_service_run(a->capture, monotonic_ns()) || http;
}

/* Returns the signal that arrived before due_ns, or 0. Requests are answered meanwhile. */
static int
wait_for_signal(struct appliance *a, int signals, int64_t due_ns)
{
	bool more = answer(a);
	int64_t left_ns;

	while ((left_ns = due_ns - (int64_t)monotonic_ns()) > 0) {
		int number;

		wait_for_any(a, signals, more ? 0 : capture_service_wait_ns(a->capture, left_ns));
		number = signal_take();
		if (number > 0)
			return number;
		more = answer(a);
	}
	return 0;
}

static uint64_t
microseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_usec;
}

/* Announces our addresses after the link was down: it may now lead to another switch, which does
 * not know them. */
static void
watch_link(struct appliance *a, bool *was_up)
{
	const bool up = device_link_up_mt(&a->nic.device);

	if (up != *was_up)
		fprintf(stderr, "clockoo: --port %s: the link is %s\n", a->config.port,
			up ? "up again: our addresses are announced" : "down");
	if (up && !*was_up)
		neigh_announce_mt(a->neigh);
	*was_up = up;
}

static void
say_drops(struct appliance *a, struct drop_alarm *alarm)
{
	struct device_losses losses;
	struct drop_line line;

	device_losses(&a->nic.device, &losses);
	if (drop_alarm_check(alarm, &a->telemetry,
			     &(struct drop_nic){losses.missed, losses.no_buffer}, monotonic_ns(),
			     &line))
		fprintf(stderr, "clockoo: %llu %s: %s\n", (unsigned long long)line.count,
			line.words, line.cure);
}

/* Passes figures that only the port has to `stats net`. */
static void
tell_nic(const struct appliance *a)
{
	const struct device *d = &a->nic.device;
	struct device_losses losses;
	struct admin_nic nic;

	device_losses(d, &losses);
	nic = (struct admin_nic){.missed = losses.missed,
				 .no_buffer = losses.no_buffer,
				 .rx_errors = losses.rx_errors,
				 .tx_errors = losses.tx_errors,
				 .link_up = device_link_up_mt(d)};
	for (uint32_t i = 0; i < d->cores; i++)
		nic.frames_free += device_frames_free(d, i);
	admin_nic_set_mt(a->shared, &nic);
}

static void
say_conflicts(const struct appliance *a, struct conflict_alarm *alarm)
{
	const struct ip_addr ip[NEIGH_OURS] = {
		[LOCAL_V4] = ip_addr_v4(a->config.ipv4),
		[LOCAL_LINK6] = ipv6_link_local(a->nic.device.ports[0].port.mac),
		[LOCAL_GLOBAL6] = a->config.ipv6,
	};
	char line[CONFLICT_LINE_BYTES];
	struct neigh_conflicts seen;

	if (neigh_conflicts_mt(a->neigh, &seen) &&
	    conflict_alarm_check(alarm, &seen, ip, monotonic_ns(), line))
		fprintf(stderr, "clockoo: %s\n", line);
}

/* Warnings that are printed at most once a minute. */
struct alarms {
	struct drop_alarm drops;
	struct conflict_alarm conflicts;
};

static void
fleet_count(struct appliance *a, struct live *live)
{
	double due[FRONT_SERVERS_MAX];

	front_stats_due(&a->fleet->control, due);
	front_stats_look(&a->fleet->stats, &a->fleet->looker, live_requests(a),
			 a->sizes.front.connections, due, &live->front);
}

static void
each_second(struct appliance *a, struct live *live, struct alarms *alarms)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	serve_rusage_set_mt(a->shared, microseconds(use.ru_utime), microseconds(use.ru_stime));
	serve_resident_set_mt(a->shared, host_resident_bytes());
	tell_nic(a);
	admin_latency_tick_mt(a->shared, monotonic_ns());
	admin_hotkeys_tick_mt(a->shared, process_now_ns(&a->process));
	admin_slow_tick_mt(a->shared, process_now_ns(&a->process));
	admin_sources_tick_mt(a->shared);
	say_drops(a, &alarms->drops);
	say_conflicts(a, &alarms->conflicts);
	if (a->fleet != NULL)
		fleet_count(a, live);
	if (a->config.live)
		live_print(live, a);
}

/* Sends the service manager a heartbeat, or logs why it stops. The manager ends a process without
 * heartbeats. */
static void
notify_watchdog(const struct appliance *a, struct watchdog *w)
{
	uint32_t core = 0;

	switch (watchdog_check(w, &a->telemetry, monotonic_ns(), &core)) {
	case WATCHDOG_NOT_DUE:
		break;
	case WATCHDOG_ALIVE:
		notify_send(&a->process.notify, "WATCHDOG=1");
		break;
	case WATCHDOG_STUCK:
		fprintf(stderr,
			"clockoo: core %u is stuck: no watchdog notification is sent "
			"to the service manager\n",
			core);
		break;
	}
}

/* Gives the cores a wall clock that was set, and the drift between it and a clock of the
 * cores that is being corrected (tsc_clock.h: 1 ms a second at most). A step of a second or more is
 * logged. */
static void
watch_wall_clock(struct appliance *a)
{
	struct wall_reading r = {.before_ns = process_now_ns(&a->process)};
	int64_t step_ns;

	r.unix_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	r.after_ns = process_now_ns(&a->process);
	if (!wall_watch_look(&a->wall, &r, &step_ns))
		return;
	for (uint32_t i = 0; i < a->config.cores; i++)
		core_wall_set_mt(&a->cores[i], a->wall.unix_ns);
	if (step_ns >= (int64_t)NS_PER_S || step_ns <= -(int64_t)NS_PER_S)
		fprintf(stderr,
			"clockoo: the wall clock was set %.3f s %s: expiry times that clients give "
			"as dates follow it\n",
			(double)(step_ns < 0 ? -step_ns : step_ns) / NS_PER_S,
			step_ns < 0 ? "back" : "forward");
}

static void
reload(struct appliance *a, bool *reloading)
{
	notify_reloading(&a->process.notify, monotonic_ns());
	reload_all(a);
	*reloading = true;
}

/* Reads the certificates again if a client has asked for it since. */
static void
refresh_certs(struct appliance *a, uint32_t *asked)
{
	const uint32_t now = serve_certs_asked_mt(a->shared);

	if (now == *asked || a->tls == NULL)
		return;
	*asked = now;
	tls_cores_reload(a->tls, &a->config);
}

/* Ends a reload once the cores have its users and networks. Some cores may not have seen the
 * previous ones yet. */
static void
apply_users_and_networks(struct appliance *a, bool *reloading)
{
	users_apply(&a->users, a->shared);
	access_apply(&a->access, a->shared);
	if (*reloading && !a->users.pending && access_is_applied(&a->access)) {
		notify_send(&a->process.notify, "READY=1");
		*reloading = false;
	}
}

static bool
is_stop_requested(const struct appliance *a, int signal_number)
{
	return (signal_number != 0 && signal_number != SIGHUP) ||
	       serve_stop_requested_mt(a->shared) != SERVE_RUN;
}

static void *
control_run(void *arg)
{
	struct appliance *a = arg;
	struct alarms alarms = {0};
	struct live live;
	struct watchdog watchdog;
	int64_t due_ns = (int64_t)monotonic_ns();
	uint32_t ticks = 0, certs_asked = 0;
	const sigset_t set = signals_taken();
	const int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	bool reloading = false, link_up = true;

	last_words_thread("the control thread");
	process_pin(&a->process);
	live_init(&live, a);
	watchdog_begin(&watchdog, a->process.notify.watchdog_ns, a->config.cores, (uint64_t)due_ns);
	for (;;) {
		const int number = wait_for_signal(a, signals, due_ns + TICK_NS);

		if (is_stop_requested(a, number))
			break;
		if (number == SIGHUP)
			reload(a, &reloading);
		apply_users_and_networks(a, &reloading);
		refresh_certs(a, &certs_asked);
		if (number != 0)
			continue;
		due_ns += TICK_NS;
		watch_wall_clock(a);
		kept_tick(&a->kept, &a->telemetry);
		second_tier_tick(&a->flash, a);
		if (a->fleet != NULL)
			fleet_tick(a->fleet, monotonic_ns());
		if (++ticks % TICKS_S == 0) {
			tsc_clock_correct(&a->nic.clock);
			each_second(a, &live, &alarms);
			if (!front_cores_check(a, process_now_ns(&a->process)))
				break;
			watch_link(a, &link_up);
		}
		notify_watchdog(a, &watchdog);
	}
	capture_service_stop(a->capture);
	if (signals >= 0)
		close(signals);
	notify_send(&a->process.notify, "STOPPING=1");
	process_stop(&a->process);
	return NULL;
}

bool
control_start(pthread_t *thread, struct appliance *a, struct error *err)
{
	const int rc = pthread_create(thread, NULL, control_run, a);

	return rc == 0 || error_set(err, "cannot start the control thread: %s", strerror(rc));
}
