/*
 * forgetful_nic.c - ethdev's functions, as a driver without a device would carry them out.
 */
#define ALLOW_EXPERIMENTAL_API
#include "forgetful_nic.h"

#include "base/check.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_mbuf.h>

/* Within this time a core calls the port, unless it is paused. */
#define REACH_STEPS 20u
#define REACH_NS    5000000

struct forgetful_nic nic;

static struct {
	rte_eth_dev_cb_fn call;
	void *arg;
} heard[RTE_ETH_EVENT_MAX];

static const enum rte_eth_event_type event_of[ANNOUNCEMENTS] = {
	[ANNOUNCE_RESET] = RTE_ETH_EVENT_INTR_RESET,
	[ANNOUNCE_RECOVERING] = RTE_ETH_EVENT_ERR_RECOVERING,
	[ANNOUNCE_RECOVERED] = RTE_ETH_EVENT_RECOVERY_SUCCESS,
	[ANNOUNCE_RECOVERY_FAILED] = RTE_ETH_EVENT_RECOVERY_FAILED,
	[ANNOUNCE_REMOVED] = RTE_ETH_EVENT_INTR_RMV,
};

static struct {
	uint32_t head, tail, len[NIC_FRAMES];
	uint8_t bytes[NIC_FRAMES][MEM_FRAME_BYTES];
	struct rte_mempool *pool;
} rx;

static void *no_callbacks[NIC_QUEUES], *queue_data[NIC_QUEUES] = {&rx, NULL};

void
nic_announce(enum announcement what, const char *device)
{
	if (what == ANNOUNCE_REMOVED_BY_BUS) {
		rte_dev_event_callback_process(device, RTE_DEV_EVENT_REMOVE);
		return;
	}
	ensure(heard[event_of[what]].call != NULL);
	heard[event_of[what]].call(0, event_of[what], heard[event_of[what]].arg, NULL);
}

/* ---- frames ---- */

static uint16_t
rx_burst(void *queue, struct rte_mbuf **to, uint16_t count)
{
	uint16_t n = 0;

	if (!nic.now.started)
		nic.violations++;
	for (; n < count && queue == &rx && rx.head != rx.tail && nic.now.started; n++) {
		const uint32_t at = rx.head++ % NIC_FRAMES;

		to[n] = rte_pktmbuf_alloc(rx.pool);
		ensure(to[n] != NULL);
		memcpy(rte_pktmbuf_append(to[n], (uint16_t)rx.len[at]), rx.bytes[at], rx.len[at]);
	}
	return n;
}

static uint16_t
tx_burst(void *queue, struct rte_mbuf **from, uint16_t count)
{
	const struct port_ops *out = nic.wire_ops;

	if (!nic.now.started)
		nic.violations++;
	for (uint16_t i = 0; i < count; i++) {
		struct burst b;

		out->alloc(&nic.wire->port, &b, 1);
		ensure(b.count == 1);
		b.len[0] = from[i]->data_len;
		memcpy(b.data[0], rte_pktmbuf_mtod(from[i], void *), b.len[0]);
		if (out->tx(&nic.wire->port, &b) == 0)
			out->drop(&nic.wire->port, b.frame, 1);
		rte_pktmbuf_free(from[i]);
	}
	return count;
}

void
nic_take_frames(void)
{
	struct burst b;

	if (nic.wire == NULL)
		return;
	nic.wire_ops->rx(&nic.wire->port, &b, BURST_MAX);
	for (uint32_t i = 0; i < b.count; i++) {
		const uint32_t at = rx.tail % NIC_FRAMES;

		if (!nic.now.started || rx.tail - rx.head == NIC_FRAMES)
			continue; /* lost */
		rx.len[at] = b.len[i];
		memcpy(rx.bytes[at], b.data[i], b.len[i]);
		rx.tail++;
	}
	nic.wire_ops->drop(&nic.wire->port, b.frame, b.count);
}

/* Queue 0 has the wire. */
static void
lend_bursts(void)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[0];

	ops->rxq.data = ops->txq.data = queue_data;
	ops->rxq.clbk = ops->txq.clbk = no_callbacks;
	ops->rx_pkt_burst = rx_burst;
	ops->tx_pkt_burst = tx_burst;
}

void
nic_plug(struct mem_port *wire, const struct nic_setup *setup)
{
	nic.wire = wire;
	nic.wire_ops = wire != NULL ? wire->port.ops : NULL;
	nic.now = *setup;
	lend_bursts();
}

/* ---- setting up ---- */

int __real_rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info);
int __wrap_rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info);
int
__wrap_rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info)
{
	const int rc = __real_rte_eth_dev_info_get(id, info);

	info->max_rx_queues = info->max_tx_queues = NIC_QUEUES;
	info->reta_size = NIC_RETA;
	info->rx_offload_capa |= RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	info->hash_key_size = sizeof nic.now.rss_key;
	info->flow_type_rss_offloads = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP;
	return rc;
}

int __wrap_rte_eth_dev_configure(uint16_t id, uint16_t rx_queues, uint16_t tx_queues,
				 const struct rte_eth_conf *conf);
int
__wrap_rte_eth_dev_configure(uint16_t id, uint16_t rx_queues, uint16_t tx_queues,
			     const struct rte_eth_conf *conf)
{
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;

	ensure(!nic.now.started);
	ensure(rx_queues == NIC_QUEUES);
	ensure(tx_queues == NIC_QUEUES);
	nic.now.mtu = conf->rxmode.mtu;
	nic.now.filters_vlans = (conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;
	nic.now.rss_types = rss->rss_hf;
	memcpy(nic.now.rss_key, rss->rss_key, sizeof nic.now.rss_key);
	return 0;
}

int __wrap_rte_eth_dev_adjust_nb_rx_tx_desc(uint16_t id, uint16_t *n_rx, uint16_t *n_tx);
int
__wrap_rte_eth_dev_adjust_nb_rx_tx_desc(uint16_t id, uint16_t *n_rx, uint16_t *n_tx)
{
	return 0;
}

int __wrap_rte_eth_rx_queue_setup(uint16_t id, uint16_t queue, uint16_t descriptors,
				  unsigned int node, const struct rte_eth_rxconf *conf,
				  struct rte_mempool *pool);
int
__wrap_rte_eth_rx_queue_setup(uint16_t id, uint16_t queue, uint16_t descriptors, unsigned int node,
			      const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	nic.now.rx_queues |= 1u << queue;
	nic.now.pools += pool != NULL;
	if (queue == 0)
		rx.pool = pool;
	return 0;
}

int __wrap_rte_eth_tx_queue_setup(uint16_t id, uint16_t queue, uint16_t descriptors,
				  unsigned int node, const struct rte_eth_txconf *conf);
int
__wrap_rte_eth_tx_queue_setup(uint16_t id, uint16_t queue, uint16_t descriptors, unsigned int node,
			      const struct rte_eth_txconf *conf)
{
	nic.now.tx_queues |= 1u << queue;
	return 0;
}

int __wrap_rte_eth_dev_start(uint16_t id);
int
__wrap_rte_eth_dev_start(uint16_t id)
{
	nic.now.started = nic.now.rx_queues == nic.now.tx_queues && nic.now.rx_queues != 0;
	lend_bursts();
	return nic.now.started ? 0 : -EINVAL;
}

/* Waits for calls by a core that has not paused, which are violations. */
static void
stop(void)
{
	nic.now.started = false;
	for (uint32_t i = 0; i < REACH_STEPS && nic.violations == 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = REACH_NS}, NULL);
}

int __wrap_rte_eth_dev_stop(uint16_t id);
int
__wrap_rte_eth_dev_stop(uint16_t id)
{
	struct nic_setup kept = {.groups = nic.now.groups, .isolated = nic.now.isolated};

	stop();
	memcpy(kept.mac, nic.now.mac, sizeof kept.mac);
	nic.now = kept;
	rx.head = rx.tail;
	return 0;
}

int __wrap_rte_eth_dev_reset(uint16_t id);
int
__wrap_rte_eth_dev_reset(uint16_t id)
{
	if (!nic.has_reset)
		return -ENOTSUP;
	stop();
	nic.now = (struct nic_setup){0};
	nic.vlans = 0;
	memcpy(nic.now.mac, nic.mac_at_reset, sizeof nic.now.mac);
	rx.head = rx.tail;
	if (nic.refusals > 0) {
		nic.refusals--;
		return -EAGAIN;
	}
	nic.resets++;
	return 0;
}

int __wrap_rte_eth_dev_close(uint16_t id);
int
__wrap_rte_eth_dev_close(uint16_t id)
{
	return 0;
}

/* ---- filters and spreading ---- */

int __wrap_rte_eth_dev_rss_reta_update(uint16_t id, struct rte_eth_rss_reta_entry64 *reta,
				       uint16_t size);
int
__wrap_rte_eth_dev_rss_reta_update(uint16_t id, struct rte_eth_rss_reta_entry64 *reta,
				   uint16_t size)
{
	ensure(size == NIC_RETA);
	if (nic.now.isolated)
		return -ENOTSUP;
	for (uint32_t i = 0; i < size; i++)
		nic.now.reta[i] =
			reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
	return 0;
}

int __wrap_rte_eth_macaddr_get(uint16_t id, struct rte_ether_addr *mac);
int
__wrap_rte_eth_macaddr_get(uint16_t id, struct rte_ether_addr *mac)
{
	memcpy(mac->addr_bytes, nic.now.mac, sizeof nic.now.mac);
	return 0;
}

int __wrap_rte_eth_dev_default_mac_addr_set(uint16_t id, struct rte_ether_addr *mac);
int
__wrap_rte_eth_dev_default_mac_addr_set(uint16_t id, struct rte_ether_addr *mac)
{
	memcpy(nic.now.mac, mac->addr_bytes, sizeof nic.now.mac);
	return 0;
}

int __wrap_rte_eth_dev_set_mc_addr_list(uint16_t id, struct rte_ether_addr *groups, uint32_t count);
int
__wrap_rte_eth_dev_set_mc_addr_list(uint16_t id, struct rte_ether_addr *groups, uint32_t count)
{
	if (nic.now.isolated)
		return -ENOTSUP;
	nic.now.groups = count;
	return 0;
}

int __wrap_rte_eth_dev_vlan_filter(uint16_t id, uint16_t vlan, int on);
int
__wrap_rte_eth_dev_vlan_filter(uint16_t id, uint16_t vlan, int on)
{
	if (!nic.now.filters_vlans)
		return -ENOSYS;
	nic.now.vlan = on ? vlan : 0;
	nic.vlans++;
	return 0;
}

int __wrap_rte_eth_link_get_nowait(uint16_t id, struct rte_eth_link *link);
int
__wrap_rte_eth_link_get_nowait(uint16_t id, struct rte_eth_link *link)
{
	link->link_status = nic.now.started;
	return 0;
}

int __wrap_rte_eth_stats_get(uint16_t id, struct rte_eth_stats *stats);
int
__wrap_rte_eth_stats_get(uint16_t id, struct rte_eth_stats *stats)
{
	*stats = (struct rte_eth_stats){.imissed = nic.missed, .oerrors = nic.tx_errors};
	return 0;
}

int __wrap_rte_flow_validate(uint16_t id, const struct rte_flow_attr *attr,
			     const struct rte_flow_item items[],
			     const struct rte_flow_action actions[], struct rte_flow_error *error);
int
__wrap_rte_flow_validate(uint16_t id, const struct rte_flow_attr *attr,
			 const struct rte_flow_item items[], const struct rte_flow_action actions[],
			 struct rte_flow_error *error)
{
	return 0;
}

static void
take_target(struct nic_rule *r, const struct rte_flow_action *action)
{
	const struct rte_flow_action_queue *one = action->conf;
	const struct rte_flow_action_rss *all = action->conf;

	if (action->type == RTE_FLOW_ACTION_TYPE_QUEUE) {
		r->queue = one->index;
		return;
	}
	ensure(action->type == RTE_FLOW_ACTION_TYPE_RSS);
	ensure(all->key_len == sizeof r->key);
	r->queues = (uint16_t)all->queue_num;
	memcpy(r->key, all->key, sizeof r->key);
}

static void
take_item(struct nic_rule *r, const struct rte_flow_item *item)
{
	const struct rte_flow_item_udp *udp = item->spec, *udp_mask = item->mask;
	const struct rte_flow_item_tcp *tcp = item->spec, *tcp_mask = item->mask;

	switch ((uint32_t)item->type) {
	case RTE_FLOW_ITEM_TYPE_IPV4:
		r->ip_version = 4;
		return;
	case RTE_FLOW_ITEM_TYPE_IPV6:
		r->ip_version = 6;
		return;
	case RTE_FLOW_ITEM_TYPE_UDP:
		r->protocol = IPPROTO_UDP;
		r->dst_port = udp->hdr.dst_port;
		r->dst_port_mask = udp_mask->hdr.dst_port;
		return;
	case RTE_FLOW_ITEM_TYPE_TCP:
		r->protocol = IPPROTO_TCP;
		r->dst_port = tcp->hdr.dst_port;
		r->dst_port_mask = tcp_mask->hdr.dst_port;
		return;
	}
}

struct rte_flow *__wrap_rte_flow_create(uint16_t id, const struct rte_flow_attr *attr,
					const struct rte_flow_item items[],
					const struct rte_flow_action actions[],
					struct rte_flow_error *error);
struct rte_flow *
__wrap_rte_flow_create(uint16_t id, const struct rte_flow_attr *attr,
		       const struct rte_flow_item items[], const struct rte_flow_action actions[],
		       struct rte_flow_error *error)
{
	struct nic_rule *r = &nic.now.rule[nic.now.rules];

	ensure(nic.now.rules < NIC_RULES);
	if (nic.rules_max != 0 && nic.now.rules == nic.rules_max) {
		error->message = "no room";
		return NULL;
	}
	nic.now.rules++;
	take_target(r, &actions[0]);
	for (; items->type != RTE_FLOW_ITEM_TYPE_END; items++)
		take_item(r, items);
	return (struct rte_flow *)r;
}

int __wrap_rte_flow_isolate(uint16_t id, int set, struct rte_flow_error *error);
int
__wrap_rte_flow_isolate(uint16_t id, int set, struct rte_flow_error *error)
{
	ensure(!nic.now.started);
	if (nic.cannot_isolate) {
		error->message = "not here";
		return -ENOTSUP;
	}
	nic.now.isolated = set;
	return 0;
}

int __wrap_rte_flow_flush(uint16_t id, struct rte_flow_error *error);
int
__wrap_rte_flow_flush(uint16_t id, struct rte_flow_error *error)
{
	nic.now.rules = 0;
	memset(nic.now.rule, 0, sizeof nic.now.rule);
	return 0;
}

/* ---- events ---- */

int __wrap_rte_eth_dev_callback_register(uint16_t id, enum rte_eth_event_type event,
					 rte_eth_dev_cb_fn call, void *arg);
int
__wrap_rte_eth_dev_callback_register(uint16_t id, enum rte_eth_event_type event,
				     rte_eth_dev_cb_fn call, void *arg)
{
	heard[event].call = call;
	heard[event].arg = arg;
	return 0;
}

int __wrap_rte_eth_dev_callback_unregister(uint16_t id, enum rte_eth_event_type event,
					   rte_eth_dev_cb_fn call, void *arg);
int
__wrap_rte_eth_dev_callback_unregister(uint16_t id, enum rte_eth_event_type event,
				       rte_eth_dev_cb_fn call, void *arg)
{
	heard[event].call = NULL;
	return 0;
}
