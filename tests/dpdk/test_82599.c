/*
 * Steering on an Intel 82599. Goal: every frame arrives on the queue of the plan, for every plan;
 * a rule that the NIC refuses is named, with its replacement. Method: DPDK's real PCI bus and
 * ixgbe driver, through our own lib/dpdk, on a model of the registers (nic82599/nic82599.h, which
 * lists what silicon may do differently). One plan a process, named by the argument, because EAL
 * starts once. A second argument, "speed", has frames and doorbells handled by the model's thread.
 */
#include "support/test.h"
#include "dpdk/device.h"
#include "dpdk/eal.h"
#include "nic82599/mmio_trap.h"
#include "nic82599/nic82599.h"
#include "nic82599/probe.h"
#include "nic82599/speed82599.h"

#include "steer/steer_flow.h"

#include <stdlib.h>
#include <unistd.h>

#define TYPE_ARP   0x0806u
#define TYPE_IP4   0x0800u
#define TYPE_IP6   0x86ddu
#define TYPE_LLDP  0x88ccu
#define IP_ICMP    1u
#define IP_TCP     6u
#define IP_UDP     17u
#define IP_ICMP6   58u
#define PORT       11211u
#define FLOWS      96u
#define FRAMES     128u
#define MEMORY_MB  288u
#define RING       128u
#define UDP_SUM_AT 40u
#define WAIT_TRIES 60000u /* of a millisecond */

static const struct {
	const char *name;
	uint32_t cores;
	enum config_steering steering;
	bool udp_ports;
	uint32_t queues;      /* 0: as many as cores */
	uint32_t five_tuples; /* 0: as the profile says; else that many */
	const char *words;
} plans[] = {
	{"default", 4, STEERING_AUTO, false, 0, 0,
	 "4 queues, RSS over addresses, TCP ports, UDP ports, table of 128"},
	{"one", 1, STEERING_AUTO, false, 0, 0, "1 queue, all flows on it"},
	{"two", 2, STEERING_AUTO, true, 0, 0,
	 "2 queues, RSS over addresses, TCP ports, UDP ports, table of 128; UDP ports 11211 to "
	 "11212 to queues 0 to 1 (IPv4)"},
	{"three", 3, STEERING_RSS, false, 0, 0,
	 "3 queues, RSS over addresses, TCP ports, UDP ports, table of 128"},
	{"udp8", 8, STEERING_AUTO, true, 0, 0,
	 "8 queues, RSS over addresses, TCP ports, UDP ports, table of 128; UDP ports 11211 to "
	 "11218 to queues 0 to 7 (IPv4)"},
	{"udp16", 16, STEERING_AUTO, true, 0, 0,
	 "16 queues, RSS over addresses, TCP ports, UDP ports, table of 128; UDP ports 11211 to "
	 "11226 to queues 0 to 15 (IPv4)"},
	{"udp-by-director", 8, STEERING_AUTO, true, 0, 1,
	 "8 queues, RSS over addresses, TCP ports, UDP ports, table of 128; UDP ports 11211 to "
	 "11218 to queues 0 to 7 (IPv4)"},
	{"director4", 4, STEERING_FLOW_DIRECTOR, false, 0, 0,
	 "4 queues, TCP over IPv4 by client port (flow director, mask 0x001e), the rest by RSS "
	 "over "
	 "addresses, TCP ports, UDP ports, table of 128"},
	{"director6", 6, STEERING_FLOW_DIRECTOR, true, 0, 0,
	 "6 queues, TCP over IPv4 by client port (flow director, mask 0x003e), the rest by RSS "
	 "over "
	 "addresses, TCP ports, UDP ports, table of 128; UDP ports 11211 to 11216 to queues 0 to 5 "
	 "(IPv4)"},
	{"beyond-rss", 24, STEERING_AUTO, true, 0, 0,
	 "24 queues, TCP over IPv4 by client port (flow director, mask 0x00fe), the rest by RSS "
	 "over addresses, TCP ports, UDP ports, table of 128 over 16 queues; UDP ports 11211 to "
	 "11234 to queues 0 to 23 (IPv4)"},
	{"none", 4, STEERING_NONE, false, 0, 0,
	 "4 queues, the port is left to spread flows as it does"},
	{"handover", 4, STEERING_SOFTWARE, true, 2, 0,
	 "2 queues, RSS over addresses, TCP ports, UDP ports, table of 128; UDP ports 11211 to "
	 "11212 to queues 0 to 1 (IPv4); 4 cores hand frames over to each other in software"},
};

static uint32_t chosen; /* index of plans */
static bool at_speed;
static struct speed82599 speed;
static struct pci_folder folder;
static struct nic82599 nic;
static struct config config;
static struct profile profile;
static struct steer_plan plan;
static struct device device;

/* Returns the fields that the driver can hash. A plan may request others. */
static uint32_t
kinds(void)
{
	return device.caps.rss_fields;
}

static void
configure(void)
{
	struct error err = {0};
	char cores[8];

	config_defaults(&config);
	config.no_huge = true;
	snprintf(cores, sizeof cores, "%u", plans[chosen].cores);
	check(config_set(&config, "port", PCI_FOLDER_ADDRESS, &err));
	check(config_set(&config, "udp-port", "11211", &err));
	check(config_set(&config, "file-prefix", plans[chosen].name, &err));
	config.steering = plans[chosen].steering;
	config.udp_port_per_core = plans[chosen].udp_ports;
	config.cores = plans[chosen].cores;
	config.queues = plans[chosen].queues;
	/* EAL's cores are not the plan's: one thread polls all queues here. */
	check(lcores_parse(&config.lcores, "0@0", &err));
	if (!profile_load(&profile, PROFILE_DIR "/ixgbe.yaml", "ixgbe", &err))
		fail_msg("%s", err.text);
	if (plans[chosen].five_tuples != 0)
		profile.flow.five_tuple_max = plans[chosen].five_tuples;
	profile.rx_ring = profile.tx_ring = RING;
	profile.offloads |= OFFLOAD_TX_IP_CKSUM | OFFLOAD_TX_UDP_CKSUM | OFFLOAD_TX_TCP_CKSUM;
}

static void
start(void)
{
	struct error err = {0};
	struct eal_args args;
	struct device_request req = {&config, &profile, &plan, FRAMES, NULL};

	configure();
	pci_folder_make(&folder, VENDOR_INTEL, DEVICE_82599_KX4);
	if (at_speed) {
		nic82599_start_shared(&nic);
		speed82599_start(&speed, &nic,
				 &(struct speed82599_options){.cpu = -1, .keep_sent = true});
	} else {
		nic82599_start(&nic);
	}
	eal_args_make(&args, &config, &profile, config.pci, MEMORY_MB);
	if (!eal_start(&args, false, &err) || !device_find(&device, &profile, &err) ||
	    !steer_plan_make(&plan, &config, &profile, &device.caps, &err) ||
	    !device_start(&device, &req, &err))
		fail_msg("%s", err.text);
}

static void
stop(void)
{
	mmio_trap_again();
	device_stop(&device);
	eal_stop();
	if (at_speed)
		speed82599_stop(&speed);
	pci_folder_remove(&folder);
}

/* Returns the queue on which the driver delivered the frame, alone and
 * whole; *mark gets its marks. */
static uint32_t
delivered(const uint8_t *frame, uint32_t len, uint32_t *mark)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t q = 0; q < device.queues; q++) {
		struct port *port = &device.ports[q].port;
		struct burst b;

		port->ops->rx(port, &b, BURST_MAX);
		if (b.count == 0)
			continue;
		check_eq(b.count, 1);
		check_eq(found, UINT32_MAX);
		check_eq(b.len[0], len);
		check_bytes(b.data[0], frame, len);
		*mark = b.ol_flags[0];
		found = q;
		port->ops->drop(port, b.frame, 1);
	}
	return found;
}

static uint32_t
send(const struct probe *p, uint32_t *mark)
{
	uint8_t frame[PROBE_BYTES_MAX];
	const uint32_t len = probe_write(frame, p, nic.mac);
	const struct choice c = at_speed ? speed82599_receive(&speed, frame, len)
					 : nic82599_receive(&nic, frame, len);

	check(!c.drop);
	return delivered(frame, len, mark);
}

static void
lands_as_planned(const struct probe *p, uint32_t hits[CORES_MAX])
{
	const uint32_t planned = probe_queue(&plan, p, kinds());
	uint32_t mark = 0;
	const uint32_t queue = send(p, &mark);

	if (queue != planned)
		fail_msg("%s from %08x:%u to %u: planned for queue %u, came on %u", p->words,
			 p->src, p->src_port, p->dst_port, planned, queue);
	check_eq(mark & (FRAME_IP_CKSUM_BAD | FRAME_L4_CKSUM_BAD), 0);
	hits[queue]++;
	if (probe_is_tcp(p) && !plan.handover) {
		const uint32_t core = probe_core_of_flow(&plan, config.cores, p);

		check(core == queue || core == STEER_CORE_UNKNOWN);
		check(core == queue || strcmp(steer_mode(&plan), "rss") != 0);
	}
}

static const struct probe kinds_of_frames[] = {
	{"ARP", TYPE_ARP, 0, false, false, false, 0, 0, 0},
	{"LLDP", TYPE_LLDP, 0, false, false, false, 0, 0, 0},
	{"ICMP", TYPE_IP4, IP_ICMP, false, false, false, 0x0a000002, 0, 0},
	{"ICMPv6", TYPE_IP6, IP_ICMP6, false, false, false, 0x0a000002, 0, 0},
	{"TCP", TYPE_IP4, IP_TCP, false, false, false, 0x0a000002, 32768, PORT},
	{"TCP in a VLAN", TYPE_IP4, IP_TCP, true, false, false, 0x0a000002, 32768, PORT},
	{"TCP over IPv6", TYPE_IP6, IP_TCP, false, false, false, 0x0a000002, 32768, PORT},
	{"UDP", TYPE_IP4, IP_UDP, false, false, false, 0x0a000002, 32768, PORT},
	{"UDP over IPv6", TYPE_IP6, IP_UDP, false, false, false, 0x0a000002, 32768, PORT},
	{"UDP, a fragment", TYPE_IP4, IP_UDP, false, true, false, 0x0a000002, 32768, PORT},
};
#define KINDS (sizeof kinds_of_frames / sizeof kinds_of_frames[0])

TEST(the_plan_is_the_one_meant)
{
	check_str(plan.words, plans[chosen].words);
	check_eq(device.rules.made, plan.rule_count);
	check_str(device.rules.first, "");
}

/* Every kind of frame is sent from many clients to our port, the ports of other cores, and an
 * unused one. */
TEST(every_frame_lands_on_the_queue_of_the_plan)
{
	uint32_t hits[CORES_MAX] = {0};

	mmio_trap_again();
	for (uint32_t k = 0; k < KINDS; k++) {
		for (uint32_t flow = 0; flow < FLOWS; flow++) {
			struct probe p = kinds_of_frames[k];

			p.src += flow / 7 * 0x101;
			p.src_port = (uint16_t)(p.src_port + flow);
			p.dst_port = (uint16_t)(p.dst_port + (flow % 3 == 0 ? 0 : flow % 30));
			lands_as_planned(&p, hits);
		}
	}
	for (uint32_t q = 0; q < device.queues; q++)
		check(hits[q] > 0 || plans[chosen].steering == STEERING_NONE);
}

/* The ixgbe driver reports a wrong UDP checksum as unknown (for an erratum of the NIC), so the
 * stack checks it; a wrong TCP checksum is reported as bad. */
TEST(a_wrong_checksum_is_never_called_good)
{
	mmio_trap_again();
	for (uint32_t k = 0; k < KINDS; k++) {
		struct probe p = kinds_of_frames[k];
		uint32_t mark = 0;

		if ((p.protocol != IP_TCP && p.protocol != IP_UDP) || p.fragment)
			continue;
		send(&p, &mark);
		check(mark & FRAME_L4_CKSUM_GOOD);
		p.bad_cksum = true;
		send(&p, &mark);
		check(!(mark & FRAME_L4_CKSUM_GOOD));
		check_eq((mark & FRAME_L4_CKSUM_BAD) != 0, p.protocol == IP_TCP);
	}
}

/* Gives the model's thread time to send. */
static void
wait_for_sent(uint32_t count)
{
	for (uint32_t i = 0; i < WAIT_TRIES && at_speed && nic.sent_count != count; i++)
		usleep(1000);
}

TEST(every_queue_sends_and_the_nic_fills_in_checksums)
{
	const struct probe udp = {"UDP", TYPE_IP4, IP_UDP, false, false, false, 0x0a000002, 1, 2};

	mmio_trap_again();
	for (uint32_t q = 0; q < device.queues; q++) {
		struct port *port = &device.ports[q].port;
		const struct sent_frame *sent = &nic.sent[nic.sent_count % SENT_MAX];
		const uint32_t before = nic.sent_count;
		uint8_t frame[PROBE_BYTES_MAX];
		struct burst b;

		port->ops->alloc(port, &b, 1);
		check_eq(b.count, 1);
		b.len[0] = probe_write(frame, &udp, nic.mac);
		memcpy(b.data[0], frame, b.len[0]);
		memset(b.data[0] + UDP_SUM_AT, 0, 2); /* without a sum of the pseudo header */
		b.ol_flags[0] = FRAME_L4_CKSUM_FILL | FRAME_IP_CKSUM_FILL;
		memset(b.data[0] + 24, 0, 2);
		check_eq(port->ops->tx(port, &b), 1);
		wait_for_sent(before + 1);
		check_eq(nic.sent_count, before + 1);
		check_eq(sent->queue, q);
		check_bytes(sent->bytes, frame, UDP_SUM_AT);
		check(memcmp(sent->bytes + UDP_SUM_AT, "\0\0", 2) != 0);
	}
}

static struct steer_rule
udp_rule(enum steer_kind kind, uint32_t version, uint16_t port, uint16_t mask, uint32_t mark)
{
	struct steer_rule r = {
		.match = {.ip_version = (uint8_t)version,
			  .protocol = IP_UDP,
			  .dst_port = port,
			  .dst_port_mask = mask},
		.kind = kind,
		.queue = 1,
		.mark = mark,
		.explicit_protocol = kind == STEER_EXACT,
		.if_refused = "another way",
	};

	snprintf(r.words, sizeof r.words, "UDP%u port %u/%04x", version, port, mask);
	return r;
}

/* The plan ignores the NIC's limits; each of these rules is refused for another limit. */
TEST(what_the_nic_refuses_is_named_and_the_rest_is_made)
{
	static struct steer_plan blind;
	const struct steer_rule good = udp_rule(STEER_DIRECTOR, 4, 5000, 0xfff8, 1);
	const struct steer_rule refused[] = {
		udp_rule(STEER_DIRECTOR, 4, 5000, 0xfff0, 2), /* a second mask for the port */
		udp_rule(STEER_EXACT, 6, 5001, 0xffff, 0),    /* ports over IPv6 */
		udp_rule(STEER_EXACT, 4, 5002, 0xfff0, 0),    /* a mask in an exact filter */
	};
	struct rule_report report;

	mmio_trap_again();
	flow_rules_flush(device.id);
	for (uint32_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		const char *begin = "the NIC refused the rule \"UDP";

		blind.rules[0] = good;
		blind.rules[1] = refused[i];
		blind.rules[2] = udp_rule(STEER_EXACT, 4, 6000, 0xffff, 0);
		blind.rule_count = 3;
		flow_rules_create(device.id, &blind, &report);
		check_eq(report.made, 2);
		check_eq(report.refused, 1);
		check_eq(strncmp(report.first, begin, strlen(begin)), 0);
		check(strstr(report.first, refused[i].words) != NULL);
		check(strstr(report.first, "; instead: another way") != NULL);
		print_message("%s\n", report.first);
		flow_rules_flush(device.id);
	}
}

TEST(the_129th_exact_rule_is_refused)
{
	static struct steer_plan many;
	struct rule_report report;

	mmio_trap_again();
	many.rule_count = FIVE_TUPLES + 1;
	for (uint32_t i = 0; i < many.rule_count; i++)
		many.rules[i] = udp_rule(STEER_EXACT, 4, (uint16_t)(5000 + i), 0xffff, 0);
	flow_rules_create(device.id, &many, &report);
	check_eq(report.made, FIVE_TUPLES);
	check_eq(report.refused, 1);
	print_message("%s\n", report.first);
	flow_rules_flush(device.id);
}

TEST(no_rule_stays_in_the_nic_once_dropped)
{
	mmio_trap_again();
	flow_rules_create(device.id, &plan, &device.rules);
	flow_rules_flush(device.id);
	check_eq(nic.director_count, 0);
	for (uint32_t i = 0; i < FIVE_TUPLES; i++)
		check_eq(*nic_reg(&nic, REG_FTQF(i)) & FTQF_ENABLE, 0);
	for (uint32_t i = 0; i < ETHERTYPES; i++)
		check_eq(*nic_reg(&nic, REG_ETQF(i)) & ETQF_ENABLE, 0);
}

static void
find_plan(const char *name)
{
	for (uint32_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
		if (strcmp(plans[i].name, name) == 0) {
			chosen = i;
			return;
		}
	}
	fprintf(stderr, "no plan is called %s\n", name);
	exit(2);
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "default";

	at_speed = argc > 2 && strcmp(argv[2], "speed") == 0;

	/* The refusals are those of the first plan's port. */
	if (strcmp(name, "refusals") == 0) {
		tests_filter("*refuse*");
	} else {
		cmocka_set_skip_filter("*refuse*");
		find_plan(name);
	}
	return tests_run(start, stop);
}
