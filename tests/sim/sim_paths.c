/*
 * sim_paths.c - switches the fast paths of a stack off, and reads the state of its connections.
 */
#include "sim_paths.h"

#include "net/neigh_table.h"
#include "tcp/tcp.h"

void
sim_paths_off(struct stack *s)
{
	struct tcp *t = stack_tcp(s);

	t->fast_path_in = t->fast_path_out = FAST_PATH_OFF;
	t->hop_cache_off = UINT32_MAX;
	t->net.fast.len_min = t->net.fast.udp_port = UINT32_MAX; /* see classify.c */
}

void
sim_neigh_know(struct stack *s, uint32_t ip, const uint8_t mac[6], uint64_t now_ns)
{
	const struct ip_addr addr = ip_addr_v4(ip);

	neigh_learn_mt(stack_net(s)->neigh, &addr, mac, now_ns);
}

void
sim_hash_in(uint64_t *hash, const void *bytes, uint32_t len)
{
	const uint8_t *p = bytes;

	for (uint32_t i = 0; i < len; i++)
		*hash = (*hash ^ p[i]) * 0x100000001b3ull;
}

static void
conn_hash_in(uint64_t *hash, const struct conn *c)
{
	const uint64_t words[] = {
		c->state,     c->flags,      c->rcv_nxt,          c->rcv_edge,   c->last_ack_sent,
		c->snd_una,   c->snd_nxt,    c->snd_max,          c->snd_wnd,    c->snd_wl1,
		c->snd_wl2,   c->cwnd,       c->ssthresh,         c->tx.bytes,   c->rx.bytes,
		c->ts_recent, c->srtt_us,    c->rttvar_us,        c->rto_us,     c->snd_wnd_max,
		c->rcv_mss,   c->tries,      c->backoff,          c->dup_acks,   c->rx.frames,
		c->tx.chunks, c->rx_dropped, c->scoreboard.count, c->main_at_ns, c->ack_at_ns,
		c->last_rx_ns};

	sim_hash_in(hash, words, sizeof words);
	sim_hash_in(hash, c->peer_mac, sizeof c->peer_mac);
}

uint64_t
sim_conns_hash(const struct stack *s)
{
	const struct tcp *t = stack_tcp(s);
	uint64_t hash = 0;

	for (uint32_t i = 0; i < t->cfg.conns_max; i++)
		if (t->conns[i].state != CONN_CLOSED)
			conn_hash_in(&hash, &t->conns[i]);
	return hash;
}

bool
sim_window_edge(const struct stack *s, uint32_t *edge)
{
	const struct tcp *t = stack_tcp(s);

	for (uint32_t i = 0; i < t->cfg.conns_max; i++)
		if (t->conns[i].state == CONN_ESTABLISHED) {
			*edge = t->conns[i].rcv_edge;
			return true;
		}
	return false;
}
