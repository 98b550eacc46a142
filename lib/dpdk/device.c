/*
 * device.c - finds the port; configures queues, RSS, offloads and pools by the plan; starts and
 * stops the port, and sets it up again after a reset.
 */
#include "device.h"
#include "device_vlans.h"
#include "base/region.h"

#include <stdatomic.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#define POOL_CACHE       256u
#define LINK_POLL_MS     50u
#define SMALL_PAGE_BYTES 4096u
#define MBUF_OVERHEAD    384u /* struct rte_mbuf, headroom, mempool header */

struct rss_name {
	uint32_t field; /* enum rss_kind */
	uint64_t types;
};

/* Kinds of flows. Packets that the NIC does not hash by ports go to queue 0, or are hashed by
 * addresses only, depending on the driver. */
static const struct rss_name rss_names[] = {
	{RSS_KIND_IP4, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER},
	{RSS_KIND_TCP4, RTE_ETH_RSS_NONFRAG_IPV4_TCP},
	{RSS_KIND_UDP4, RTE_ETH_RSS_NONFRAG_IPV4_UDP},
	{RSS_KIND_IP6, RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER},
	{RSS_KIND_TCP6, RTE_ETH_RSS_NONFRAG_IPV6_TCP},
	{RSS_KIND_UDP6, RTE_ETH_RSS_NONFRAG_IPV6_UDP},
};
#define RSS_NAMES (sizeof rss_names / sizeof rss_names[0])

struct offload_name {
	uint32_t wanted; /* enum offload */
	uint64_t rx, tx;
	uint32_t cap; /* enum port_cap */
};

static const struct offload_name offload_names[] = {
	{OFFLOAD_RX_CKSUM, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, 0, 0},
	{OFFLOAD_RX_CKSUM, RTE_ETH_RX_OFFLOAD_UDP_CKSUM, 0, 0},
	{OFFLOAD_RX_CKSUM, RTE_ETH_RX_OFFLOAD_TCP_CKSUM, 0, 0},
	{OFFLOAD_TX_IP_CKSUM, 0, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, PORT_TX_IP_CKSUM},
	{OFFLOAD_TX_UDP_CKSUM, 0, RTE_ETH_TX_OFFLOAD_UDP_CKSUM, PORT_TX_UDP_CKSUM},
	{OFFLOAD_TX_TCP_CKSUM, 0, RTE_ETH_TX_OFFLOAD_TCP_CKSUM, PORT_TX_TCP_CKSUM},
	{OFFLOAD_TX_FAST_FREE, 0, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE, 0},
	{OFFLOAD_TX_LOANS, 0, RTE_ETH_TX_OFFLOAD_MULTI_SEGS, 0},
};
#define OFFLOAD_NAMES (sizeof offload_names / sizeof offload_names[0])

static bool
failed(const char *step, int rc, struct error *err)
{
	return error_set(err, "--port: the driver refused to %s: %s; -vv shows the full log", step,
			 rte_strerror(-rc));
}

static uint32_t
rss_fields_of(uint64_t types)
{
	uint32_t fields = 0;

	for (uint32_t i = 0; i < RSS_NAMES; i++)
		if (types & rss_names[i].types)
			fields |= rss_names[i].field;
	return fields;
}

static bool
no_port(const char *name, const struct error *why, struct error *err)
{
	const struct error said = *why;

	return error_set(err, "--port %s: the driver did not start: %s; -vv shows the full log",
			 name, said.text[0] != '\0' ? said.text : "no driver took the device");
}

/* Describes the port d->id. */
static bool
describe(struct device *d, const struct profile *profile, struct error *err)
{
	struct rte_eth_dev_info info;
	int rc;

	d->node = rte_eth_dev_socket_id(d->id);
	rc = rte_eth_dev_info_get(d->id, &info);
	if (rc != 0)
		return failed("describe the port", rc, err);
	snprintf(d->driver, sizeof d->driver, "%s", info.driver_name);
	d->name = rte_dev_name(info.device);
	if (info.min_rx_bufsize > profile->mbuf_bytes)
		return error_set(err, "profile %s: mbuf_bytes: %u: this NIC needs %u",
				 profile->name, profile->mbuf_bytes, info.min_rx_bufsize);
	d->caps = (struct port_caps){
		.rx_queues_max = info.max_rx_queues,
		.tx_queues_max = info.max_tx_queues,
		.rss_fields = rss_fields_of(info.flow_type_rss_offloads),
		.rss_key_bytes = info.hash_key_size,
		.reta_size = info.reta_size,
	};
	return true;
}

bool
device_find(struct device *d, const struct profile *profile, struct error *err)
{
	memset(d, 0, sizeof *d);
	if (rte_eth_dev_count_avail() == 0)
		return no_port(profile->name, err, err);
	/* A virtual function's port that netvsc uses belongs to netvsc. */
	d->id = (uint16_t)rte_eth_find_next_owned_by(0, RTE_ETH_DEV_NO_OWNER);
	return describe(d, profile, err);
}

bool
device_find_named(struct device *d, const struct profile *profile, const char *name,
		  struct error *err)
{
	memset(d, 0, sizeof *d);
	if (rte_eth_dev_get_port_by_name(name, &d->id) != 0)
		return no_port(name, err, err);
	return describe(d, profile, err);
}

/* Selects those of the profile's offloads that the port supports. Returns them as port caps. */
static uint32_t
choose_offloads(struct device *d, const struct rte_eth_dev_info *info, uint32_t wanted)
{
	uint32_t caps = 0;

	d->offloads_rx = 0;
	d->offloads_tx = 0;
	for (uint32_t i = 0; i < OFFLOAD_NAMES; i++) {
		const struct offload_name *o = &offload_names[i];

		if (!(wanted & o->wanted))
			continue;
		d->offloads_rx |= info->rx_offload_capa & o->rx;
		d->offloads_tx |= info->tx_offload_capa & o->tx;
		if (info->tx_offload_capa & o->tx)
			caps |= o->cap;
	}
	if (d->offloads_tx & RTE_ETH_TX_OFFLOAD_MULTI_SEGS)
		d->offloads_tx &= ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	return caps;
}

static uint64_t
rss_types_of(const struct steer_plan *plan, uint64_t there)
{
	uint64_t types = 0;

	for (uint32_t i = 0; i < RSS_NAMES; i++)
		if (plan->rss_fields & rss_names[i].field)
			types |= rss_names[i].types;
	return types & there;
}

/* Returns the MTU to configure. The kernel knows how long an interface's frames may be, and the
 * profile what the driver's buffers hold; net_af_packet itself says 1,518 bytes of every interface,
 * and passes on what its ring holds (drivers/net/af_packet/rte_eth_af_packet.c). */
static uint32_t
mtu_configured(const struct device_request *req, const struct rte_eth_dev_info *info)
{
	const uint32_t said = info->max_rx_pktlen - (RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN);

	return profile_has_iface(req->profile) && said < req->cfg->mtu ? said : req->cfg->mtu;
}

static bool
configure(struct device *d, const struct device_request *req, const struct rte_eth_dev_info *info,
	  struct error *err)
{
	const struct steer_plan *plan = req->plan;
	struct rte_eth_conf conf = {
		.rxmode = {.mtu = mtu_configured(req, info), .offloads = d->offloads_rx},
		.txmode = {.offloads = d->offloads_tx},
		/* Drivers that can report a removal do so only on request. */
		.intr_conf.rmv = (*info->dev_flags & RTE_ETH_DEV_INTR_RMV) != 0,
	};
	int rc;

	if (plan->rss_fields != 0) {
		memcpy(d->rss_key, plan->rss_key, sizeof d->rss_key);
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_key = plan->rss_key_bytes != 0 ? d->rss_key : NULL;
		conf.rx_adv_conf.rss_conf.rss_key_len = (uint8_t)plan->rss_key_bytes;
		conf.rx_adv_conf.rss_conf.rss_hf = rss_types_of(plan, info->flow_type_rss_offloads);
	}
	rc = rte_eth_dev_configure(d->id, (uint16_t)plan->queues, (uint16_t)plan->queues, &conf);
	if (rc != 0)
		return failed("be configured", rc, err);
	if (plan->rss_fields != 0 && req->profile->rss_key_by == RSS_KEY_BY_UPDATE) {
		rc = rte_eth_dev_rss_hash_update(d->id, &conf.rx_adv_conf.rss_conf);
		if (rc != 0)
			return failed("take its RSS key", rc, err);
	}
	d->rx_ring = (uint16_t)req->profile->rx_ring;
	d->tx_ring = (uint16_t)req->profile->tx_ring;
	rc = rte_eth_dev_adjust_nb_rx_tx_desc(d->id, &d->rx_ring, &d->tx_ring);
	return rc == 0 || failed("size its rings", rc, err);
}

static uint32_t
pool_frames(const struct profile *p, const struct config *cfg, uint32_t frames)
{
	/* A bond has the rings of two ports, and keeps the frames that each refuses. */
	const uint32_t ports = config_has_bond(cfg) ? 2 : 1;
	const uint32_t kept = config_has_bond(cfg) ? 2 * BURST_MAX : 0;

	/* The cache of a core may hold 1.5 times its size (rte_mempool.h). */
	return ports * (p->rx_ring + p->tx_ring) + kept + frames + POOL_CACHE + POOL_CACHE / 2;
}

/* True if frames may span pages. A mempool keeps each object within a page, since a device may see
 * adjacent pages at unrelated addresses (rte_mempool_ops.h), so a page of 4 KB holds one frame. For
 * ports that copy frames that is not necessary. */
static bool
spans_pages(const struct profile *p, const struct config *cfg)
{
	return cfg->no_huge && !profile_is_pci(p);
}

static struct rte_mempool *
make_pool(const struct device *d, const struct device_request *req, uint32_t core)
{
	/* Frames that cores hand over may all be at one core. */
	const uint32_t cores = req->plan->handover ? req->cfg->cores : 1;
	struct rte_pktmbuf_pool_private room = {
		.mbuf_data_room_size = (uint16_t)(req->profile->mbuf_bytes + RTE_PKTMBUF_HEADROOM),
	};
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;
	int rc;

	snprintf(name, sizeof name, "frames%u", core);
	pool = rte_mempool_create_empty(
		name, cores * pool_frames(req->profile, req->cfg, req->frames),
		sizeof(struct rte_mbuf) + room.mbuf_data_room_size, POOL_CACHE, sizeof room,
		d->node, spans_pages(req->profile, req->cfg) ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0);
	if (pool == NULL)
		return NULL;
	rte_pktmbuf_pool_init(pool, &room);
	rc = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
	if (rc == 0)
		rc = rte_mempool_populate_default(pool);
	if (rc < 0) {
		rte_mempool_free(pool);
		rte_errno = -rc;
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

/* Creates one pool for each core, to which its sent frames return. With hand-over all cores share
 * one, because MBUF_FAST_FREE requires a single pool for each TX queue. */
static bool
make_pools(struct device *d, const struct device_request *req, struct error *err)
{
	for (uint32_t i = 0; i < d->cores; i++) {
		if (req->first != NULL) {
			d->ports[i].pool = req->first->ports[i].pool;
			continue;
		}
		d->ports[i].pool =
			i > 0 && req->plan->handover ? d->ports[0].pool : make_pool(d, req, i);
		if (d->ports[i].pool == NULL)
			return error_set(
				err,
				"memory: cannot allocate %u mbufs per core (%s): reserve more "
				"hugepages (clockoo doctor says how many) or lower -c",
				pool_frames(req->profile, req->cfg, req->frames),
				rte_strerror(rte_errno));
	}
	return true;
}

static bool
set_up_queue(struct device *d, uint32_t queue, struct error *err)
{
	const unsigned int node = d->node < 0 ? (unsigned int)SOCKET_ID_ANY : (unsigned int)d->node;
	int rc = rte_eth_rx_queue_setup(d->id, (uint16_t)queue, d->rx_ring, node, NULL,
					d->ports[queue].pool);

	if (rc != 0)
		return failed("set up an RX queue", rc, err);
	rc = rte_eth_tx_queue_setup(d->id, (uint16_t)queue, d->tx_ring, node, NULL);
	return rc == 0 || failed("set up a TX queue", rc, err);
}

static bool
fill_reta(const struct device *d, const struct steer_plan *plan, struct error *err)
{
	struct rte_eth_rss_reta_entry64 reta[RETA_MAX / RTE_ETH_RETA_GROUP_SIZE] = {0};
	int rc;

	if (plan->rss_fields == 0 || plan->reta_size == 0 || plan->isolated)
		return true;
	for (uint32_t i = 0; i < plan->reta_size; i++) {
		struct rte_eth_rss_reta_entry64 *group = &reta[i / RTE_ETH_RETA_GROUP_SIZE];

		group->mask |= UINT64_C(1) << i % RTE_ETH_RETA_GROUP_SIZE;
		group->reta[i % RTE_ETH_RETA_GROUP_SIZE] = plan->reta[i];
	}
	rc = rte_eth_dev_rss_reta_update(d->id, reta, (uint16_t)plan->reta_size);
	return rc == 0 || failed("fill its redirection table", rc, err);
}

/* Reports that a port found no peer at its socket, or an unsuitable one. */
static bool
no_peer(const struct profile *p, struct error *err)
{
	return error_set(err,
			 "--port %s: the peer at --socket rejects the connection: is it of "
			 "another kind, or in use by another program?",
			 p->name);
}

static bool
wait_for_link(const struct device *d, const struct profile *p, struct error *err)
{
	if (!p->wait_link)
		return true;
	for (uint32_t ms = 0; ms < LINK_WAIT_MS; ms += LINK_POLL_MS) {
		struct rte_eth_link link = {0};

		if (rte_eth_link_get_nowait(d->id, &link) == 0 && link.link_status != 0)
			return true;
		rte_delay_us_sleep(LINK_POLL_MS * 1000);
	}
	if (p->needs & NEED_SOCKET_THERE)
		return no_peer(p, err);
	return error_set(err,
			 "--port %s: no link after %u s: check the cable, the other end, or that "
			 "the interface is up",
			 p->name, LINK_WAIT_MS / 1000);
}

static void
fill_ports(struct device *d, const struct device_request *req, uint32_t caps)
{
	struct rte_ether_addr mac = {0};

	rte_eth_macaddr_get(d->id, &mac);
	if (req->profile->another_mac)
		mac.addr_bytes[RTE_ETHER_ADDR_LEN - 1] ^= 1;
	for (uint32_t i = 0; i < d->cores; i++) {
		struct port_dpdk *p = &d->ports[i];

		p->port = (struct port){
			.ops = &port_dpdk_ops,
			.caps = caps,
			.frame_bytes = req->profile->mbuf_bytes,
			.mtu = (uint16_t)req->cfg->mtu,
		};
		memcpy(p->port.mac, mac.addr_bytes, sizeof p->port.mac);
		p->id = d->id;
		p->queue = (uint16_t)i;
		p->burst = req->profile->burst;
		p->tx_prepare = caps != 0;
	}
	memcpy(d->mac, req->first != NULL ? req->first->mac : mac.addr_bytes, sizeof d->mac);
}

static void
join_named(const struct device *d)
{
	if (d->isolated) /* frames to groups go to the kernel */
		return;
	static_assert(sizeof(struct rte_ether_addr) == sizeof d->joins.group[0], "MACs");
	if (d->all_groups ||
	    rte_eth_dev_set_mc_addr_list(d->id, (struct rte_ether_addr *)(void *)d->joins.group,
					 d->joins.groups) != 0)
		(void)rte_eth_allmulticast_enable(d->id);
	/* A NIC without the filter receives every VLAN. */
	for (uint32_t i = 0; i < d->joins.vlans; i++)
		if (d->offloads_rx & RTE_ETH_RX_OFFLOAD_VLAN_FILTER)
			(void)rte_eth_dev_vlan_filter(d->id, d->joins.vlan[i], 1);
}

void
device_join(struct device *d, const struct device_joins *joins)
{
	d->joins = *joins;
	join_named(d);
}

/* Joins the groups that neighbours use to find the appliance (RFC 4861 section 7.2.2): that of
 * all nodes, and the solicited-node groups of its addresses' last three bytes. Drivers differ in
 * what they accept; a driver that accepts no group may receive their frames anyway, as a packet
 * socket does. */
static void
join_groups(const struct device *d, const struct config *cfg)
{
	if (d->joins.groups != 0 || d->isolated) {
		join_named(d);
		return;
	}

	const uint8_t *mac = d->ports[0].port.mac, *ip = cfg->ipv6.b + IP_ADDR_BYTES - 3;
	struct rte_ether_addr groups[] = {
		{{0x33, 0x33, 0, 0, 0, 1}},
		{{0x33, 0x33, 0xff, mac[3], mac[4], mac[5]}},
		{{0x33, 0x33, 0xff, ip[0], ip[1], ip[2]}},
	};
	const uint32_t count = ip_addr_is_zero(&cfg->ipv6) ? 2 : 3;

	if (d->all_groups || rte_eth_dev_set_mc_addr_list(d->id, groups, count) != 0)
		(void)rte_eth_allmulticast_enable(d->id);
}

/* Configures the port. *caps gets the offloads in use as port caps. */
static bool
prepare(struct device *d, const struct device_request *req, uint32_t *caps, struct error *err)
{
	struct rte_eth_dev_info info;
	const int rc = rte_eth_dev_info_get(d->id, &info);

	if (rc != 0)
		return failed("describe the port", rc, err);
	d->isolated = req->plan->isolated;
	if (d->isolated && !flow_rules_isolate(d->id, err))
		return false;
	*caps = choose_offloads(d, &info, req->profile->offloads);
	if (device_vlans_filter(d, req->cfg))
		d->offloads_rx |= info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	return configure(d, req, &info, err);
}

static bool
set_up_queues(struct device *d, struct error *err)
{
	for (uint32_t i = 0; i < d->queues; i++)
		if (!set_up_queue(d, i, err))
			return false;
	return true;
}

/* Starts a port whose queues are set up; then sets the filters and the spreading of flows. */
static bool
bring_up(struct device *d, const struct device_request *req, struct error *err)
{
	int rc = rte_eth_dev_start(d->id);

	if (rc != 0)
		return req->profile->needs & NEED_SOCKET_THERE ? no_peer(req->profile, err)
							       : failed("start", rc, err);
	if (req->profile->promiscuous && !d->isolated &&
	    (rc = rte_eth_promiscuous_enable(d->id)) != 0)
		return failed("receive every frame (promiscuous)", rc, err);
	join_groups(d, req->cfg);
	rc = device_vlans_join(d, req->cfg);
	if (rc != 0)
		return failed("receive VLANs", rc, err);
	return fill_reta(d, req->plan, err);
}

/* Gives the port the MAC that peers know. A bond has that of its first member, and after a reset a
 * virtual function may have another one. */
static bool
keep_mac(const struct device *d, const struct device_request *req, struct error *err)
{
	struct rte_ether_addr ours, now = {0};
	int rc;

	memcpy(ours.addr_bytes, d->mac, sizeof ours.addr_bytes);
	if (req->profile->another_mac) /* the port's own MAC is that of the interface */
		ours.addr_bytes[RTE_ETHER_ADDR_LEN - 1] ^= 1;
	rte_eth_macaddr_get(d->id, &now);
	if (rte_is_same_ether_addr(&ours, &now))
		return true;
	rc = rte_eth_dev_default_mac_addr_set(d->id, &ours);
	return rc == 0 || failed("take the MAC address that its peers know", rc, err);
}

/* Programs the plan's rules. An isolated port needs all of them. */
static bool
make_rules(struct device *d, const struct device_request *req, struct error *err)
{
	flow_rules_create(d->id, req->plan, &d->rules);
	return !d->isolated || d->rules.refused == 0 ||
	       error_set(err, "--kernel nic: %s; name a tap interface", d->rules.first);
}

bool
device_start(struct device *d, const struct device_request *req, struct error *err)
{
	uint32_t caps = 0;

	if (!prepare(d, req, &caps, err))
		return false;
	d->queues = req->plan->queues;
	d->cores = req->cfg->cores;
	if (!make_pools(d, req, err) || !set_up_queues(d, err))
		return false;
	fill_ports(d, req, caps);
	/* The kernel joins groups of its own, in addition to the cache's, and LACP has one. */
	d->all_groups = req->cfg->kernel[0] != '\0' || config_has_bond(req->cfg);
	if (!bring_up(d, req, err) || !keep_mac(d, req, err) ||
	    (!config_has_bond(req->cfg) && !wait_for_link(d, req->profile, err)))
		return false;
	if (!make_rules(d, req, err))
		return false;
	device_find_allowances(d);
	return true;
}

/* Leaves the port stopped and without rules, in the state of its first start if the driver has a
 * reset. */
static bool
to_stopped(struct device *d, struct error *err)
{
	int rc = rte_eth_dev_reset(d->id);

	if (rc == -ENOTSUP) {
		flow_rules_flush(d->id);
		rc = rte_eth_dev_stop(d->id);
	}
	return rc == 0 || failed("reset", rc, err);
}

bool
device_reset(struct device *d, const struct device_request *req, struct error *err)
{
	uint32_t caps = 0;

	if (!to_stopped(d, err) || !prepare(d, req, &caps, err) || !set_up_queues(d, err) ||
	    !bring_up(d, req, err) || !keep_mac(d, req, err))
		return false;
	return make_rules(d, req, err);
}

bool
device_restore(struct device *d, const struct device_request *req, struct error *err)
{
	join_groups(d, req->cfg);
	if (!fill_reta(d, req->plan, err))
		return false;
	flow_rules_flush(d->id); /* a driver that kept them would refuse them a second time */
	return make_rules(d, req, err);
}

void
device_leave(struct device *d, bool away)
{
	atomic_store_explicit(&d->away, away, memory_order_relaxed);
}

void
device_abandon(struct device *d)
{
	d->abandoned = true;
}

void
device_stop(struct device *d)
{
	if (d->abandoned)
		return;
	if (d->rules.made != 0)
		flow_rules_flush(d->id);
	if (d->iface[0] != '\0') /* the kernel keeps the interface, with its own MAC */
		(void)rte_eth_dev_default_mac_addr_set(
			d->id, (struct rte_ether_addr *)(void *)d->ports[0].port.mac);
	rte_eth_dev_stop(d->id);
	rte_eth_dev_close(d->id);
}

uint64_t
device_pool_bytes(const struct profile *p, const struct config *cfg, uint32_t frames)
{
	const uint64_t frame = p->mbuf_bytes + MBUF_OVERHEAD;
	const uint64_t one =
		cfg->no_huge && !spans_pages(p, cfg) ? align_up(frame, SMALL_PAGE_BYTES) : frame;

	return cfg->cores * pool_frames(p, cfg, frames) * one + device_loans_bytes(p, cfg);
}

uint32_t
device_frames_free(const struct device *d, uint32_t queue)
{
	return rte_mempool_avail_count(d->ports[queue].pool);
}
