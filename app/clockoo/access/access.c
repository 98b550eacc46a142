/*
 * access.c - makes a table of two lists of networks. The table is on the heap, since a reload may
 * bring a longer list than the start had.
 */
#include "access.h"
#include "config/net_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads both lists into one array: those of network.allow first. */
static bool
read_lists(struct access_lists *lists, struct config_net *nets, const struct config *cfg,
	   struct error *err)
{
	struct net_list list = {.nets = nets, .max = ACCESS_NETS_MAX};

	if (!net_list_load(&list, "allow", cfg->allow, err))
		return false;
	/* A file that is being written, or was cut, must not open the cache to everybody. */
	if (cfg->allow[0] != '\0' && list.count == 0)
		return error_set(err,
				 "--allow: %s: no network in it; leave it out to let everybody in",
				 cfg->allow[0] == '/' ? cfg->allow : "the list");
	lists->allowed = list.count;
	if (!net_list_load(&list, "deny", cfg->deny, err))
		return false;
	lists->count = list.count;
	lists->nets = calloc(lists->count + 1, sizeof lists->nets[0]);
	if (lists->nets == NULL)
		return error_set(err, "--deny: no memory for %u networks", lists->count);
	for (uint32_t i = 0; i < lists->count; i++) {
		lists->nets[i].ip = nets[i].ip;
		lists->nets[i].prefix_len = (uint8_t)nets[i].prefix_len;
		lists->nets[i].allow = i < lists->allowed;
	}
	return true;
}

/* Merges equal networks of one list. Fails if a network is in both lists. */
static bool
unite(struct access_lists *lists, struct error *err)
{
	char ip[IP_ADDR_TEXT_MAX + 1];
	uint32_t kept = 0;

	access_nets_sort(lists->nets, lists->count);
	for (uint32_t i = 0; i < lists->count; i++) {
		const struct access_net *net = &lists->nets[i];
		const struct access_net *last = &lists->nets[kept != 0 ? kept - 1 : 0];
		const uint32_t below = ip_addr_is_v4(&net->ip) ? IP_ADDR_V4_BITS : 0;

		if (kept == 0 || last->prefix_len != net->prefix_len ||
		    !ip_addr_equal(&last->ip, &net->ip)) {
			lists->nets[kept++] = *net;
			continue;
		}
		*ip_addr_text(ip, &net->ip) = '\0';
		if (last->allow != net->allow)
			return error_set(err,
					 "--deny: %s/%u is in --allow, too; leave it out of one "
					 "of them",
					 ip, net->prefix_len - below);
		lists->allowed -= net->allow;
	}
	lists->count = kept;
	return true;
}

static bool
make_list(struct access_lists *lists, struct error *err)
{
	struct region region = {.size = access_list_bytes(lists->nets, lists->count)};

	if (lists->count == 0)
		return true;
	lists->memory = malloc(region.size);
	if (lists->memory == NULL)
		return error_set(err, "--deny: no memory for a table of %zu KB", region.size >> 10);
	region.base = lists->memory;
	lists->list = access_list_make(&region, lists->nets, lists->count);
	return true;
}

bool
access_lists_read(struct access_lists *lists, const struct config *cfg, struct error *err)
{
	struct config_net *nets;
	bool ok;

	*lists = (struct access_lists){0};
	if (cfg->allow[0] == '\0' && cfg->deny[0] == '\0')
		return true;
	nets = malloc(ACCESS_NETS_MAX * sizeof nets[0]);
	if (nets == NULL)
		return error_set(err, "--deny: no memory to read it");
	ok = read_lists(lists, nets, cfg, err) && unite(lists, err) && make_list(lists, err);
	free(nets);
	if (!ok)
		access_lists_free(lists);
	return ok;
}

void
access_lists_free(struct access_lists *lists)
{
	free(lists->nets);
	free(lists->memory);
	*lists = (struct access_lists){0};
}

void
access_lists_words(const struct access_lists *lists, char words[ACCESS_WORDS_BYTES])
{
	if (lists->list == NULL)
		snprintf(words, ACCESS_WORDS_BYTES, "everybody is let in");
	else
		snprintf(words, ACCESS_WORDS_BYTES,
			 "%u network%s allowed, %u denied, a table of %zu KB", lists->allowed,
			 lists->allowed == 1 ? "" : "s", lists->count - lists->allowed,
			 lists->list->bytes >> 10);
}

bool
access_begin(struct access *a, const struct config *cfg, struct error *err)
{
	return access_lists_read(&a->now, cfg, err);
}

static bool
same_nets(const struct access_lists *a, const struct access_lists *b)
{
	for (uint32_t i = 0; a->count == b->count && i < a->count; i++)
		if (!ip_addr_equal(&a->nets[i].ip, &b->nets[i].ip) ||
		    a->nets[i].prefix_len != b->nets[i].prefix_len ||
		    a->nets[i].allow != b->nets[i].allow)
			return false;
	return a->count == b->count;
}

bool
access_change(struct access *a, struct access_lists *lists)
{
	if (same_nets(lists, a->pending ? &a->next : &a->now)) {
		access_lists_free(lists);
		return false;
	}
	access_lists_free(&a->next);
	a->next = *lists;
	a->pending = true;
	return true;
}

void
access_apply(struct access *a, struct serve_shared *shared)
{
	if (access_is_applied(a) || !serve_settled_mt(shared))
		return;
	access_lists_free(&a->last);
	a->going_over = false;
	if (!a->pending || !serve_access_replace_mt(shared, a->next.list))
		return;
	a->last = a->now;
	a->now = a->next;
	a->next = (struct access_lists){0};
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
	access_lists_free(&a->now);
	access_lists_free(&a->next);
	access_lists_free(&a->last);
}
