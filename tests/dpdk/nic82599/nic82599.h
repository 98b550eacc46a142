/*
 * nic82599.h - an Intel 82599 in memory, behind DPDK's real ixgbe driver.
 *
 * The driver programs registers (nic82599.c); the model passes a frame through the receive
 * filters (filters82599.c) and puts it into, or fetches it from, descriptor rings (rings82599.c).
 *
 * Differences from silicon are possible: the model was written from the data sheet and not
 * compared with a card, and it does at once what takes a card time. In particular: the order in
 * which kinds of filter are applied; flow director's buckets, in which a card may refuse a rule
 * for lack of room near its hash; which of two five-tuple filters of one priority wins; link
 * changes; receive coalescing, header split, virtual functions, interrupts, statistics beyond
 * four counters, and descriptors prefetched or written back late. A frame that exceeds its
 * receive buffer is dropped. The model shows that the driver accepts our requests, writes the
 * registers that mean them, and refuses what it is expected to refuse.
 *
 * Shape:  one device, one in a process.
 * Owner:  the caller: static, because signal handlers reach it.
 * Thread: one: registers by the driver's thread, nic82599_receive by the same. Shared registers
 *         are polled by another (speed82599.h).
 * Errors: a request unknown to the model ends the process with words.
 * Bounds: DIRECTOR_MAX flow director rules, SENT_MAX frames sent and not yet checked.
 */
#ifndef CLOCKOO_NIC82599_H
#define CLOCKOO_NIC82599_H

#include "pci_folder.h"
#include "regs82599.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DIRECTOR_MAX   8192u
#define SENT_MAX       64u
#define SENT_BYTES_MAX 2048u

struct director_rule {
	uint32_t src_ip, dst_ip; /* as on the wire */
	uint32_t ports;          /* source in the low half */
	uint32_t hash;           /* the driver's name of the rule */
	uint32_t command;
	bool used;
};

struct sent_frame {
	uint32_t len, queue;
	uint8_t bytes[SENT_BYTES_MAX];
};

struct nic82599 {
	uint32_t *regs; /* PCI_FOLDER_BAR_BYTES of a file, of which the driver may map pages */
	int regs_fd;
	bool shared; /* pages of rings are mapped at the driver's addresses: no access traps */
	_Atomic uint32_t written; /* accesses that trapped and wrote */
	uint8_t mac[6];
	struct director_rule director[DIRECTOR_MAX];
	uint32_t director_count;
	uint32_t context[QUEUES_82599][2][4];  /* of transmit checksums */
	struct sent_frame begun[QUEUES_82599]; /* frames whose last descriptor is missing */
	struct sent_frame sent[SENT_MAX];
	_Atomic uint32_t sent_count;
	/* Resets begun, and those that the polling thread has noticed; it is waited for while it
	 * polls. */
	_Atomic uint32_t resets, resets_seen;
	_Atomic bool polled;
};

/* The filter that chose the queue. */
enum chosen_by {
	CHOSEN_ETHERTYPE,
	CHOSEN_SYN,
	CHOSEN_FIVE_TUPLE,
	CHOSEN_DIRECTOR,
	CHOSEN_RSS,
	CHOSEN_DEFAULT, /* none: queue 0 */
};

struct choice {
	uint32_t queue;
	enum chosen_by by;
	bool drop;
	uint32_t hash;     /* RSS, or the rule's mark */
	uint32_t rss_type; /* 7.1.2.8.1 */
};

/* The fields that filters compare; addresses as on the wire. */
struct headers {
	uint16_t type;
	uint32_t l3, l4; /* offsets */
	bool v4, v6, fragment, tcp, udp, syn;
	uint8_t protocol;
	uint8_t src[16], dst[16];
	uint8_t ports[4];
};

/* The words that a card writes into the descriptor of a received frame. */
struct receipt {
	uint64_t kind; /* hash, RSS type, packet type */
	uint32_t status, len;
};

struct descriptor {
	uint64_t address;
	uint32_t w2, w3;
};

/* Sets registers as after power-on; from now on the driver's accesses are handled here. */
void nic82599_start(struct nic82599 *nic);
/* Starts it with doorbells and the other registers of rings in memory that the driver shares: a
 * thread polls them (speed82599.h). */
void nic82599_start_shared(struct nic82599 *nic);

/* Receives a frame from the wire, without FCS. Returns where it went; drop is
 * set if it went nowhere. */
struct choice nic82599_receive(struct nic82599 *nic, const uint8_t *frame, uint32_t len);
/* Returns where a frame goes, with its headers. */
struct choice nic82599_classify(struct nic82599 *nic, const uint8_t *frame, uint32_t len,
				struct headers *h);

/* Functions shared by the files of the model. */
static inline uint32_t *
nic_reg(struct nic82599 *nic, uint32_t at)
{
	return &nic->regs[at / 4];
}

bool headers_parse(struct headers *h, const uint8_t *frame, uint32_t len);
struct choice filters_choose(struct nic82599 *nic, const struct headers *h);
/* Handles a ring's doorbell: fetches and sends all frames up to the tail. */
void rings_send(struct nic82599 *nic, uint32_t queue);
bool rings_lay(struct nic82599 *nic, const uint8_t *frame, uint32_t len, const struct headers *h,
	       const struct choice *c);
void rings_receipt(struct receipt *r, const uint8_t *frame, uint32_t len, const struct headers *h,
		   const struct choice *c);
struct descriptor *rings_at(struct nic82599 *nic, uint32_t ring);
/* Handles one descriptor of a transmit ring. keep: a frame goes to nic->sent. */
void rings_take(struct nic82599 *nic, uint32_t queue, struct descriptor *d, bool keep);

#endif
