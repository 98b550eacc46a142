/*
 * serve_policy.c - sets the policy, applies it on each core, and passes messages between program
 * and cores.
 */
#include "serve_access.h"

#include "udp_rate_limit.h"

void
serve_shared_set_policy(struct serve_shared *sh, const struct serve_policy *policy)
{
	ensure(policy->network_count <= SERVE_NETWORKS_MAX);
	sh->policy = *policy;
	if (policy->prefix_delimiter == 0)
		sh->policy.prefix_delimiter = ':';
	atomic_store_explicit(&sh->detail, policy->detail, memory_order_relaxed);
}

void
serve_shared_set_access(struct serve_shared *sh, const struct access_list *list)
{
	sh->access = list;
}

void
serve_shared_set_addrs(struct serve_shared *sh, const struct local_addrs *addrs)
{
	sh->addrs = addrs;
}

void
serve_policy_update_mt(struct serve_shared *sh, const struct serve_policy *policy)
{
	struct serve_policy *now = &sh->policy;

	/* The fields are independent, so a core may see some new and some old ones. */
	now->no_flush = policy->no_flush;
	now->no_dumps = policy->no_dumps;
	now->no_watch = policy->no_watch;
	now->shutdown = policy->shutdown;
	now->udp_admin = policy->udp_admin;
	now->idle_timeout_s = policy->idle_timeout_s;
}

/* True if every core has begun a turn since the table was last changed. */
static bool
users_grace_period_over(const struct serve_shared *sh, uint32_t turn)
{
	for (uint32_t i = 0; i < sh->cores; i++)
		/* Acquire: pairs with the release in users_refresh, so that a core has read the
		 * other table for the last time before we write it. */
		if (atomic_load_explicit(&sh->users_version_seen[i], memory_order_acquire) != turn)
			return false;
	return true;
}

static bool
is_same_user(const struct serve_user *a, const struct serve_user *b)
{
	return a->name_len == b->name_len && a->password_len == b->password_len &&
	       memcmp(a->bytes, b->bytes, (size_t)a->name_len + a->password_len) == 0;
}

/* Returns the ID that the user has in the current table, or a new ID. */
static uint32_t
user_id(struct serve_shared *sh, const struct serve_users *before, const struct serve_user *user)
{
	for (uint32_t i = 0; i < before->count; i++)
		if (is_same_user(&before->user[i], user))
			return before->user[i].id;
	return ++sh->user_ids;
}

bool
serve_users_replace_mt(struct serve_shared *sh, const struct serve_users *users)
{
	const uint32_t turn = atomic_load_explicit(&sh->users_version, memory_order_relaxed);
	struct serve_users *next = &sh->users[(turn + 1) % 2];

	ensure(users->count <= SERVE_USERS_MAX);
	if (!users_grace_period_over(sh, turn))
		return false;
	*next = *users;
	for (uint32_t i = 0; i < next->count; i++)
		next->user[i].id = user_id(sh, &sh->users[turn % 2], &next->user[i]);
	/* Release: pairs with the acquire in users_refresh. */
	atomic_store_explicit(&sh->users_version, turn + 1, memory_order_release);
	return true;
}

bool
serve_settled_mt(const struct serve_shared *sh)
{
	return users_grace_period_over(
		sh, atomic_load_explicit(&sh->users_version, memory_order_relaxed));
}

/* Makes the cores change to the replaced tables. */
static void
tables_publish(struct serve_shared *sh)
{
	const uint32_t turn = atomic_load_explicit(&sh->users_version, memory_order_relaxed);

	sh->users[(turn + 1) % 2] = sh->users[turn % 2];
	/* Release: pairs with the acquire in users_refresh. */
	atomic_store_explicit(&sh->users_version, turn + 1, memory_order_release);
}

bool
serve_access_replace_mt(struct serve_shared *sh, const struct access_list *list)
{
	if (!serve_settled_mt(sh))
		return false;
	sh->access = list;
	tables_publish(sh);
	return true;
}

bool
serve_drain_mt(struct serve_shared *sh, enum serve_drain how)
{
	if (!serve_settled_mt(sh))
		return false;
	sh->drain = how;
	tables_publish(sh);
	return true;
}

bool
serve_addrs_replace_mt(struct serve_shared *sh, const struct local_addrs *addrs)
{
	if (!serve_settled_mt(sh))
		return false;
	sh->addrs = addrs;
	tables_publish(sh);
	return true;
}

uint32_t
serve_certs_asked_mt(const struct serve_shared *sh)
{
	return atomic_load_explicit(&sh->certs_asked, memory_order_relaxed);
}

bool
serve_certs_wanted_mt(const struct serve_shared *sh)
{
	return serve_certs_asked_mt(sh) !=
	       atomic_load_explicit(&sh->certs_done, memory_order_relaxed);
}

void
serve_certs_read_mt(struct serve_shared *sh, uint32_t asked, bool taken, uint64_t now_ns)
{
	if (taken)
		atomic_store_explicit(&sh->certs_read_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&sh->certs_refused, !taken, memory_order_relaxed);
	/* Release: pairs with the acquire in certs_step (admin.c). A request then sees the result
	 * of the read that answers it, or of a later one. */
	atomic_store_explicit(&sh->certs_done, asked, memory_order_release);
}

enum serve_stop
serve_stop_requested_mt(const struct serve_shared *sh)
{
	return (enum serve_stop)atomic_load_explicit(&sh->stop, memory_order_relaxed);
}

void
serve_rusage_set_mt(struct serve_shared *sh, uint64_t user_us, uint64_t system_us)
{
	atomic_store_explicit(&sh->user_us, user_us, memory_order_relaxed);
	atomic_store_explicit(&sh->system_us, system_us, memory_order_relaxed);
}

void
serve_resident_set_mt(struct serve_shared *sh, uint64_t bytes)
{
	atomic_store_explicit(&sh->resident_bytes, bytes, memory_order_relaxed);
}

void
serve_load_set_mt(struct serve_shared *sh, const struct serve_load *load)
{
	atomic_store_explicit(&sh->loaded_items, load->items, memory_order_relaxed);
	atomic_store_explicit(&sh->loaded_lost, load->lost, memory_order_relaxed);
	atomic_store_explicit(&sh->loaded_us, load->us, memory_order_relaxed);
	atomic_store_explicit(&sh->load_state, load->state, memory_order_relaxed);
}

/* ---- the policy on one core ---- */

static uint32_t
per_core_share(uint32_t budget, uint32_t cores)
{
	const uint32_t share = budget / cores;

	return share > 0 || budget == 0 ? share : 1;
}

void
policy_obey(struct serve *sv)
{
	const struct serve_policy *p = &sv->shared->policy;
	struct udp_rate_limit *g = sv->rate_limit;

	sv->policy_seen = true;
	sv->auth = p->auth;
	sv->rate_limited = p->udp_rate_limit;
	sv->protocol = p->protocol;
	/* A source may reach every core, since the ports of its datagrams differ. */
	g->bytes_per_s = per_core_share(p->udp_bytes_per_s, sv->shared->cores);
	for (uint32_t i = 0; i < p->network_count; i++)
		udp_rate_limit_exempt(g, &p->networks[i].ip, p->networks[i].prefix_len);
	sv->error_limit->bytes_per_s = per_core_share(UDP_ERRORS_PER_SECOND, sv->shared->cores);
}

size_t
policy_bytes(void)
{
	return 2 * (sizeof(struct udp_rate_limit) + CACHE_LINE_BYTES);
}

void
policy_create(struct serve *sv, struct region *region)
{
	sv->rate_limit = region_take(region, sizeof *sv->rate_limit, CACHE_LINE_BYTES);
	sv->error_limit = region_take(region, sizeof *sv->error_limit, CACHE_LINE_BYTES);
}

/* ---- UDP ---- */

/* Bytes of the IP and UDP headers, without the frame header of memcached. */
#define DATAGRAM_HEAD_V4_BYTES 28u
#define DATAGRAM_HEAD_V6_BYTES 48u

/* True if the limit permits the reply. The hash is the store's, whose seed is secret, so that no
 * client can find sources that share cells with another one. */
static bool
limit_allows(struct serve *sv, struct udp_rate_limit *g, const struct ip_addr *ip, uint64_t asked,
	     uint64_t answer)
{
	struct udp_source source;

	if (udp_rate_limit_spares(g, ip, asked, answer))
		return true;
	source = (struct udp_source){
		.hash = store_hash(sv->store, udp_rate_limit_source(ip)),
		.network_hash = store_hash(sv->store, udp_rate_limit_network(ip)),
	};
	return udp_rate_limit_book(g, &source, sv->clock.now_s, answer - asked);
}

bool
udp_reply_allowed(struct serve *sv, const struct udp_peer *to, uint32_t asked, uint32_t answer)
{
	const uint32_t below =
		ip_addr_is_v4(&to->ip) ? DATAGRAM_HEAD_V4_BYTES : DATAGRAM_HEAD_V6_BYTES;
	const uint32_t head = below + MC_UDP_FRAME_BYTES;

	if (limit_allows(sv, sv->rate_limit, &to->ip, asked + head,
			 answer + (uint64_t)mc_udp_datagrams(answer) * head))
		return true;
	serve_count(sv, UDP_DROP_RATE_LIMIT);
	return false;
}

bool
udp_error_allowed(struct serve *sv, const struct udp_peer *to)
{
	if (limit_allows(sv, sv->error_limit, &to->ip, 0, 1))
		return true;
	serve_count(sv, UDP_DROP_ERROR_LIMIT);
	return false;
}
