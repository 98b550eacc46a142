/*
 * probe.h - frames that show where a NIC puts them, and where a plan says that it should.
 *
 * probe_queue reads the plan as a person would: the first rule that matches, else the hash and
 * the table, else queue 0. It shares no code with the model.
 *
 * Units:  addresses and ports in host order.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_PROBE_H
#define CLOCKOO_PROBE_H

#include "steer/plan.h"

#define PROBE_BYTES_MAX 128u

struct probe {
	const char *words;
	uint16_t ether_type;
	uint8_t protocol;
	bool tagged;   /* VLAN 7 */
	bool fragment; /* the first fragment */
	bool bad_cksum;
	uint32_t src; /* the last four bytes of the address */
	uint16_t src_port, dst_port;
};

/* Writes the frame; returns its length. */
uint32_t probe_write(uint8_t frame[PROBE_BYTES_MAX], const struct probe *p, const uint8_t mac[6]);

uint32_t probe_queue(const struct steer_plan *plan, const struct probe *p, uint32_t rss_kinds);

/* Returns the core of a TCP frame's flow, as a caller that opens a connection computes it. */
uint32_t probe_core_of_flow(const struct steer_plan *plan, uint32_t cores, const struct probe *p);
bool probe_is_tcp(const struct probe *p);

#endif
