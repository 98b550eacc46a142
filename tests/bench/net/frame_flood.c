/*
 * frame_flood.c - sends frames at the highest rate an interface takes, or at a given one: SYNs of
 * sources that do not exist, or frames that the receiver discards.
 *
 * Of the kinds, `syn` requests connections from random addresses and ports. `stray` sends the
 * same SYNs to a MAC without an owner: the loss then is the machine's, not the receiver's.
 * `blank` is a full-sized frame of no protocol, to see how many a link carries.
 *
 * Sources are drawn from NET/LEN, which may be the receiver's own network or any other. The
 * frames are made from the kernel's headers, not from lib/wire: the sender must not share the
 * receiver's errors. Ends with one line of JSON.
 *
 *     frame_flood IFACE MAC TO_IP PORT [--kind syn|stray|blank] [--source NET/LEN] [--ms MS]
 *                 [--rate FRAMES_A_SECOND] [--seed N]
 */
#include "bench_load.h"
#include "packet_socket.h"

#include "base/time_units.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTION_BYTES 20u
#define BLANK_BYTES  1514u
#define BLANK_TYPE   0x88b5 /* IEEE 802: for local experiments */
#define TTL          64u
#define WINDOW       64240u
#define MS_MAX       600000u
#define STEP_NS      (NS_PER_MS / 2) /* resolution of a given rate */
#define PORT_MIN     1024u

/* A Linux client's SYN: MSS 1460, SACK permitted, timestamps, window scale 7. */
static const uint8_t syn_options[OPTION_BYTES] = {2, 4, 5, 180, 4, 2, 8, 10, 0, 0,
						  0, 1, 0, 0,   0, 0, 1, 3,  3, 7};
/* Locally administered addresses; no host has the first. */
static const uint8_t stray_mac[ETH_ALEN] = {2, 0xde, 0xad, 0, 0, 1};
static const uint8_t from_mac[ETH_ALEN] = {2, 0xde, 0xad, 0, 0, 2};

enum kind {
	KIND_SYN,
	KIND_STRAY,
	KIND_BLANK,
	KINDS,
};

static const char *const kind_names[KINDS] = {"syn", "stray", "blank"};

struct options {
	enum kind kind;
	uint8_t mac[ETH_ALEN];
	uint32_t to, source, source_len; /* host order; prefix length in bits */
	uint16_t port;
	uint32_t ms, rate, seed; /* rate 0: as many as the interface accepts */
};

struct syn_frame {
	struct ether_header eth;
	struct iphdr ip;
	struct tcphdr tcp;
	uint8_t options[OPTION_BYTES];
} __attribute__((packed));

union frame {
	struct syn_frame syn;
	uint8_t blank[BLANK_BYTES];
};

struct flood {
	struct options opt;
	uint64_t chance;
	int fd;
	union frame frames[PACKET_BURST];
	uint64_t sent, refused;
};

static uint32_t
sum16(uint32_t sum, const void *bytes, uint32_t len)
{
	const uint8_t *p = bytes;

	for (uint32_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	return sum;
}

static uint16_t
folded(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* Fills in the fields that are the same in all frames. */
static void
prepare(const struct flood *f, union frame *frame)
{
	struct syn_frame *s = &frame->syn;

	memset(frame, 0, sizeof *frame);
	memcpy(s->eth.ether_shost, from_mac, ETH_ALEN);
	memcpy(s->eth.ether_dhost, f->opt.kind == KIND_STRAY ? stray_mac : f->opt.mac, ETH_ALEN);
	s->eth.ether_type = htons(f->opt.kind == KIND_BLANK ? BLANK_TYPE : ETHERTYPE_IP);
	if (f->opt.kind == KIND_BLANK)
		return;
	s->ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof s->ip / 4,
		.tot_len = htons(sizeof s->ip + sizeof s->tcp + OPTION_BYTES),
		.frag_off = htons(IP_DF),
		.ttl = TTL,
		.protocol = IPPROTO_TCP,
		.daddr = htonl(f->opt.to),
	};
	s->tcp = (struct tcphdr){
		.th_dport = htons(f->opt.port),
		.th_off = (sizeof s->tcp + OPTION_BYTES) / 4,
		.th_flags = TH_SYN,
		.th_win = htons(WINDOW),
	};
	memcpy(s->options, syn_options, OPTION_BYTES);
}

static uint32_t
host_bits(const struct flood *f)
{
	return f->opt.source_len == 0 ? UINT32_MAX : (1u << (32 - f->opt.source_len)) - 1;
}

/* Gives the frame another source, port and sequence number. */
static void
renew(struct flood *f, struct syn_frame *s)
{
	const uint64_t r = bench_random(&f->chance);
	const uint32_t tcp_len = sizeof s->tcp + OPTION_BYTES;
	uint32_t pseudo = IPPROTO_TCP + tcp_len;

	s->ip.saddr = htonl(f->opt.source | ((uint32_t)r & host_bits(f)));
	s->tcp.th_sport = htons((uint16_t)(PORT_MIN + (r >> 32) % (UINT16_MAX - PORT_MIN)));
	s->tcp.th_seq = (uint32_t)bench_random(&f->chance);
	s->ip.check = 0;
	s->ip.check = folded(sum16(0, &s->ip, sizeof s->ip));
	s->tcp.th_sum = 0;
	pseudo = sum16(pseudo, &s->ip.saddr, 2 * sizeof s->ip.saddr);
	s->tcp.th_sum = folded(sum16(pseudo, &s->tcp, tcp_len));
}

static void
burst(struct flood *f, uint32_t count)
{
	const uint32_t bytes =
		f->opt.kind == KIND_BLANK ? BLANK_BYTES : (uint32_t)sizeof(struct syn_frame);
	const void *frames[PACKET_BURST];
	uint32_t len[PACKET_BURST];

	for (uint32_t i = 0; i < count; i++) {
		if (f->opt.kind != KIND_BLANK)
			renew(f, &f->frames[i].syn);
		frames[i] = &f->frames[i];
		len[i] = bytes;
	}
	f->refused += packet_send(f->fd, frames, len, count);
	f->sent += count;
}

static void
pause_ns(uint64_t ns)
{
	const struct timespec t = {0, (long)ns};

	nanosleep(&t, NULL);
}

static void
run(struct flood *f)
{
	const uint64_t start_ns = bench_ns(), end_ns = start_ns + f->opt.ms * NS_PER_MS;

	for (uint64_t now_ns; (now_ns = bench_ns()) < end_ns;) {
		uint64_t due = f->sent + PACKET_BURST;

		if (f->opt.rate != 0)
			due = (uint64_t)((double)(now_ns - start_ns) * f->opt.rate / NS_PER_S);
		if (due <= f->sent)
			pause_ns(STEP_NS);
		else
			burst(f, due - f->sent < PACKET_BURST ? (uint32_t)(due - f->sent)
							      : PACKET_BURST);
		bench_progress("flooding", (now_ns - start_ns) / NS_PER_MS, f->opt.ms);
	}
}

static void
bad(const char *what, const char *text)
{
	fprintf(stderr, "frame_flood: \"%s\": expected %s\n", text, what);
	exit(1);
}

static void
read_kind(const char *name, void *opt)
{
	for (uint32_t i = 0; i < KINDS; i++)
		if (strcmp(name, kind_names[i]) == 0) {
			((struct options *)opt)->kind = (enum kind)i;
			return;
		}
	bad("syn, stray or blank", name);
}

static uint32_t
address_of(const char *text)
{
	struct in_addr a;

	if (inet_pton(AF_INET, text, &a) != 1)
		bad("an IPv4 address", text);
	return ntohl(a.s_addr);
}

static void
read_source(const char *text, void *at)
{
	struct options *opt = at;
	char address[INET_ADDRSTRLEN] = "";
	const char *slash = strchr(text, '/');

	if (slash == NULL || (size_t)(slash - text) >= sizeof address)
		bad("NET/LEN", text);
	memcpy(address, text, (size_t)(slash - text));
	opt->source = address_of(address);
	opt->source_len = bench_number(slash + 1, 0, 32);
	if (opt->source_len != 0)
		opt->source &= ~(uint32_t)((1ull << (32 - opt->source_len)) - 1);
	else
		opt->source = 0;
}

static void
mac_of(uint8_t *mac, const char *text)
{
	unsigned v[ETH_ALEN];

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]) !=
	    ETH_ALEN)
		bad("a MAC", text);
	for (uint32_t i = 0; i < ETH_ALEN; i++)
		mac[i] = (uint8_t)v[i];
}

static struct options
options_of(int argc, char **argv)
{
	struct options opt = {.ms = 1000, .seed = 1};

	read_source("198.18.0.0/15", &opt); /* RFC 2544: for benchmarks */
	const struct bench_option known[] = {BENCH_READ("kind", read_kind, &opt),
					     BENCH_READ("source", read_source, &opt),
					     BENCH_NUMBER("ms", &opt.ms, 1, MS_MAX),
					     BENCH_NUMBER("rate", &opt.rate, 0, UINT32_MAX),
					     BENCH_NUMBER("seed", &opt.seed, 0, UINT32_MAX),
					     {0}};

	bench_options(argc, argv, known);
	if (argc - optind != 4) {
		fprintf(stderr, "frame_flood: IFACE MAC TO_IP PORT are expected\n");
		exit(1);
	}
	mac_of(opt.mac, argv[optind + 1]);
	opt.to = address_of(argv[optind + 2]);
	opt.port = (uint16_t)bench_number(argv[optind + 3], 1, UINT16_MAX);
	return opt;
}

int
main(int argc, char **argv)
{
	static struct flood f;
	uint64_t start_ns, ns;

	f.opt = options_of(argc, argv);
	f.chance = bench_mix(f.opt.seed);
	f.fd = packet_open_to_send(argv[optind]);
	for (uint32_t i = 0; i < PACKET_BURST; i++)
		prepare(&f, &f.frames[i]);
	start_ns = bench_ns();
	run(&f);
	ns = bench_ns() - start_ns;
	printf("{\"part\": \"flood\", \"sent\": %lu, \"refused\": %lu, \"frames_s\": %.0f, "
	       "\"cpu_s\": %.3f, \"wall_s\": %.3f}\n",
	       f.sent, f.refused, (double)(f.sent - f.refused) * NS_PER_S / (double)ns,
	       (double)bench_cpu_ns() / NS_PER_S, (double)ns / NS_PER_S);
	return 0;
}
