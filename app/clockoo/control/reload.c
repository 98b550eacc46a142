/*
 * reload.c - reads configuration and users again; applies each changed key, or reports that it
 * needs a restart.
 */
#include "reload.h"
#include "base/time_units.h"
#include "control.h"
#include "net/neigh_table.h"
#include "start/policy.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* A reload in progress. */
struct report {
	const char *file;
	bool named;   /* a line named some key */
	bool servers; /* the fleet takes a new list of servers: their keys need no restart */
};

static bool
is_servers(const char *option)
{
	return strcmp(option, "front-servers") == 0 || strcmp(option, "front-gutter") == 0 ||
	       strcmp(option, "front-login") == 0;
}

static void
report_key(void *arg, const char *option, const char *key, const char *value)
{
	struct report *r = arg;

	r->named = true;
	if (policy_may_change(option) || (r->servers && is_servers(option)))
		fprintf(stderr, "clockoo: reload: %s: %s is %s now\n", r->file, key, value);
	else
		fprintf(stderr, "clockoo: reload: %s: %s changes only after a restart\n", r->file,
			key);
}

/* Adds the keys that the file sets now to those set since the start. Both are compared, since a key
 * that was removed from the file has changed, too. */
static void
merge_lines(struct config_source *all, const struct config_source *src)
{
	for (uint32_t i = 0; i < CONFIG_ROWS_MAX; i++)
		if (all->line[i] == 0)
			all->line[i] = src->line[i];
}

/* Gives the fleet its new login. Called even if no key has changed, since the login file may
 * have. */
static void
reload_login(struct report *r, struct control *c, const struct config *now,
	     const struct fleet_spec *spec)
{
	struct config *const both[] = {&c->settings->asked, &c->settings->config};

	if (c->fleet == NULL || spec == NULL)
		return;
	for (uint32_t i = 0; i < sizeof both / sizeof both[0]; i++)
		memcpy(both[i]->front.login, now->front.login, sizeof now->front.login);
	if (!fleet_login(c->fleet, spec))
		return;
	r->named = true;
	fprintf(stderr, "clockoo: reload: front.login: new connections to servers %s now\n",
		spec->config.login.line[0] != '\0' ? "begin with this login"
						   : "begin without a login");
}

/* Gives the fleet its new list of servers. Called even if no key has changed, since the file of
 * servers may have. */
static void
reload_servers(struct report *r, struct control *c, const struct config *now,
	       struct fleet_spec *spec)
{
	struct config *const both[] = {&c->settings->asked, &c->settings->config};
	struct error err;

	if (c->fleet == NULL || spec == NULL || fleet_has(c->fleet, spec)) {
		fleet_spec_free(spec);
		return;
	}
	r->named = true;
	if (!fleet_reload(c->fleet, spec, clock_ns(CLOCK_MONOTONIC), &err)) {
		fprintf(stderr, "clockoo: reload: %s: %s; the servers are those of before\n",
			r->file, err.text);
		fleet_spec_free(spec);
		return;
	}
	fprintf(stderr, "clockoo: reload: %s: front.servers: %u servers take over\n", r->file,
		spec->config.servers.count);
	for (uint32_t i = 0; i < sizeof both / sizeof both[0]; i++) {
		memcpy(both[i]->front.servers, now->front.servers, sizeof now->front.servers);
		memcpy(both[i]->front.gutter, now->front.gutter, sizeof now->front.gutter);
	}
}

/* Gives the cores new lists of networks. Called even if no key has changed, since the lists' files
 * may have. */
static void
reload_access(struct report *r, struct control *c, struct access_lists *lists)
{
	char words[ACCESS_WORDS_BYTES];

	access_lists_words(lists, words);
	if (!access_change(c->access, lists))
		return;
	r->named = true;
	fprintf(stderr, "clockoo: reload: %s: network.allow and network.deny: %s\n", r->file,
		words);
}

/* Reads addresses and routes. --address, the VLAN of all frames and the MTU keep the values of the
 * start. */
static bool
read_addresses(const struct control *c, struct addr_list *list, const struct config *now,
	       struct error *err)
{
	struct config cfg = c->settings->asked;

	memcpy(cfg.addresses, now->addresses, sizeof cfg.addresses);
	memcpy(cfg.routes, now->routes, sizeof cfg.routes);
	if (cfg.gateway6_auto)
		cfg.gateway6 = c->router6;
	return addr_list_read(list, &cfg, err);
}

/* Gives the cores new addresses. Called even if no key has changed, since their files may have. */
static void
reload_addresses(struct report *r, struct control *c, struct addr_list *list)
{
	char words[OWN_ADDRS_WORDS_BYTES];

	own_addrs_words(list, words);
	if (!own_addrs_change(c->own, list))
		return;
	r->named = true;
	fprintf(stderr, "clockoo: reload: %s: network.addresses and network.routes: %s\n", r->file,
		words);
}

void
follow_router(struct control *c)
{
	const struct config *asked = &c->settings->asked;
	char text[INET6_ADDRSTRLEN];
	struct addr_list list;
	struct error err;

	if (!asked->gateway6_auto || !own_addrs_is_applied(c->own) ||
	    !router_list_choose_mt(neigh_routers(c->neigh), process_now_ns(c->process),
				   &c->router6))
		return;
	if (!read_addresses(c, &list, asked, &err)) {
		fprintf(stderr, "clockoo: --gateway6 auto: %s; the routes are unchanged\n",
			err.text);
		return;
	}
	(void)own_addrs_change(c->own, &list);
	inet_ntop(AF_INET6, c->router6.b, text, sizeof text);
	fprintf(stderr, "clockoo: --gateway6 auto: the default router is %s now\n",
		ip_addr_is_zero(&c->router6) ? "none" : text);
}

static void
reload_config(struct control *c)
{
	/* The path is absolute, since -d changes the directory after the start. */
	struct config_source src = {.again = c->settings->path};
	struct report report = {.file = src.file};
	struct access_lists access = {0};
	struct addr_list addrs = {0};
	struct fleet_spec *spec;
	struct config now;
	struct error err;

	if (config_parse(&now, &src, c->settings->argc, c->settings->argv, &err) != CONFIG_RUN ||
	    !access_lists_read(&access, &now, &err) || !read_addresses(c, &addrs, &now, &err) ||
	    !fleet_spec_read(&spec, &now, &err)) {
		access_lists_free(&access);
		addr_list_free(&addrs);
		config_error_locate(&src, &err);
		fprintf(stderr, "clockoo: reload: %s; the configuration is unchanged\n", err.text);
		return;
	}
	report.servers = c->fleet != NULL && spec != NULL;
	config_differ(&(struct config_loaded){&c->settings->asked, &c->settings->source},
		      &(struct config_loaded){&now, &src}, report_key, &report);
	reload_login(&report, c, &now, spec);
	reload_servers(&report, c, &now, spec);
	reload_access(&report, c, &access);
	reload_addresses(&report, c, &addrs);
	if (!report.named)
		fprintf(stderr, "clockoo: reload: %s: nothing changed\n", src.file);
	merge_lines(&c->settings->source, &src);
	policy_change(c->shared, &c->settings->asked, &c->settings->config, &now);
	second_tier_change(c->flash, &c->settings->config.flash);
}

/* Reads the file of servers again. Without a configuration file --front-servers may still name
 * one. */
static void
reload_servers_file(struct control *c)
{
	const struct config asked = c->settings->asked;
	struct report report = {.file = asked.front.servers};
	struct fleet_spec *spec;
	struct error err;

	if (!fleet_spec_read(&spec, &asked, &err)) {
		fprintf(stderr, "clockoo: reload: %s; the servers are those of before\n", err.text);
		return;
	}
	reload_login(&report, c, &asked, spec);
	reload_servers(&report, c, &asked, spec);
}

/* Reads the files of networks again, without a configuration file. */
static void
reload_access_files(struct control *c)
{
	struct report report = {.file = "command line"};
	struct access_lists lists;
	struct error err;

	if (!access_lists_read(&lists, &c->settings->asked, &err))
		fprintf(stderr, "clockoo: reload: %s; who is let in is unchanged\n", err.text);
	else
		reload_access(&report, c, &lists);
}

/* Reads the files of addresses and routes again, without a configuration file. */
static void
reload_address_files(struct control *c)
{
	struct report report = {.file = "command line"};
	struct addr_list list;
	struct error err;

	if (!addr_list_read(&list, &c->settings->asked, &err))
		fprintf(stderr, "clockoo: reload: %s; the addresses are unchanged\n", err.text);
	else
		reload_addresses(&report, c, &list);
}

void
reload_certs(struct control *c)
{
	const uint32_t asked = serve_certs_asked_mt(c->shared);
	const struct config *cfg = &c->settings->config;
	const bool issuers = c->tls_servers == NULL || tls_servers_reload(c->tls_servers, cfg);
	const bool taken = tls_cores_reload(c->tls, cfg) && issuers;

	serve_certs_read_mt(c->shared, asked, taken, process_now_ns(c->process));
}

void
reload_all(struct control *c)
{
	const struct config *asked = &c->settings->asked;
	const bool has_access = asked->allow[0] != '\0' || asked->deny[0] != '\0';
	const bool has_addresses = asked->addresses[0] != '\0' || asked->routes[0] != '\0';

	if (c->settings->source.file[0] == '\0' && has_access)
		reload_access_files(c);
	if (c->settings->source.file[0] == '\0' && has_addresses)
		reload_address_files(c);
	if (c->settings->source.file[0] != '\0')
		reload_config(c);
	else if (c->fleet != NULL)
		reload_servers_file(c);
	else if (c->users->path[0] == '\0' && !has_access && !has_addresses && c->tls == NULL)
		fprintf(stderr, "clockoo: reload: there is no configuration file to reload\n");
	users_reload(c->users);
	if (c->tls != NULL)
		reload_certs(c);
	else if (c->tls_servers != NULL)
		tls_servers_reload(c->tls_servers, &c->settings->config);
}
