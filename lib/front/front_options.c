/*
 * front_options.c - converts options: words to enums, times to nanoseconds, a list or file to
 * servers.
 */
#include "front_options.h"

#include "front_names.h"
#include "front_servers.h"
#include "config/auth_file.h"
#include "copies/admission.h"
#include "backend/backend.h"
#include "base/time_units.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define MS_PER_S 1000u

static_assert(CONFIG_FRONT_FNV1A_64 == FRONT_HASH_FNV1A_64, "the rows of options name the hashes");
static_assert(CONFIG_FRONT_CONNECTIONS_MAX == FRONT_CONNECTIONS_MAX, "likewise");
static_assert(FRONT_LANES_MAX == BACKEND_LANES_MAX, "a connection is a lane");
static_assert(CONFIG_FRONT_ITEMS_MAX == ADMISSION_ITEMS_MAX &&
		      CONFIG_FRONT_ITEMS_AUTO == FRONT_ITEMS_AUTO &&
		      CONFIG_FRONT_ITEMS_MEMORY == FRONT_ITEMS_MEMORY,
	      "likewise");
static_assert(CONFIG_SKIP_BYTES == FRONT_SKIP_BYTES, "the longest prefix is the ring's");

static bool
read_servers(struct front_servers *servers, const char *value, struct error *err)
{
	return value[0] == '/' ? front_servers_load(servers, value, err)
			       : front_servers_read(servers, value, err);
}

/* Reads the servers of the gutter; an error names the gutter's option. */
static bool
read_gutter(struct front_servers *servers, const char *value, struct error *err)
{
	static const char of_servers[] = "--front-servers";
	struct error why;

	if (value[0] == '\0' || read_servers(servers, value, &why))
		return true;
	return error_set(err, "--front-gutter%s",
			 strncmp(why.text, of_servers, sizeof of_servers - 1) == 0
				 ? why.text + sizeof of_servers - 1
				 : why.text);
}

/* Parses ADDRESS:PORT, as in lists of servers. False: text has another form. */
static bool
read_peer(struct peer_address *peer, const char *text, size_t len)
{
	char host[INET6_ADDRSTRLEN + sizeof ":65535"];
	unsigned long port;
	char *colon, *end;

	if (len >= sizeof host)
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	colon = strrchr(host, ':');
	if (colon == NULL || !isdigit((unsigned char)colon[1]))
		return false;
	*colon = '\0';
	port = strtoul(colon + 1, &end, 10);
	peer->port = (uint16_t)port;
	if (*end != '\0' || port == 0 || port > UINT16_MAX || !front_host_address(host, &peer->ip))
		return false;
	return ip_addr_is_v4(&peer->ip) ? ip_addr_v4_get(&peer->ip) != 0
					: !ip_addr_is_zero(&peer->ip);
}

static bool
read_peers(struct peers_list *peers, const char *value, struct error *err)
{
	for (const char *at = value; *at != '\0';) {
		const size_t len = strcspn(at, ",");

		if (peers->count == PEERS_MAX)
			return error_set(err, "--front-peers: more than %u fronts", PEERS_MAX);
		if (!read_peer(&peers->address[peers->count], at, len))
			return error_set(err,
					 "--front-peers: \"%.*s\": expected a front's address and "
					 "UDP port, such as 10.0.0.2:11211 or 2001:db8::2:11211",
					 (int)(len < 60 ? len : 60), at);
		peers->count++;
		at += len + (at[len] == ',');
	}
	return true;
}

static_assert(sizeof FRONT_LOGIN_FORMAT + AUTH_USER_BYTES <= FRONT_LOGIN_BYTES,
	      "a login of any length fits");

static bool
read_login(struct front_login *login, const char *path, struct error *err)
{
	struct auth_user user;

	if (path[0] == '\0')
		return true;
	if (!auth_file_load_login(&user, path, err))
		return false;
	snprintf(login->line, sizeof login->line, FRONT_LOGIN_FORMAT,
		 user.name_len + 1u + user.word_len, user.name_len, (const char *)user.bytes,
		 user.word_len, (const char *)user.bytes + user.name_len);
	return true;
}

/* Checks that other fronts must be notified at all: not without copies, nor with copies that no
 * other front can make stale. */
static bool
peers_make_sense(const struct front_config *front, struct error *err)
{
	if (front->peers.count == 0 || (front->shared && front->items != 0))
		return true;
	return error_set(err,
			 "--front-peers with --front-%s: fronts tell each other whose copies "
			 "are not right any more; leave it out",
			 front->shared ? "items 0" : "mode sole");
}

/* Checks what hand-overs need: every write passes this front, and servers report when items
 * expire. */
static bool
warm_is_right(const struct front_config *front, struct error *err)
{
	if (front->warm_ns != 0 && front->shared)
		return error_set(err,
				 "--front-warm with --front-mode shared: a former server may have "
				 "an old value of a key that another client has written since; "
				 "leave it out");
	return front->warm_ns == 0 || front->protocol != FRONT_PROTOCOL_TEXT ||
	       error_set(err, "--front-warm with --front-protocol text: its servers do not "
			      "report when an item expires; leave it out");
}

static bool
connections_fit(const struct front_config *front, struct error *err)
{
	const uint32_t servers = front->servers.count + front->gutter.count;

	return servers * front->server_connections <= FRONT_LANES_MAX ||
	       error_set(err,
			 "--front-server-connections: %u to each of %u servers: %u of a worker; at "
			 "most %u",
			 front->server_connections, servers, front->server_connections * servers,
			 FRONT_LANES_MAX);
}

/* Returns the number of keys that may have copies. In sole mode copies are right only if all writes
 * pass this front, so the operator must ask for them. */
static uint32_t
items_of(const struct config_front *options)
{
	if (options->items != CONFIG_FRONT_ITEMS_BY_MODE)
		return options->items;
	return options->mode == 0 ? FRONT_ITEMS_AUTO : 0;
}

bool
front_options_read(struct front_config *front, const struct config *options, struct error *err)
{
	const struct config_front *o = &options->front;

	memset(front, 0, sizeof *front); /* clears fields without an option, too */
	front->hash = (enum front_hash)o->hash;
	front->distribution = (enum front_distribution)o->distribution;
	front->given_order = o->order != 0;
	memcpy(front->tag, o->hash_tag, sizeof front->tag);
	memcpy(front->skip, o->hash_skip, sizeof front->skip);
	front->protocol = (enum front_protocol)o->protocol;
	front->server_connections = o->server_connections;
	front->timeout_ns = o->timeout_ms * NS_PER_MS;
	front->connect_timeout_ns = o->connect_timeout_ms * NS_PER_MS;
	front->server_failure_limit = o->server_failure_limit;
	front->server_retry_timeout_ns = o->server_retry_timeout_ms * NS_PER_MS;
	front->misses_on_failure = o->on_failure == 0;
	front->shared = o->mode == 0;
	front->items = items_of(o);
	front->ttl_ns = o->ttl_ms * NS_PER_MS;
	front->auto_eject_hosts = o->auto_eject_hosts;
	front->gutter_ttl_s = (o->gutter_ttl_ms + MS_PER_S - 1) / MS_PER_S;
	front->reload_flushes = o->reload != 0;
	front->warm_ns = o->warm_ms * NS_PER_MS;
	return read_servers(&front->servers, o->servers, err) &&
	       read_gutter(&front->gutter, o->gutter, err) &&
	       read_peers(&front->peers, o->peers, err) && peers_make_sense(front, err) &&
	       read_login(&front->login, o->login, err) && warm_is_right(front, err) &&
	       connections_fit(front, err);
}
