/*
 * access.c - lists of networks become a table, on the heap: a reload may bring a longer list
 * than the start had.
 */
#include "access.h"
#include "config/net_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads both lists into the same array, one after the other. */
static bool
read_lists(struct access_look *look, struct config_net *nets, const struct config *cfg,
	   struct error *err)
{
	struct net_list list = {.nets = nets, .max = ACCESS_NETS_MAX};

	if (!net_list_load(&list, "allow", cfg->allow, err))
		return false;
	look->allowed = list.count;
	if (!net_list_load(&list, "deny", cfg->deny, err))
		return false;
	look->count = list.count;
	look->nets = calloc(look->count + 1, sizeof look->nets[0]);
	if (look->nets == NULL)
		return error_set(err, "--deny: no memory for %u networks", look->count);
	for (uint32_t i = 0; i < look->count; i++) {
		look->nets[i].ip = nets[i].ip;
		look->nets[i].prefix_len = (uint8_t)nets[i].prefix_len;
		look->nets[i].allow = i < look->allowed;
	}
	return true;
}

/* A network that occurs twice in one list counts once; one that occurs in both lists is an error.
 */
static bool
unite(struct access_look *look, struct error *err)
{
	char ip[IP_ADDR_TEXT_MAX + 1];
	uint32_t kept = 0;

	access_nets_sort(look->nets, look->count);
	for (uint32_t i = 0; i < look->count; i++) {
		const struct access_net *net = &look->nets[i];
		const struct access_net *last = &look->nets[kept != 0 ? kept - 1 : 0];
		const uint32_t below = ip_addr_is_v4(&net->ip) ? IP_ADDR_V4_BITS : 0;

		if (kept == 0 || last->prefix_len != net->prefix_len ||
		    !ip_addr_equal(&last->ip, &net->ip)) {
			look->nets[kept++] = *net;
			continue;
		}
		*ip_addr_text(ip, &net->ip) = '\0';
		if (last->allow != net->allow)
			return error_set(err,
					 "--deny: %s/%u is in --allow, too; leave it out of one "
					 "of them",
					 ip, net->prefix_len - below);
		look->allowed -= net->allow;
	}
	look->count = kept;
	return true;
}

static bool
make_list(struct access_look *look, struct error *err)
{
	struct region region = {.size = access_list_bytes(look->nets, look->count)};

	if (look->count == 0)
		return true;
	look->memory = malloc(region.size);
	if (look->memory == NULL)
		return error_set(err, "--deny: no memory for a table of %zu KB", region.size >> 10);
	region.base = look->memory;
	look->list = access_list_make(&region, look->nets, look->count);
	return true;
}

bool
access_look_make(struct access_look *look, const struct config *cfg, struct error *err)
{
	struct config_net *nets;
	bool ok;

	*look = (struct access_look){0};
	if (cfg->allow[0] == '\0' && cfg->deny[0] == '\0')
		return true;
	nets = malloc(ACCESS_NETS_MAX * sizeof nets[0]);
	if (nets == NULL)
		return error_set(err, "--deny: no memory to read it");
	ok = read_lists(look, nets, cfg, err) && unite(look, err) && make_list(look, err);
	free(nets);
	if (!ok)
		access_look_free(look);
	return ok;
}

void
access_look_free(struct access_look *look)
{
	free(look->nets);
	free(look->memory);
	*look = (struct access_look){0};
}

void
access_look_words(const struct access_look *look, char words[ACCESS_WORDS_BYTES])
{
	if (look->list == NULL)
		snprintf(words, ACCESS_WORDS_BYTES, "everybody is let in");
	else
		snprintf(words, ACCESS_WORDS_BYTES,
			 "%u network%s allowed, %u denied, a table of %zu KB", look->allowed,
			 look->allowed == 1 ? "" : "s", look->count - look->allowed,
			 look->list->bytes >> 10);
}

bool
access_begin(struct access *a, const struct config *cfg, struct error *err)
{
	return access_look_make(&a->now, cfg, err);
}

static bool
same_nets(const struct access_look *a, const struct access_look *b)
{
	for (uint32_t i = 0; a->count == b->count && i < a->count; i++)
		if (!ip_addr_equal(&a->nets[i].ip, &b->nets[i].ip) ||
		    a->nets[i].prefix_len != b->nets[i].prefix_len ||
		    a->nets[i].allow != b->nets[i].allow)
			return false;
	return a->count == b->count;
}

bool
access_change(struct access *a, struct access_look *look)
{
	if (same_nets(look, a->pending ? &a->next : &a->now)) {
		access_look_free(look);
		return false;
	}
	access_look_free(&a->next);
	a->next = *look;
	a->pending = true;
	return true;
}

void
access_apply(struct access *a, struct serve_shared *shared)
{
	if (access_is_applied(a) || !serve_settled_mt(shared))
		return;
	access_look_free(&a->last);
	a->going_over = false;
	if (!a->pending || !serve_access_replace_mt(shared, a->next.list))
		return;
	a->last = a->now;
	a->now = a->next;
	a->next = (struct access_look){0};
	a->pending = false;
	a->going_over = true;
}

bool
access_is_applied(const struct access *a)
{
	return !a->pending && !a->going_over;
}

void
access_end(struct access *a)
{
	access_look_free(&a->now);
	access_look_free(&a->next);
	access_look_free(&a->last);
}
