/*
 * plan.h - how many queues, which core polls which, and how a flow finds its queue.
 *
 * A flow must always land on the same core: its connection lives there and nowhere else. The
 * plan is made from plain data before the port is configured, and applied by lib/dpdk.
 *
 * Shape:  queue i of the port is polled by core i. With RSS, key and table are what the NIC is
 *         given; otherwise they are empty.
 * Thread: pure functions.
 * Errors: struct fault: what the port cannot do and what to do instead.
 * Bounds: CORES_MAX queues, RETA_MAX table entries, RSS_KEY_MAX bytes of key.
 */
#ifndef CLOCKOO_PLAN_H
#define CLOCKOO_PLAN_H

#include "config/config.h"
#include "config/profile.h"

#define RETA_MAX    512u
#define RSS_KEY_MAX 64u

/* What a NIC can hash. */
enum rss_field {
	RSS_IP = 1u << 0,  /* addresses */
	RSS_TCP = 1u << 1, /* addresses and TCP ports */
	RSS_UDP = 1u << 2,
};

/* What the port said about itself. */
struct port_caps {
	uint32_t rx_queues_max, tx_queues_max;
	uint32_t rss_fields;    /* enum rss_field */
	uint32_t rss_key_bytes; /* 0: it takes no key from us */
	uint32_t reta_size;     /* 0: it has no table to fill */
};

struct steer_plan {
	uint32_t queues;
	uint32_t rss_fields; /* 0: no RSS */
	uint32_t rss_key_bytes;
	uint8_t rss_key[RSS_KEY_MAX];
	uint32_t reta_size;
	uint16_t reta[RETA_MAX]; /* hash -> queue */
	char words[160];         /* for the operator: what was chosen */
};

/* The most that a port of this profile could do: a plan made from it fails only for what no port
 * of the kind can do, before there is a port to ask. */
void steer_promise(const struct profile *profile, struct port_caps *caps);

bool steer_make(struct steer_plan *plan, const struct config *cfg, const struct profile *profile,
		const struct port_caps *caps, struct fault *f);

#endif
