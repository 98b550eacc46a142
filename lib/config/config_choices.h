/*
 * config_choices.h - options whose value is one of several words (option_choices()).
 */
#ifndef CLOCKOO_CONFIG_CHOICES_H
#define CLOCKOO_CONFIG_CHOICES_H

/* The protocols that a connection may speak: memcached's -B. */
enum config_protocol { PROTOCOL_AUTO, PROTOCOL_ASCII, PROTOCOL_BINARY };

/* How a flow finds its core. STEERING_AUTO: the first of these that the port supports. */
enum config_steering {
	STEERING_AUTO,
	STEERING_FLOW_DIRECTOR, /* one rule for each flow */
	STEERING_RSS,
	STEERING_SOFTWARE, /* cores hand frames over to each other */
	STEERING_NONE,
};

/* Use of the second hardware thread of a worker's physical core. */
enum config_hyperthreads { HYPERTHREADS_IDLE, HYPERTHREADS_WORKERS };

/* Behaviour of a core without work: it polls on (SPIN), or waits a little between turns
 * (ADAPTIVE). */
enum config_poll { POLL_SPIN, POLL_ADAPTIVE };

enum config_eviction { EVICTION_2Q, EVICTION_CLOCK };

/* Compression levels of igzip. */
enum config_save_compress { SAVE_COMPRESS_0, SAVE_COMPRESS_1, SAVE_COMPRESS_NO };

enum config_hugepage { HUGEPAGE_ANY, HUGEPAGE_2M, HUGEPAGE_1G };

/* Offloads of a NIC, as a set of bits. */
enum offload {
	OFFLOAD_RX_CKSUM = 1u << 0,
	OFFLOAD_TX_IP_CKSUM = 1u << 1,
	OFFLOAD_TX_UDP_CKSUM = 1u << 2,
	OFFLOAD_TX_TCP_CKSUM = 1u << 3,
	OFFLOAD_TX_FAST_FREE = 1u << 4, /* the NIC frees sent buffers into one pool, unexamined */
	OFFLOAD_TX_LOANS = 1u << 5,     /* values are sent from the arena; excludes fast free */
};

/* Names of the offloads: entry i names bit i, NULL ends the list. */
extern const char *const config_offloads[];

/* IPV6_AUTO: on if address6 is set. */
enum config_ipv6 { IPV6_AUTO, IPV6_ON, IPV6_OFF };
/* Duplicate address detection. AUTO: SHORT, but only on a link that other hosts can share. */
enum config_probe { CONFIG_PROBE_AUTO, CONFIG_PROBE_SHORT, CONFIG_PROBE_LONG, CONFIG_PROBE_OFF };
/* The treatment of connections while the appliance drains (enum serve_drain): new ones get a
 * reset, or no answer; with CLOSE each is closed behind its next answer. ANYCAST: as CLOSE, and the
 * appliance is ready until none is open. */
enum config_drain {
	CONFIG_DRAIN_RESET,
	CONFIG_DRAIN_SILENT,
	CONFIG_DRAIN_CLOSE,
	CONFIG_DRAIN_ANYCAST
};
/* Two members as one port (lib/bond). LACP: the partner sends each second; SLOW: each 30 s. */
enum config_bond { CONFIG_BOND_NONE, CONFIG_BOND_LACP, CONFIG_BOND_LACP_SLOW, CONFIG_BOND_BACKUP };
/* TCP: congestion control, and congestion notification (PASSIVE: with peers that ask). */
enum config_congestion { CONGESTION_CUBIC, CONGESTION_NEWRENO, CONGESTION_DCTCP };
enum config_ecn { CONFIG_ECN_PASSIVE, CONFIG_ECN_ON, CONFIG_ECN_OFF };

#endif
