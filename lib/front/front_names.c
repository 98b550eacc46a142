/*
 * front_names.c - looks up the address of one server's name at a time; getaddrinfo(3) is one such
 * lookup.
 */
#include "front_names.h"

#include <arpa/inet.h>
#include <netdb.h>

bool
front_host_address(const char *host, struct ip_addr *ip)
{
	struct be32 v4;

	if (host[0] == '/') {
		*ip = ip_addr_v4(INADDR_LOOPBACK);
		return true;
	}
	if (inet_pton(AF_INET, host, &v4) == 1) {
		*ip = ip_addr_v4(be32_get(v4));
		return true;
	}
	return inet_pton(AF_INET6, host, ip->b) == 1;
}

void
front_names_init(struct front_names *names, const struct front_servers *servers)
{
	names->count = servers->count;
	names->next = 0;
	for (uint32_t i = 0; i < servers->count; i++) {
		struct front_name *name = &names->name[i];

		*name = (struct front_name){.last = FRONT_LOOKUP_FAILED};
		name->numeric = front_host_address(servers->host[i].host, &name->ip);
		if (name->numeric)
			name->last = FRONT_LOOKUP_FOUND;
	}
}

static bool
has(const struct front_answers *answers, const struct ip_addr *ip)
{
	for (uint32_t i = 0; i < answers->count; i++)
		if (ip_addr_equal(&answers->ip[i], ip))
			return true;
	return false;
}

static bool
look_up(struct front_name *name, const char *host, front_lookup_fn *lookup, void *arg)
{
	struct front_answers answers = {0};

	name->last = lookup(arg, host, &answers);
	if (name->last != FRONT_LOOKUP_FOUND || has(&answers, &name->ip))
		return false;
	name->ip = answers.ip[0];
	return true;
}

/* Returns the next server, from index at on, that has a name; count: there is none. */
static uint32_t
next_name(const struct front_names *names, uint32_t at)
{
	while (at < names->count && names->name[at].numeric)
		at++;
	return at;
}

struct front_step
front_names_step(struct front_names *names, const struct front_servers *servers,
		 front_lookup_fn *lookup, void *arg)
{
	struct front_step step = {.server = next_name(names, names->next)};

	if (step.server == names->count)
		return (struct front_step){.last = true, .none_left = true};
	step.changed =
		look_up(&names->name[step.server], servers->host[step.server].host, lookup, arg);
	names->next = next_name(names, step.server + 1);
	step.last = names->next == names->count;
	if (step.last)
		names->next = next_name(names, 0);
	return step;
}

static void
add_answer(struct front_answers *answers, const struct addrinfo *info)
{
	struct ip_addr *to = &answers->ip[answers->count];

	if (answers->count == FRONT_ANSWERS_MAX)
		return;
	if (info->ai_family == AF_INET) {
		struct be32 v4;

		memcpy(&v4, &((const struct sockaddr_in *)(const void *)info->ai_addr)->sin_addr,
		       sizeof v4);
		*to = ip_addr_v4(be32_get(v4));
	} else {
		memcpy(to->b,
		       &((const struct sockaddr_in6 *)(const void *)info->ai_addr)->sin6_addr,
		       sizeof to->b);
	}
	answers->count++;
}

static void
add_family(struct front_answers *answers, const struct addrinfo *all, int family)
{
	for (const struct addrinfo *info = all; info != NULL; info = info->ai_next)
		if (info->ai_family == family)
			add_answer(answers, info);
}

enum front_lookup
front_lookup_system(void *arg, const char *host, struct front_answers *answers)
{
	const bool *ipv6 = arg;
	const struct addrinfo hints = {.ai_family = *ipv6 ? AF_UNSPEC : AF_INET,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *all;
	const int rc = getaddrinfo(host, NULL, &hints, &all);

	if (rc == 0) {
		add_family(answers, all, AF_INET);
		add_family(answers, all, AF_INET6);
		freeaddrinfo(all);
		return answers->count != 0 ? FRONT_LOOKUP_FOUND : FRONT_LOOKUP_NO_NAME;
	}
	return rc == EAI_NONAME || rc == EAI_NODATA || rc == EAI_ADDRFAMILY ? FRONT_LOOKUP_NO_NAME
									    : FRONT_LOOKUP_FAILED;
}
