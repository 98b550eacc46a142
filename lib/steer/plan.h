/*
 * plan.h - plans the number of queues, which core polls which, and how a flow finds its queue.
 *
 * All frames of a flow must reach the same core, since only that core has its connection. The plan
 * is made from plain data before the port is configured, and applied by lib/dpdk.
 *
 * Shape:  queue i of the port is polled by core i. With RSS, key and table are programmed into
 *         the NIC; otherwise they are empty. Rules are in the order in which they are made.
 * Thread: pure functions.
 * Errors: struct error: what the port cannot do and what to do instead.
 * Bounds: CORES_MAX queues, RETA_MAX table entries, RSS_KEY_MAX bytes of key, RULES_MAX rules.
 */
#ifndef CLOCKOO_PLAN_H
#define CLOCKOO_PLAN_H

#include "config/config.h"
#include "profile/profile.h"

#define RETA_MAX    512u
#define RSS_KEY_MAX 64u
/* Rules for TCP by client port; two rules for each core's UDP port; ARP, ICMP and ND. An isolated
 * port has fewer: none by client port, but rules of both families for its TCP ports and for those
 * of its own connections. */
#define TCP_CLASSES_MAX 256u
#define RULES_MAX       (TCP_CLASSES_MAX + 2 * CORES_MAX + 3)

/* The capabilities that the port reports. */
struct port_caps {
	uint32_t rx_queues_max, tx_queues_max;
	uint32_t rss_fields;    /* enum rss_kind */
	uint32_t rss_key_bytes; /* 0: the NIC accepts no key */
	uint32_t reta_size;     /* 0: the NIC has no table to fill */
};

/* The fields that a rule matches; a zero field or mask matches anything. Ports are in host
 * order. */
struct steer_match {
	uint16_t ether_type;
	uint8_t ip_version; /* 4, 6 */
	uint8_t protocol;
	uint16_t src_port, src_port_mask;
	uint16_t dst_port, dst_port_mask;
};

/* The filter of the NIC that a rule is made for. */
enum steer_kind {
	STEER_ETHERTYPE,
	STEER_EXACT,    /* each field is matched completely or not at all */
	STEER_DIRECTOR, /* some bits of a field */
};

struct steer_rule {
	struct steer_match match;
	enum steer_kind kind;
	uint16_t queue;
	uint32_t mark;     /* 0: none */
	uint32_t priority; /* 0 is the first */
	bool spread;       /* spread over all queues by RSS, instead of sent to one */
	/* The IP header must name the protocol although a port implies it. */
	bool explicit_protocol;
	char words[80];         /* purpose of the rule */
	const char *if_refused; /* how these frames reach a core if the NIC refuses the rule */
};

struct steer_plan {
	uint32_t queues;
	bool handover; /* cores forward frames to the core that owns the flow */
	bool isolated; /* the port receives only frames for which there are rules */
	/* Instead, the thread at the other end chooses the core, by the same rule. */
	bool cable;
	uint32_t rss_fields; /* enum rss_kind; 0: no RSS */
	uint32_t rss_key_bytes;
	uint8_t rss_key[RSS_KEY_MAX];
	uint32_t reta_size;
	uint16_t reta[RETA_MAX]; /* hash -> queue */
	uint32_t rule_count;
	struct steer_rule rules[RULES_MAX];
	bool fallback;   /* not what an operator would want, so words are shown */
	char words[320]; /* the choice, for the operator */
};

/* Returns the most that a port of this profile could do. A plan made from it before the port is
 * known fails only if no port of the kind can do what is asked. */
void steer_caps_max(const struct profile *profile, struct port_caps *caps);

bool steer_plan_make(struct steer_plan *plan, const struct config *cfg,
		     const struct profile *profile, const struct port_caps *caps,
		     struct error *err);

/* Returns the word that "stats settings" has for the way in which flows find their core. */
const char *steer_mode(const struct steer_plan *plan);

#endif
