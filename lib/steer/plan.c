#include "plan.h"

#include <stdio.h>
#include <string.h>

/*
 * The key of Microsoft's "Verifying the RSS hash calculation", the one most drivers start with.
 * It spreads well and has published test vectors. It need not be secret: a client that aims its
 * flows at one queue slows down that queue, which it could do by flooding as well.
 */
static const uint8_t rss_key[] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb3, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static uint32_t
least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool
enough_queues(uint32_t queues, const struct profile *p, const struct port_caps *caps,
	      struct fault *f)
{
	const uint32_t most = least(p->queues_max, least(caps->rx_queues_max, caps->tx_queues_max));

	if (queues <= most)
		return true;
	return fault_say(f,
			 "--port %s: %u cores need a queue each and the port has %u: use -t %u, or "
			 "a port with more queues",
			 p->name, queues, most, most);
}

static bool
plan_rss(struct steer_plan *plan, const struct profile *p, const struct port_caps *caps,
	 struct fault *f)
{
	char table[32];

	if (caps->rss_fields == 0)
		return fault_say(f,
				 "--port %s: the NIC cannot hash flows (no RSS over IPv4), which "
				 "%u cores need: use -t 1",
				 p->name, plan->queues);
	if (caps->reta_size > RETA_MAX)
		return fault_say(f,
				 "--port %s: a redirection table of %u entries; we fill %u: use "
				 "-t 1",
				 p->name, caps->reta_size, RETA_MAX);
	plan->rss_fields = caps->rss_fields;
	plan->rss_key_bytes = least(caps->rss_key_bytes, RSS_KEY_MAX);
	/* Longer keys only matter for longer inputs than IPv4 has: repeat. */
	for (uint32_t i = 0; i < plan->rss_key_bytes; i++)
		plan->rss_key[i] = rss_key[i % sizeof rss_key];
	plan->reta_size = caps->reta_size;
	for (uint32_t i = 0; i < plan->reta_size; i++)
		plan->reta[i] = (uint16_t)(i % plan->queues);
	snprintf(table, sizeof table, "table of %u", plan->reta_size);
	snprintf(plan->words, sizeof plan->words, "%u queues, RSS over addresses%s%s, %s",
		 plan->queues, caps->rss_fields & RSS_TCP ? ", TCP ports" : "",
		 caps->rss_fields & RSS_UDP ? ", UDP ports" : "",
		 plan->reta_size != 0 ? table : "the NIC's own table");
	return true;
}

static bool
plan_many(struct steer_plan *plan, const struct profile *p, const struct port_caps *caps,
	  struct fault *f)
{
	const char *how = NULL;

	switch (p->spread) {
	case SPREAD_RSS:
		return plan_rss(plan, p, caps, f);
	case SPREAD_FANOUT:
		how = "the kernel spreads flows by hash (packet fanout)";
		break;
	case SPREAD_KERNEL:
		how = "the kernel spreads flows by hash over the interface's queues";
		break;
	case SPREAD_PEER:
		how = "the other side must keep each flow on one queue";
		break;
	case SPREAD_NONE:
		break;
	}
	if (how == NULL)
		return fault_say(f,
				 "--port %s: it cannot spread flows over %u cores: use -t 1, or "
				 "another port",
				 p->name, plan->queues);
	snprintf(plan->words, sizeof plan->words, "%u queues, %s", plan->queues, how);
	return true;
}

bool
steer_make(struct steer_plan *plan, const struct config *cfg, const struct profile *profile,
	   const struct port_caps *caps, struct fault *f)
{
	memset(plan, 0, sizeof *plan);
	plan->queues = cfg->cores;
	if (plan->queues == 1) {
		snprintf(plan->words, sizeof plan->words, "1 queue, all flows on it");
		return enough_queues(1, profile, caps, f);
	}
	return enough_queues(plan->queues, profile, caps, f) && plan_many(plan, profile, caps, f);
}

void
steer_promise(const struct profile *profile, struct port_caps *caps)
{
	*caps = (struct port_caps){
		.rx_queues_max = profile->queues_max,
		.tx_queues_max = profile->queues_max,
		.rss_fields = RSS_IP | RSS_TCP | RSS_UDP,
		.rss_key_bytes = sizeof rss_key,
		.reta_size = 128,
	};
}
