/*
 * mld_io.c - a listener of multicast listener discovery (RFC 3810): reports our solicited-node
 * groups, so that switches that watch MLD forward them to us. Without the reports no host behind
 * such a switch would reach our addresses.
 *
 * The core that announces our addresses reports changes; the core that receives a query answers it.
 * While a link has a querier of MLDv1, reports on it are those of MLDv1 (section 8.2.1). We report
 * even if other hosts report the same group: section 8.2.2 permits that, and a switch must see a
 * report from each port (RFC 4541 section 3). The group of all nodes is never reported (section 6).
 *
 * Bounds: in a turn MLD_LOOKS numbers are examined and ANNOUNCE_BURST reports sent for answers, and
 *         as many for changes; MLD_ANSWERS_MAX answers on a link in RATE_LIMIT_NS.
 */
#include "neigh_table.h"
#include "net_inside.h"
#include "base/time_units.h"
#include "wire/eth_wire.h"
#include "wire/icmp6_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/mld_wire.h"

#define MLD_AT    (ETH_HEADER_BYTES + IPV6_HEADER_BYTES + MLD_ALERT_BYTES)
#define MLD_LOOKS 1024u
/* How long a querier of MLDv1 counts as present. RFC 3810 section 9.12: twice the query interval
 * and the response delay; the interval is the default one, since MLDv1 queries have no such
 * field. */
#define MLD1_PRESENT_NS (260ull * NS_PER_S)

/* ---- reports ---- */

/* Sends the message of len bytes in the frame that was begun. */
static void
mld_send(struct net *net, uint16_t local, const struct ip_addr *dst, uint16_t len)
{
	uint8_t *frame = tx_queue_begun(net), *p = frame + MLD_AT;
	struct ipv6_header *ip = (struct ipv6_header *)(frame + ETH_HEADER_BYTES);
	uint8_t mac[ETH_MAC_BYTES];
	struct be16 cksum;

	ipv6_group_mac(dst, mac);
	eth_emit(frame, mac, net->port->mac, ETH_TYPE_IPV6);
	ipv6_emit((uint8_t *)ip, &net->ip[local], dst, IPV6_HOP_BY_HOP,
		  (uint16_t)(MLD_ALERT_BYTES + len));
	ip->hop_limit = MLD_HOP_LIMIT;
	mld_alert_emit((uint8_t *)(ip + 1));
	cksum = inet_cksum(
		inet_sum(inet_sum_pseudo6(ip->src.b, ip->dst.b, IPV6_ICMP, len), p, len));
	memcpy(p + ICMP6_CKSUM_OFFSET, &cksum, sizeof cksum);
	tx_queue_commit(net, local, MLD_AT + len, 0);
	net_count(net, MLD_REPORTS_SENT);
}

/* Returns the record for the group of an address on the link. Of several addresses with the same
 * group one has the record. An address that leaves has one only if no other address keeps its
 * group. */
static enum mld_record
record_of(const struct local_addrs *a, const struct mld_walk *w, struct ip_addr *group)
{
	const struct local_state *state = &a->state[w->at];
	uint16_t first;

	if (state->link != w->link || ip_addr_is_zero(&a->ip[w->at]))
		return MLD_NO_RECORD;
	*group = ipv6_solicited_node(&a->ip[w->at]);
	first = local_addrs_group_first(a, group, w->link);
	if (!state->live)
		return w->is_change && first == LOCAL_NONE ? MLD_TO_INCLUDE : MLD_NO_RECORD;
	if (first != w->at)
		return MLD_NO_RECORD;
	return w->is_change ? MLD_TO_EXCLUDE : MLD_IS_EXCLUDE;
}

/* Writes up to `most` records, from the walk's number on. Returns how many. *what and *group: of
 * the last record. */
static uint32_t
write_records(struct net *net, struct mld_walk *w, uint32_t most, enum mld_record *what,
	      struct ip_addr *group)
{
	uint8_t *p = tx_queue_begun(net) + MLD_AT + MLD_HEADER_BYTES;
	uint32_t n = 0;

	for (; w->at < net->addrs->numbers && n < most && w->looks != 0; w->at += 2, w->looks--) {
		struct ip_addr found;
		const enum mld_record record = record_of(net->addrs, w, &found);

		if (record == MLD_NO_RECORD)
			continue;
		mld_record_emit(p + n++ * MLD_RECORD_BYTES, record, &found);
		*what = record;
		*group = found;
	}
	return n;
}

/* Sends one report, from the walk's number on. It has many groups, or in MLDv1 one. The queue must
 * have room. */
static void
report_some(struct net *net, struct mld_walk *w)
{
	const struct net_link *link = &net->addrs->link[w->link];
	const bool is_v1 = neigh_mld1_present_mt(net->neigh, link->vlan, net->now_ns);
	const struct ip_addr routers = is_v1 ? mld1_routers() : mld_routers();
	uint8_t *frame = tx_queue_begin(net);
	enum mld_record what = MLD_NO_RECORD;
	struct ip_addr group;
	uint32_t n;

	if (frame == NULL)
		return;
	n = write_records(net, w, is_v1 ? 1 : MLD_RECORDS_MAX, &what, &group);
	if (n == 0 || link->source6 == LOCAL_NONE)
		return;
	if (!is_v1) {
		mld_report_emit(frame + MLD_AT, n);
		mld_send(net, link->source6, &routers,
			 (uint16_t)(MLD_HEADER_BYTES + n * MLD_RECORD_BYTES));
	} else {
		const bool leaves = what == MLD_TO_INCLUDE;

		mld1_emit(frame + MLD_AT, leaves ? MLD1_DONE : MLD1_REPORT, &group);
		mld_send(net, link->source6, leaves ? &routers : &group, MLD1_BYTES);
	}
}

void
mld_announce_begin(struct net *net)
{
	net->mld.change = (struct mld_walk){.at = LOCAL_LINK6, .is_change = true};
}

/* Section 6.1. Reports are not acknowledged, so the caller repeats this. */
bool
mld_announce(struct net *net)
{
	struct mld_walk *w = &net->mld.change;

	if (!net->ipv6_enabled)
		return true;
	w->looks = MLD_LOOKS;
	for (uint32_t n = 0; n < ANNOUNCE_BURST && w->looks != 0; n++) {
		if (w->link == net->addrs->link_count) {
			mld_announce_begin(net);
			return true;
		}
		report_some(net, w);
		if (w->at >= net->addrs->numbers) {
			w->link++;
			w->at = LOCAL_LINK6;
		}
	}
	return false;
}

/* ---- queries ---- */

static bool
is_due(const struct net *net, uint64_t at_ns)
{
	return at_ns != 0 && net->now_ns >= at_ns;
}

static void
note_due(struct net *net, uint64_t at_ns)
{
	if (at_ns != 0 && at_ns < net->mld.due_ns)
		net->mld.due_ns = at_ns;
}

/* Schedules an answer, unless one is pending (not 0) that is due sooner. */
static void
schedule(struct net *net, uint64_t *at_ns, uint64_t when_ns)
{
	if (*at_ns == 0 || when_ns < *at_ns)
		*at_ns = when_ns;
	note_due(net, *at_ns);
}

/* Answers the pending query about one group. False: there is no room, or the rate limit is
 * reached. */
static bool
answer_one(struct net *net, uint32_t link)
{
	struct mld_link *m = &net->mld.link[link];
	struct mld_walk one = {.link = link, .at = m->one, .looks = 1};

	if (tx_queue_room(net) == 0 || !rate_limit_allow(&m->limit, net->now_ns, MLD_ANSWERS_MAX))
		return false;
	m->one_at_ns = 0;
	report_some(net, &one);
	return true;
}

/* Sends some of the answer to a query about all groups. */
static void
answer_all(struct net *net, uint32_t link, uint32_t *left, uint32_t *looks)
{
	struct mld_link *m = &net->mld.link[link];
	struct mld_walk w = {.link = link, .at = m->all_next, .looks = *looks};

	while (m->all_at_ns != 0 && *left != 0 && w.looks != 0) {
		if (!rate_limit_allow(&m->limit, net->now_ns, MLD_ANSWERS_MAX)) {
			m->all_at_ns = m->limit.since_ns + RATE_LIMIT_NS;
			break;
		}
		report_some(net, &w);
		--*left;
		if (w.at >= net->addrs->numbers)
			m->all_at_ns = 0;
	}
	m->all_next = w.at;
	*looks = w.looks;
}

void
mld_tick(struct net *net)
{
	uint32_t left = ANNOUNCE_BURST, looks = MLD_LOOKS;

	if (tx_queue_room(net) < 2 * ANNOUNCE_BURST)
		return;
	net->mld.due_ns = UINT64_MAX;
	for (uint32_t i = 0; i < net->addrs->link_count; i++) {
		struct mld_link *m = &net->mld.link[i];

		if (is_due(net, m->one_at_ns) && left != 0) {
			left--;
			if (!answer_one(net, i))
				m->one_at_ns = m->limit.since_ns + RATE_LIMIT_NS;
		}
		if (is_due(net, m->all_at_ns))
			answer_all(net, i, &left, &looks);
		note_due(net, m->one_at_ns);
		note_due(net, m->all_at_ns);
	}
}

void
mld_addrs_changed(struct net *net)
{
	for (uint32_t i = 0; i < 2 * LINKS_MAX; i++)
		net->mld.link[i].one_at_ns = net->mld.link[i].all_at_ns = 0;
	net->mld.due_ns = UINT64_MAX;
	mld_announce_begin(net);
}

/* Schedules the answer to a query (section 6.2, rules 1 to 3). An answer about all groups that has
 * not begun also answers a query about one. If queries about two groups are pending, the first is
 * answered at once. */
static void
schedule_one(struct net *net, uint32_t link, uint16_t local, uint64_t when_ns)
{
	struct mld_link *m = &net->mld.link[link];

	if (m->all_at_ns != 0 && m->all_next == LOCAL_LINK6 && m->all_at_ns <= when_ns)
		return;
	if (m->one_at_ns != 0 && m->one != local && !answer_one(net, link)) {
		net_count(net, DROP_MLD_RATE_LIMIT);
		return;
	}
	m->one = local;
	schedule(net, &m->one_at_ns, when_ns);
}

/* Notes the version of MLD on a link. Section 8.2.1: when it changes, pending queries are
 * forgotten. */
static void
note_version(struct net *net, uint32_t link)
{
	const uint16_t vlan = net->addrs->link[link].vlan;
	struct mld_link *m = &net->mld.link[link];

	if (!neigh_mld1_present_mt(net->neigh, vlan, net->now_ns))
		m->one_at_ns = m->all_at_ns = 0;
	neigh_note_mld1_mt(net->neigh, vlan, net->now_ns + MLD1_PRESENT_NS);
}

/* Schedules the answer at a random time in the first half of the allowed delay. The second half
 * remains for sending it, which may take many reports. */
static void
process_query(struct net *net, uint32_t link, const struct mld_query *q)
{
	const uint64_t most_ns = q->delay_ms * NS_PER_MS / 2;
	const uint64_t when_ns =
		net->now_ns + hash_word(net->now_ns + link, net->cfg.seed) % (most_ns + 1);
	struct mld_link *m = &net->mld.link[link];
	uint16_t local;

	if (q->is_v1)
		note_version(net, link);
	if (ip_addr_is_zero(&q->group)) {
		if (m->all_at_ns == 0)
			m->all_next = LOCAL_LINK6;
		schedule(net, &m->all_at_ns, when_ns);
		return;
	}
	local = local_addrs_group_first(net->addrs, &q->group, (uint8_t)link);
	if (local != LOCAL_NONE)
		schedule_one(net, link, local, when_ns);
}

/* True if a query comes from a querier of this link (section 6.2). */
static bool
is_from_querier(const struct ipv6_header *h)
{
	const uint8_t *ext = (const uint8_t *)(h + 1);

	return h->hop_limit == MLD_HOP_LIMIT && ip_addr_is_link_local(&h->src) &&
	       h->next == IPV6_HOP_BY_HOP && mld_has_alert(ext, (ext[1] + 1u) * IPV6_EXT_UNIT);
}

void
mld_input(struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	const uint8_t *frame = net->in->rx.data[rx_index];
	struct mld_query q;

	if (!is_from_querier((const struct ipv6_header *)(frame + ETH_HEADER_BYTES))) {
		net_count(net, DROP_MLD_SENDER);
	} else if (mld_query_parse(&q, frame + l3->l4_offset, l3->l4_len) != MLD_WIRE_OK) {
		net_count(net, DROP_MLD_FORMAT);
	} else {
		net_count(net, MLD_QUERIES);
		process_query(net, l3->link, &q);
	}
	rx_frame_drop(net, rx_index);
}
