/*
 * fleet.c - makes the fleet's states: the first one from the configuration, later ones from
 * failures that cores report, lookups of names, and reloads.
 */
#include "fleet.h"
#include "config/auth_file.h"
#include "front/front.h"
#include "front/front_servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Most steps of front_control in one tick, while a reload refuses keys. */
#define REFUSED_STEPS   50u
#define REFUSED_STEP_NS 200000u /* pause between two of those steps */
#define LINE_BYTES      128u    /* as ADMISSION_ALIGN */

static_assert(LINE_BYTES >= ADMISSION_ALIGN, "what is shared begins with a line");

/* Allocates a block aligned to LINE_BYTES. NULL: no memory. */
static void *
make(size_t bytes)
{
	const size_t whole = (bytes + LINE_BYTES - 1) & ~(size_t)(LINE_BYTES - 1);
	void *at = aligned_alloc(LINE_BYTES, whole);

	if (at != NULL)
		memset(at, 0, whole);
	return at;
}

static bool
make_exchange(struct fleet *f, const struct front_config *config, uint32_t cores)
{
	const uint32_t room = front_control_room(config);

	f->exchange = make(front_exchange_bytes(room));
	if (f->exchange == NULL)
		return false;
	front_exchange_init(f->exchange, cores, room);
	if (config->warm_ns != 0)
		f->exchange->warm = make(sizeof *f->exchange->warm);
	return config->warm_ns == 0 || f->exchange->warm != NULL;
}

/* Allocates the memory for the planned copies. */
static bool
make_shared(struct fleet *f)
{
	const uint32_t items = f->spec->plan.items;

	if (items == 0)
		return true;
	f->shared.versions = make(sizeof *f->shared.versions);
	if (f->shared.versions == NULL)
		return false;
	versions_init(f->shared.versions);
	if (items == FRONT_ITEMS_MEMORY)
		return true;
	f->shared.admission = make(admission_bytes(items));
	if (f->shared.admission == NULL)
		return false;
	admission_init(f->shared.admission, items);
	return true;
}

static const char *const failures[] = {
	[FRONT_FAILURE_UNKNOWN] = "it is flushed before it is used",
	[FRONT_FAILURE_REFUSED] = "it refuses connections",
	[FRONT_FAILURE_UNREACHABLE] = "nothing answers for its address on the link",
	[FRONT_FAILURE_SILENT] = "it does not answer connections within front.connect_timeout",
	[FRONT_FAILURE_NO_CONN] = "no connection is free here: raise protocol.conn_limit",
	[FRONT_FAILURE_CLOSED] = "it ends its connections",
	[FRONT_FAILURE_LATE] = "it does not answer requests within front.timeout",
	[FRONT_FAILURE_BROKEN] = "its answers are not those of a memcached",
	[FRONT_FAILURE_LOGIN] = "it refuses the login",
	[FRONT_FAILURE_NO_LOGIN] = "it requires a login: name a file with one as front.login",
	[FRONT_FAILURE_NOT_TLS] = "it does not speak TLS",
	[FRONT_FAILURE_TLS_SILENT] = "its TLS handshake does not end within front.connect_timeout",
	[FRONT_FAILURE_TLS_CLOSED] = "it ends its connections amid the TLS handshake",
	[FRONT_FAILURE_TLS_REFUSED] = "it refuses the TLS handshake",
	[FRONT_FAILURE_TLS_OTHER] = "its TLS handshake fails",
	[FRONT_FAILURE_CERT_EXPIRED] = "its certificate has expired",
	[FRONT_FAILURE_CERT_EARLY] = "its certificate is not valid yet",
	[FRONT_FAILURE_CERT_NAME] = "its certificate has another name: see front.tls_name",
	[FRONT_FAILURE_CERT_ISSUER] = "no certificate of front.tls_ca has issued its own",
	[FRONT_FAILURE_CERT_OTHER] = "its certificate does not verify",
	[FRONT_FAILURE_CERT_OWN] = "it refuses the certificate of front.tls_cert, or requires one",
	[FRONT_FAILURE_NO_PATH] = "there is no such Unix socket",
	[FRONT_FAILURE_DENIED] = "the service's user (-u) may not connect to it",
	[FRONT_FAILURE_KERNEL_OTHER] = "the kernel opens no connection to it",
};

/* Makes the thread look the names up at once, since their hosts may have moved. The caller holds
 * the lock. */
static void
look_up_again(struct fleet *f)
{
	f->failed++;
	pthread_cond_broadcast(&f->changed);
}

static void
health_changed(void *arg, const struct front_host *host, enum front_health health,
	       enum front_failure why)
{
	char text[FRONT_HOST_TEXT_BYTES];

	front_host_text(host, text);
	switch (health) {
	case FRONT_HEALTH_DOWN:
		fprintf(stderr, "clockoo: front.servers: %s is down: %s; its keys fail\n", text,
			failures[why]);
		look_up_again(arg);
		break;
	case FRONT_HEALTH_AWAY:
		fprintf(stderr, "clockoo: front.servers: %s has left: %s; others stand in for it\n",
			text, failures[why]);
		look_up_again(arg);
		break;
	case FRONT_HEALTH_LIVE:
		fprintf(stderr, "clockoo: front.servers: %s is back\n", text);
		break;
	default:
		break;
	}
}

/* Sets the hosts whose names the thread looks up. */
static void
hosts_set(struct fleet *f, const struct front_config *config)
{
	const uint32_t servers = config->servers.count, gutter = config->gutter.count;

	f->hosts.count = servers + gutter;
	memcpy(f->hosts.host, config->servers.host, servers * sizeof f->hosts.host[0]);
	memcpy(f->hosts.host + servers, config->gutter.host, gutter * sizeof f->hosts.host[0]);
	f->list++;
}

static void reload_refused(void *arg, const struct front_host *host);

/* Allocates a fleet. NULL: no memory. */
static struct fleet *
make_fleet(struct fleet_spec *spec, uint32_t cores)
{
	struct fleet *f = calloc(1, sizeof *f);

	if (f == NULL)
		return NULL;
	f->spec = spec;
	if (make_exchange(f, &spec->config, cores) && make_shared(f))
		return f;
	free(f->shared.versions);
	free(f->exchange);
	free(f);
	return NULL;
}

static bool
has_kernel_servers(const struct fleet_spec *spec)
{
	return front_servers_by_kernel(&spec->config.servers) ||
	       front_servers_by_kernel(&spec->config.gutter);
}

bool
fleet_begin(struct fleet **fleet, const struct config *cfg, struct error *err)
{
	struct fleet_spec *spec;
	struct fleet *f;

	*fleet = NULL;
	if (!fleet_spec_read(&spec, cfg, err))
		return false;
	if (spec == NULL)
		return true;
	f = make_fleet(spec, cfg->cores);
	if (f == NULL) {
		fleet_spec_free(spec);
		return error_set(err, "--front-servers: no memory for the fleet");
	}
	f->ipv6 = !ip_addr_is_zero(&cfg->ipv6);
	f->by_kernel = has_kernel_servers(spec);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	f->control.tell = health_changed;
	f->control.refused = reload_refused;
	f->control.arg = f;
	front_control_init(&f->control, f->exchange, &spec->config);
	hosts_set(f, &spec->config);
	*fleet = f;
	return true;
}

static void
say_moved(const struct fleet *f, uint32_t server)
{
	char text[IP_ADDR_TEXT_MAX + 1];

	*ip_addr_text(text, &f->names.name[server].ip) = '\0';
	fprintf(stderr, "clockoo: front.servers: %s is %s\n", f->looked.host[server].host, text);
}

static void
say_failing(const struct fleet *f, uint32_t server)
{
	const struct front_name *name = &f->names.name[server];

	fprintf(stderr, "clockoo: front.servers: %s: %s; %s\n", f->looked.host[server].host,
		name->last == FRONT_LOOKUP_NO_NAME ? "no such name" : "no name server answers",
		ip_addr_is_zero(&name->ip) ? "its keys fail" : "it keeps the address it had");
}

static void
report(struct fleet *f, const struct front_step *step)
{
	const bool fails = f->names.name[step->server].last != FRONT_LOOKUP_FOUND;

	if (step->changed)
		say_moved(f, step->server);
	if (fails && !f->failing[step->server])
		say_failing(f, step->server);
	f->failing[step->server] = fails;
}

static bool
all_have_addresses(const struct front_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (ip_addr_is_zero(&names->name[i].ip))
			return false;
	return true;
}

/* Keeps earlier lookups of names that the new list has, too. */
static void
names_take(struct fleet *f)
{
	static const struct front_name none;

	f->names_before = f->names;
	front_names_init(&f->names, &f->hosts);
	for (uint32_t i = 0; i < f->hosts.count; i++) {
		const struct front_name *was = &none;

		for (uint32_t k = 0; k < f->names_before.count; k++)
			if (strcmp(f->looked.host[k].host, f->hosts.host[i].host) == 0)
				was = &f->names_before.name[k];
		if (was != &none)
			f->names.name[i] = *was;
	}
	f->looked = f->hosts;
	memset(f->failing, 0, sizeof f->failing);
	f->list_had = f->list;
}

bool
fleet_pass(struct fleet *f, front_lookup_fn *lookup, void *arg)
{
	struct front_step step;

	pthread_mutex_lock(&f->lock);
	if (f->list != f->list_had)
		names_take(f);
	pthread_mutex_unlock(&f->lock);
	do {
		step = front_names_step(&f->names, &f->looked, lookup, arg);
		if (step.none_left)
			break;
		report(f, &step);
		pthread_mutex_lock(&f->lock);
		if (!ip_addr_is_zero(&f->names.name[step.server].ip))
			front_control_located(&f->control, f->looked.host[step.server].host,
					      &f->names.name[step.server].ip);
		pthread_mutex_unlock(&f->lock);
	} while (!step.last);
	pthread_mutex_lock(&f->lock);
	f->passes++;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	return all_have_addresses(&f->names);
}

static struct timespec
seconds_from_now(uint32_t seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += seconds;
	return t;
}

static bool
has_server_down(const struct fleet *f)
{
	for (uint32_t i = 0; i < f->exchange->room; i++)
		if (f->control.place[i].health == FRONT_HEALTH_DOWN ||
		    f->control.place[i].health == FRONT_HEALTH_AWAY)
			return true;
	return false;
}

/* Waits FLEET_PAUSE_S, then until a server fails or the next round of lookups is due. Ends at once
 * when the list of servers changes. */
static void
wait_for_next(struct fleet *f, bool all_found)
{
	const struct timespec soon = seconds_from_now(FLEET_PAUSE_S),
			      retry = seconds_from_now(FLEET_RETRY_S),
			      late = seconds_from_now(FLEET_LOOKUP_S);
	const struct timespec *until;
	uint32_t failed;

	pthread_mutex_lock(&f->lock);
	failed = f->failed;
	while (f->list == f->list_had && pthread_cond_timedwait(&f->changed, &f->lock, &soon) == 0)
		;
	do {
		until = all_found && !has_server_down(f) ? &late : &retry;
	} while (f->list == f->list_had && f->failed == failed &&
		 pthread_cond_timedwait(&f->changed, &f->lock, until) == 0);
	pthread_mutex_unlock(&f->lock);
}

static void *
run(void *arg)
{
	struct fleet *f = arg;

	for (;;)
		wait_for_next(f, fleet_pass(f, front_lookup_system, &f->ipv6));
	return NULL;
}

static bool
has_names(const struct front_servers *hosts)
{
	struct ip_addr ip;

	for (uint32_t i = 0; i < hosts->count; i++)
		if (!front_host_address(hosts->host[i].host, &ip))
			return true;
	return false;
}

bool
fleet_start(struct fleet *f, struct error *err)
{
	pthread_t thread;
	int rc;

	if (f->runs || !has_names(&f->hosts))
		return true;
	rc = pthread_create(&thread, NULL, run, f);
	if (rc != 0)
		return error_set(err, "cannot start the thread that looks names up: %s",
				 strerror(rc));
	pthread_detach(thread);
	f->runs = true;
	return true;
}

/* Publishes the addresses. No core runs yet, so none has an open request to a former address. */
static void
publish_addresses(struct fleet *f)
{
	for (uint32_t core = 0; core < f->exchange->cores; core++)
		front_exchange_settled_mt(f->exchange, core, front_exchange_turn_mt(f->exchange));
	front_control_step(&f->control, 0);
}

void
fleet_wait(struct fleet *f, uint32_t seconds)
{
	const struct timespec until = seconds_from_now(seconds);

	pthread_mutex_lock(&f->lock);
	while (f->runs && f->passes == 0 &&
	       pthread_cond_timedwait(&f->changed, &f->lock, &until) == 0)
		;
	if (f->runs && f->passes == 0)
		fprintf(stderr,
			"clockoo: front.servers: names are still looked up: keys of servers "
			"without an address fail until then\n");
	publish_addresses(f);
	pthread_mutex_unlock(&f->lock);
}

/* ---- the control thread ---- */

/* Reports that a reload is refused: the former servers stay. The caller holds the lock. */
static void
reload_refused(void *arg, const struct front_host *host)
{
	struct fleet *f = arg;
	const struct fleet_spec *stays = f->spec;

	fprintf(stderr,
		"clockoo: front.servers: reload: %s has no address: the %u server%s of before "
		"stay%s; mend the name and reload again\n",
		host->host, stays->config.servers.count,
		stays->config.servers.count == 1 ? "" : "s",
		stays->config.servers.count == 1 ? "s" : "");
	f->gone = f->next;
	f->next = NULL;
	hosts_set(f, &stays->config);
}

static void
next_takes_over(struct fleet *f)
{
	struct fleet_spec *was = f->spec;

	f->spec = f->next;
	f->next = NULL;
	fleet_spec_free(was);
	fprintf(stderr, "clockoo: front.servers: %u server%s now\n", f->spec->config.servers.count,
		f->spec->config.servers.count == 1 ? "" : "s");
}

/* Steps several times in one tick, since keys that move fail until the reload has ended. The caller
 * holds the lock. */
static void
steps_while_refused(struct fleet *f, uint64_t now_ns)
{
	const struct timespec pause = {.tv_nsec = REFUSED_STEP_NS};

	for (uint32_t i = 0; i < REFUSED_STEPS && front_control_refuses(&f->control); i++) {
		nanosleep(&pause, NULL);
		front_control_step(&f->control, now_ns);
	}
}

void
fleet_tick(struct fleet *f, uint64_t now_ns)
{
	pthread_mutex_lock(&f->lock);
	front_control_step(&f->control, now_ns);
	steps_while_refused(f, now_ns);
	fleet_spec_free(f->gone);
	f->gone = NULL;
	if (f->next != NULL && front_control_config(&f->control) == &f->next->config)
		next_takes_over(f);
	pthread_mutex_unlock(&f->lock);
}

/* Copies every setting but the servers: only the servers change without a restart. */
static void
keep_the_rest(struct front_config *config, const struct front_config *now)
{
	config->shared = now->shared;
	config->items = now->items;
	config->ttl_ns = now->ttl_ns;
	config->distribution = now->distribution;
	config->hash = now->hash;
	config->given_order = now->given_order;
	memcpy(config->tag, now->tag, sizeof config->tag);
	memcpy(config->skip, now->skip, sizeof config->skip);
	config->server_connections = now->server_connections;
	config->server_failure_limit = now->server_failure_limit;
	config->server_retry_timeout_ns = now->server_retry_timeout_ns;
	config->auto_eject_hosts = now->auto_eject_hosts;
	config->gutter_ttl_s = now->gutter_ttl_s;
	config->reload_flushes = now->reload_flushes;
	config->warm_ns = now->warm_ns;
}

bool
fleet_reload(struct fleet *f, struct fleet_spec *spec, uint64_t now_ns, struct error *err)
{
	struct error why;
	bool done;

	if (has_kernel_servers(spec) && !f->by_kernel)
		return error_set(err, "--front-servers: the first server through the kernel "
				      "needs a restart");
	keep_the_rest(&spec->config, &f->spec->config);
	pthread_mutex_lock(&f->lock);
	done = front_control_reload(&f->control, &spec->config, now_ns, err);
	if (done) {
		f->next = spec;
		hosts_set(f, &spec->config);
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
	if (done && !fleet_start(f, &why))
		fprintf(stderr, "clockoo: front.servers: %s\n", why.text);
	return done;
}

bool
fleet_login(struct fleet *f, const struct fleet_spec *spec)
{
	struct front_login *now = &f->spec->config.login;

	if (strcmp(now->line, spec->config.login.line) == 0)
		return false;
	pthread_mutex_lock(&f->lock);
	*now = spec->config.login;
	if (f->next != NULL)
		f->next->config.login = *now;
	front_control_login(&f->control, now);
	pthread_mutex_unlock(&f->lock);
	return true;
}

bool
fleet_has(const struct fleet *f, const struct fleet_spec *spec)
{
	const struct front_config *now = f->next != NULL ? &f->next->config : &f->spec->config;

	return front_servers_same(&now->servers, &spec->config.servers) &&
	       front_servers_same(&now->gutter, &spec->config.gutter);
}

bool
fleet_prepare(struct fleet **fleet, const struct config *cfg, struct error *err)
{
	if (!fleet_begin(fleet, cfg, err))
		return false;
	if (*fleet == NULL)
		return true;
	if ((*fleet)->shared.versions != NULL && !(*fleet)->spec->config.shared)
		fprintf(stderr,
			"clockoo: front.items: copies are right if all writes come through this "
			"front; none is kept for the first %u s of a server that does not list its "
			"connections, or lists one of an earlier process\n",
			FRONT_QUIET_S);
	if (auth_file_is_open(cfg->front.login))
		fprintf(stderr, "clockoo: " AUTH_FILE_OPEN_FORMAT "\n", "front.login",
			cfg->front.login);
	if (!fleet_start(*fleet, err))
		return false;
	fleet_wait(*fleet, FLEET_FIRST_S);
	return true;
}
