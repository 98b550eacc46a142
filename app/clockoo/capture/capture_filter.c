/*
 * capture_filter.c - filters of `clockoo capture`, by libpcap.
 */
#include "capture_filter.h"

#include <assert.h>
#include <pcap/pcap.h>

static_assert(sizeof(struct capture_insn) == sizeof(struct bpf_insn) &&
		      offsetof(struct capture_insn, jt) == offsetof(struct bpf_insn, jt) &&
		      offsetof(struct capture_insn, k) == offsetof(struct bpf_insn, k),
	      "an instruction is libpcap's");

#define BOTH(code) (code) | BPF_K, (code) | BPF_X

/* True if libpcap can execute this instruction. libpcap's own check accepts some that it cannot: on
 * such a one it aborts the program. */
static bool
is_known(uint16_t code)
{
	static const uint16_t codes[] = {
		BPF_RET | BPF_K,
		BPF_RET | BPF_A,
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_H | BPF_ABS,
		BPF_LD | BPF_B | BPF_ABS,
		BPF_LD | BPF_W | BPF_IND,
		BPF_LD | BPF_H | BPF_IND,
		BPF_LD | BPF_B | BPF_IND,
		BPF_LD | BPF_W | BPF_LEN,
		BPF_LDX | BPF_W | BPF_LEN,
		BPF_LDX | BPF_B | BPF_MSH,
		BPF_LD | BPF_IMM,
		BPF_LDX | BPF_IMM,
		BPF_LD | BPF_MEM,
		BPF_LDX | BPF_MEM,
		BPF_ST,
		BPF_STX,
		BPF_JMP | BPF_JA,
		BOTH(BPF_JMP | BPF_JEQ),
		BOTH(BPF_JMP | BPF_JGT),
		BOTH(BPF_JMP | BPF_JGE),
		BOTH(BPF_JMP | BPF_JSET),
		BOTH(BPF_ALU | BPF_ADD),
		BOTH(BPF_ALU | BPF_SUB),
		BOTH(BPF_ALU | BPF_MUL),
		BOTH(BPF_ALU | BPF_DIV),
		BOTH(BPF_ALU | BPF_MOD),
		BOTH(BPF_ALU | BPF_AND),
		BOTH(BPF_ALU | BPF_OR),
		BOTH(BPF_ALU | BPF_XOR),
		BOTH(BPF_ALU | BPF_LSH),
		BOTH(BPF_ALU | BPF_RSH),
		BPF_ALU | BPF_NEG,
		BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA,
	};

	for (uint32_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (codes[i] == code)
			return true;
	return false;
}

/* False if some jump leads backwards, so that the filter might not end. libpcap's check accepts
 * such jumps for protochain. */
static bool
goes_forward(const struct capture_insn *insns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_known(insns[i].code) ||
		    (insns[i].code == (BPF_JMP | BPF_JA) && insns[i].k >= count - i - 1))
			return false;
	return true;
}

/* True if libpcap accepts the filter. Uses pcap_setfilter() on an empty capture, since
 * bpf_validate() would call DPDK's function of that name. */
static bool
libpcap_takes(const struct capture_insn *insns, uint32_t count)
{
	struct pcap_file_header header = {.magic = 0xa1b2c3d4,
					  .version_major = PCAP_VERSION_MAJOR,
					  .version_minor = PCAP_VERSION_MINOR,
					  .snaplen = CAPTURE_SNAP_MAX,
					  .linktype = DLT_EN10MB};
	struct bpf_program program = {
		.bf_len = count,
		.bf_insns = (struct bpf_insn *)(void *)(uintptr_t)insns, /* libpcap copies them */
	};
	char words[PCAP_ERRBUF_SIZE];
	FILE *file = fmemopen(&header, sizeof header, "rb");
	pcap_t *pcap = file != NULL ? pcap_fopen_offline(file, words) : NULL;
	bool taken;

	if (pcap == NULL) {
		if (file != NULL)
			fclose(file);
		return false;
	}
	taken = pcap_setfilter(pcap, &program) == 0;
	pcap_close(pcap);
	return taken;
}

bool
capture_filter_is_valid(const struct capture_insn *insns, uint32_t count)
{
	return count >= 1 && count <= CAPTURE_INSNS_MAX && goes_forward(insns, count) &&
	       libpcap_takes(insns, count);
}

bool
capture_filter_match(const void *filter, const uint8_t *data, uint32_t len)
{
	const struct capture_request *r = filter;
	const struct bpf_program program = {
		.bf_len = r->insn_count, /* libpcap 1.11 accepts no frame with an empty program */
		.bf_insns = (struct bpf_insn *)(void *)(uintptr_t)r->insns,
	};
	const struct pcap_pkthdr header = {.caplen = len, .len = len};

	return pcap_offline_filter(&program, &header, data) != 0;
}

static bool
take(struct capture_request *to, const struct bpf_program *program, const char *text,
     struct error *err)
{
	const struct capture_insn *insns =
		(const struct capture_insn *)(const void *)program->bf_insns;

	if (program->bf_len > CAPTURE_INSNS_MAX)
		return error_set(err,
				 "capture: filter \"%s\": %u instructions, at most %u: name fewer",
				 text, program->bf_len, CAPTURE_INSNS_MAX);
	if (!capture_filter_is_valid(insns, program->bf_len))
		return error_set(err,
				 "capture: filter \"%s\": a loop (protochain) is not run on a "
				 "core: use tcp, udp or proto",
				 text);
	to->insn_count = program->bf_len;
	memcpy(to->insns, insns, program->bf_len * sizeof *insns);
	return true;
}

bool
capture_filter_compile(struct capture_request *to, const char *text, struct error *err)
{
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, CAPTURE_SNAP_MAX);
	struct bpf_program program;
	bool done;

	if (pcap == NULL)
		return error_set(err, "capture: no memory for a filter");
	if (pcap_compile(pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		error_set(err, "capture: filter \"%s\": %s; see pcap-filter(7)", text,
			  pcap_geterr(pcap));
		pcap_close(pcap);
		return false;
	}
	done = take(to, &program, text, err);
	pcap_freecode(&program);
	pcap_close(pcap);
	return done;
}
