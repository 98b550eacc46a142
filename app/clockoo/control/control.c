/*
 * control.c - the loop of the control thread.
 */
#include "control.h"
#include "bond_watch.h"
#include "drain.h"
#include "admin/admin.h"
#include "base/time_units.h"
#include "monitor/conflict_alarm.h"
#include "monitor/drop_alarm.h"
#include "monitor/live.h"
#include "net/neigh_table.h"
#include "process/last_words.h"
#include "process/signals.h"
#include "process/watchdog.h"
#include "reload.h"
#include "serve/serve_policy.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS ((int64_t)NS_PER_S / 10) /* a client's shutdown takes effect within it */
#define TICKS_S 10u                      /* ticks per second */
/* Time limit of heartbeats for /healthz, where no service manager sets one. The cores are checked
 * every half of it. */
#define PROBE_WATCHDOG_NS (20 * NS_PER_S)

static uint64_t
monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Returns a pending signal, or 0. */
static int
signal_take(void)
{
	const sigset_t set = signals_taken();
	const struct timespec none = {0};

	return sigtimedwait(&set, NULL, &none);
}

/* Waits for left_ns at most. Ends earlier at a signal, a request of HTTP, capture or save, or an
 * event of the port. */
static void
wait_for_any(const struct control *c, int signals, int64_t left_ns)
{
	const struct timespec t = {left_ns / (int64_t)NS_PER_S, left_ns % (int64_t)NS_PER_S};
	struct pollfd files[3 + CAPTURE_POLLS + SAVE_POLLS] = {{signals, POLLIN, 0},
							       {http_fd(c->http), POLLIN, 0},
							       {port_watch_fd(c->port), POLLIN, 0}};
	uint32_t n = 3;

	n += capture_service_polls(c->capture, files + n);
	n += save_service_polls(c->saves, files + n);
	ppoll(files, n, &t, NULL);
}

/* Answers requests of HTTP, capture and save, and handles events of the port. True if
 * another call has work at once. */
static bool
answer(struct control *c)
{
	const bool http = http_run(c->http, monotonic_ns());

	port_watch_run(c->port, monotonic_ns());
	save_service_run(c->saves, monotonic_ns());
	return capture_service_run(c->capture, monotonic_ns()) || http;
}

/* Answers requests until due_ns or a signal. Returns the signal, or 0. */
static int
wait_for_signal(struct control *c, int signals, int64_t due_ns)
{
	bool more = answer(c);
	int64_t left_ns;

	while (!port_watch_has_ended(c->port) && (left_ns = due_ns - (int64_t)monotonic_ns()) > 0) {
		int number;

		wait_for_any(c, signals, more ? 0 : capture_service_wait_ns(c->capture, left_ns));
		number = signal_take();
		if (number > 0)
			return number;
		more = answer(c);
	}
	return 0;
}

static uint64_t
microseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_usec;
}

/* Announces our addresses when the link is up again: it may lead to another switch, which does not
 * know them. */
static void
watch_link(struct control *c, bool *was_up)
{
	const bool up = nic_link_up(c->nic);

	if (up != *was_up)
		fprintf(stderr, "clockoo: --port %s: the link is %s\n", c->settings->config.port,
			up ? "up again: our addresses are announced" : "down");
	if (up && !*was_up)
		neigh_announce_mt(c->neigh);
	*was_up = up;
}

static void
say_drops(struct control *c, const struct admin_nic *nic, struct drop_alarm *alarm)
{
	const struct drop_nic drops = {nic->missed, nic->no_buffer,
				       nic_allowances_exceeded(nic->allowances)};
	struct drop_line line;

	if (drop_alarm_check(alarm, c->telemetry, &drops, monotonic_ns(), &line))
		fprintf(stderr, "clockoo: %llu %s: %s\n", (unsigned long long)line.count,
			line.words, line.cure);
}

/* Passes counters that only the NIC has to `stats net`. */
static void
tell_nic(const struct control *c, struct admin_nic *nic)
{
	struct device *d = &c->nic->device;
	struct device_losses losses;

	nic_losses(c->nic, &losses);
	*nic = (struct admin_nic){.rx_frames = losses.rx_frames,
				  .tx_frames = losses.tx_frames,
				  .missed = losses.missed,
				  .no_buffer = losses.no_buffer,
				  .rx_errors = losses.rx_errors,
				  .tx_errors = losses.tx_errors,
				  .link_up = nic_link_up(c->nic)};
	for (uint32_t i = 0; i < d->cores; i++)
		nic->frames_free += device_frames_free(d, i);
	device_allowances(d, nic->allowances);
	admin_nic_set_mt(c->shared, nic);
}

static void
say_conflicts(const struct control *c, struct conflict_alarm *alarm)
{
	char line[CONFLICT_LINE_BYTES];
	struct neigh_conflicts seen;
	struct ip_addr ip;

	if (!neigh_conflicts_mt(c->neigh, &seen))
		return;
	ip = local_addrs_ip(c->own->now.table, seen.which);
	if (conflict_alarm_check(alarm, &seen, &ip, monotonic_ns(), line))
		fprintf(stderr, "clockoo: %s\n", line);
}

/* Warnings that appear once a minute at most. */
struct alarms {
	struct drop_alarm drops;
	struct conflict_alarm conflicts;
};

static void
fleet_count(struct control *c, struct live *live)
{
	double due[FRONT_SERVERS_MAX];

	front_stats_due(&c->fleet->control, due);
	front_stats_look(&c->fleet->stats, &c->fleet->looker, live_requests(live),
			 c->front->connections, due, &live->front);
}

static void
each_second(struct control *c, struct live *live, struct alarms *alarms)
{
	struct admin_nic nic;
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	serve_rusage_set_mt(c->shared, microseconds(use.ru_utime), microseconds(use.ru_stime));
	serve_resident_set_mt(c->shared, host_resident_bytes());
	tell_nic(c, &nic);
	admin_latency_tick_mt(c->shared, monotonic_ns());
	admin_hotkeys_tick_mt(c->shared, process_now_ns(c->process));
	admin_slow_tick_mt(c->shared, process_now_ns(c->process));
	admin_sources_tick_mt(c->shared);
	say_drops(c, &nic, &alarms->drops);
	say_conflicts(c, &alarms->conflicts);
	if (c->fleet != NULL)
		fleet_count(c, live);
	if (c->settings->config.live)
		live_print(live);
}

/* Returns the time limit for heartbeats, set by the service manager or for probes of /healthz. 0:
 * neither is used. */
static uint64_t
watchdog_ns(const struct control *c)
{
	if (c->process->notify.watchdog_ns != 0)
		return c->process->notify.watchdog_ns;
	return c->http != NULL ? PROBE_WATCHDOG_NS : 0;
}

/* Sends a heartbeat to the service manager, or logs that a core is stuck. Without heartbeats the
 * manager kills the process; a probe of /healthz may do so, too. */
static void
notify_watchdog(const struct control *c, struct watchdog *w)
{
	const struct notify *notify = &c->process->notify;
	uint32_t core = 0;
	const enum watchdog_status status = watchdog_check(w, c->telemetry, monotonic_ns(), &core);

	/* Cores that wait for the port are not stuck; that wait ends within PORT_AWAY_MAX_NS. */
	const bool stuck = status == WATCHDOG_STUCK && !port_watch_is_away(c->port);

	if (status == WATCHDOG_NOT_DUE)
		return;
	http_set_stuck(c->http, stuck);
	if (stuck)
		fprintf(stderr,
			"clockoo: core %u is stuck: the service manager gets no watchdog "
			"notification, /healthz is 503\n",
			core);
	else if (notify->watchdog_ns != 0)
		notify_send(notify, "WATCHDOG=1");
}

/* Gives the cores the wall clock after it was set, or after their own clock has drifted from it
 * (tsc_clock.h: 1 ms a second at most). Logs a step of a second or more. */
static void
watch_wall_clock(struct control *c)
{
	struct wall_reading r = {.before_ns = process_now_ns(c->process)};
	int64_t step_ns;

	r.unix_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	r.after_ns = process_now_ns(c->process);
	if (!wall_watch_check(c->wall, &r, &step_ns))
		return;
	for (uint32_t i = 0; i < c->settings->config.cores; i++)
		core_wall_set_mt(&c->cores[i], c->wall->unix_ns);
	if (step_ns >= (int64_t)NS_PER_S || step_ns <= -(int64_t)NS_PER_S)
		fprintf(stderr,
			"clockoo: the wall clock was set %.3f s %s: expiry times that clients give "
			"as dates follow it\n",
			(double)(step_ns < 0 ? -step_ns : step_ns) / NS_PER_S,
			step_ns < 0 ? "back" : "forward");
}

static void
reload(struct control *c, bool *reloading)
{
	notify_reloading(&c->process->notify, monotonic_ns());
	reload_all(c);
	*reloading = true;
}

/* Gives the cores the users, networks and addresses that a reload has read. Ends the reload once
 * all cores use them. A call may change nothing, if some core does not use the former ones yet. */
static void
apply_users_and_networks(struct control *c, bool *reloading)
{
	users_apply(c->users, c->shared);
	access_apply(c->access, c->shared);
	if (own_addrs_apply(c->own, c->shared, c->neigh))
		own_addrs_join(c->own, &c->nic->device, nic_other(c->nic));
	if (*reloading && !c->users->pending && access_is_applied(c->access) &&
	    own_addrs_is_applied(c->own)) {
		notify_send(&c->process->notify, "READY=1");
		*reloading = false;
	}
}

static uint64_t
drain_time_ns(const struct control *c)
{
	return c->settings->config.drain_time_s * NS_PER_S;
}

static const char *
drain_words(enum config_drain how)
{
	switch (how) {
	case CONFIG_DRAIN_CLOSE:
		return "connections are closed behind their next answer";
	case CONFIG_DRAIN_ANYCAST:
		return "connections are closed behind their next answer, then it is not ready";
	default:
		return "new connections are refused";
	}
}

static void
say_drain(const struct control *c)
{
	const struct config *cfg = &c->settings->config;

	notify_send(&c->process->notify, "STATUS=draining");
	fprintf(stderr,
		"clockoo: draining: %s; the stop follows when the last one has ended, or in %u s\n",
		drain_words((enum config_drain)cfg->drain), cfg->drain_time_s);
}

static void
begin_drain(struct control *c, struct drain *d)
{
	if (d->stage != DRAIN_OFF)
		return;
	drain_begin(d, (enum config_drain)c->settings->config.drain, drain_time_ns(c),
		    monotonic_ns());
	say_drain(c);
}

/* Acts on a request to stop, which may wait for a drain: longer than the service manager does
 * unless it is asked to. True if the stop is at once. */
static bool
stop_at_once(struct control *c, struct drain *d)
{
	const bool drains = d->stage != DRAIN_OFF;

	if (drain_stop(d, (enum config_drain)c->settings->config.drain, drain_time_ns(c),
		       monotonic_ns()))
		return true;
	notify_send(&c->process->notify, NOTIFY_EXTEND);
	if (!drains)
		say_drain(c);
	return false;
}

/* Sums the connections of all cores. */
static struct drain_conns
conns_of_cores(const struct control *c)
{
	/* States of stack_conn_state_names in which the peer still owes an acknowledgement. */
	static const uint8_t leaving[] = {1 /* syn_rcvd */, 3 /* fin_wait_1 */, 6 /* closing */,
					  7 /* last_ack */};
	struct drain_conns sum = {0};
	struct stack_usage use;

	for (uint32_t i = 0; i < c->settings->config.cores; i++) {
		stack_usage_mt(c->cores[i].stack, &use);
		sum.open += use.conns_open;
		for (uint32_t k = 0; k < sizeof leaving; k++)
			sum.leaving += stack_conns_in_state_mt(c->cores[i].stack, leaving[k]);
	}
	return sum;
}

/* Advances the drain, and gives the cores its stage. True once the drain has ended. */
static bool
drain_has_ended(struct control *c, struct drain *d)
{
	struct drain_conns conns;
	bool settled;

	if (d->stage == DRAIN_OFF)
		return false;
	if (!d->applied)
		d->applied = serve_drain_mt(c->shared, drain_asks(d));
	settled = d->applied && serve_settled_mt(c->shared);
	conns = conns_of_cores(c);
	(void)drain_step(d, &conns, settled, monotonic_ns());
	if (d->stage >= DRAIN_LEAVING)
		http_draining(c->http);
	return d->stage == DRAIN_ENDED;
}

/* True if a signal or a client requests a stop; a client's request counts once. */
static bool
is_stop_requested(const struct control *c, int signal_number, bool *client_has)
{
	const bool has = serve_stop_requested_mt(c->shared) != SERVE_RUN;
	const bool client = has && !*client_has;

	*client_has = has;
	return client ||
	       (signal_number != 0 && signal_number != SIGHUP && signal_number != SIGUSR2);
}

/* Acts on this signal (0: none) and on what clients and the drain ask for. True if the process is
 * to stop. */
static bool
has_to_stop(struct control *c, struct drain *d, int signal_number, bool *client_has)
{
	if (signal_number == SIGUSR2)
		begin_drain(c, d);
	if (is_stop_requested(c, signal_number, client_has) && stop_at_once(c, d))
		return true;
	return port_watch_has_ended(c->port) || drain_has_ended(c, d);
}

static void *
control_run(void *arg)
{
	struct control *c = arg;
	struct alarms alarms = {0};
	struct drain drain = {0};
	struct bond_watch bond = {0};
	struct live live;
	struct watchdog watchdog;
	int64_t due_ns = (int64_t)monotonic_ns();
	uint32_t ticks = 0;
	const sigset_t set = signals_taken();
	const int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	bool reloading = false, link_up = true, client_has = false;
	struct error err;

	last_words_thread("the control thread");
	process_pin(c->process);
	live_init(&live,
		  &(struct live_source){c->process, &c->settings->config, c->nic, c->telemetry,
					c->store, c->fleet, c->front->copy_ns, c->flash->used});
	if (c->tls != NULL) /* their certificates were read at start */
		serve_certs_read_mt(c->shared, 0, true, process_now_ns(c->process));
	watchdog_begin(&watchdog, watchdog_ns(c), c->settings->config.cores, (uint64_t)due_ns);
	for (;;) {
		const int number = wait_for_signal(c, signals, due_ns + TICK_NS);

		if (has_to_stop(c, &drain, number, &client_has))
			break;
		if (number == SIGHUP)
			reload(c, &reloading);
		apply_users_and_networks(c, &reloading);
		if (c->tls != NULL && serve_certs_wanted_mt(c->shared))
			reload_certs(c);
		if (number != 0)
			continue;
		due_ns += TICK_NS;
		if (c->nic->bond != NULL && nic_link_up(c->nic) &&
		    bond_watch_moved(&bond, c->nic->bond))
			neigh_announce_mt(c->neigh);
		watch_wall_clock(c);
		arena_file_tick(c->arena, c->telemetry);
		second_tier_tick(c->flash);
		if (c->fleet != NULL)
			fleet_tick(c->fleet, monotonic_ns());
		if (++ticks % TICKS_S == 0) {
			tsc_clock_correct(&c->nic->clock);
			each_second(c, &live, &alarms);
			if (!front_cores_check(c->front_cores, c->fleet,
					       process_now_ns(c->process) - c->process->begun_ns))
				break;
			watch_link(c, &link_up);
			if (drain.stops)
				notify_send(&c->process->notify, NOTIFY_EXTEND);
			follow_router(c);
			bond_watch_second(&bond, c->nic->bond, &c->settings->config);
		}
		notify_watchdog(c, &watchdog);
	}
	capture_service_stop(c->capture);
	save_service_stop(c->saves);
	if (signals >= 0)
		close(signals);
	notify_send(&c->process->notify, "STOPPING=1");
	http_stopping(c->http);
	/* If the thread cannot start, probes get no answer, and that counts as not ready. */
	(void)http_alone_begin(c->http_alone, c->http, &err);
	process_stop(c->process);
	return NULL;
}

bool
control_start(pthread_t *thread, struct control *c, struct error *err)
{
	const int rc = pthread_create(thread, NULL, control_run, c);

	return rc == 0 || error_set(err, "cannot start the control thread: %s", strerror(rc));
}
