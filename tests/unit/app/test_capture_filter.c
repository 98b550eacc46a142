/*
 * Filters of clockoo capture. Goal: a text means what pcap-filter(7) says; a text that means
 * nothing, or asks for a loop, is refused in one line; of arbitrary programs only those run that
 * end, and they read nothing beyond a frame. Method: frames beside texts; programs with one thing
 * wrong; random ones, run over frames before unreadable memory.
 */
#include "support/test.h"
#include "support/guard.h"
#include "capture/capture_filter.h"

#include <pcap/bpf.h>
#include <stdlib.h>

/* A UDP frame from 10.0.0.1 port 7 to 10.0.0.2 port 11211; the second has a VLAN tag. */
static const uint8_t udp[] = {2, 0,  0, 0, 0,    2,    2,  0,  0, 0, 0,   1,   8,   0,  0x45, 0,
			      0, 32, 0, 0, 0x40, 0,    64, 17, 0, 0, 10,  0,   0,   1,  10,   0,
			      0, 2,  0, 7, 0x2b, 0xcb, 0,  12, 0, 0, 'a', 'b', 'c', 'd'};

static bool
matches(const char *text, const uint8_t *frame, uint32_t len)
{
	struct capture_request r = {0};
	struct error err;

	check(capture_filter_compile(&r, text, &err));
	check(r.insn_count >= 1);
	check(capture_filter_is_valid(r.insns, r.insn_count));
	return capture_filter_match(&r, at_page_end(frame, len), len);
}

TEST(a_text_means_what_the_manual_says)
{
	static const struct {
		const char *text;
		bool is;
	} rows[] = {{"udp", true},
		    {"tcp", false},
		    {"udp dst port 11211", true},
		    {"udp src port 11211", false},
		    {"host 10.0.0.1 and port 7", true},
		    {"net 10.0.0.0/8", true},
		    {"ip6", false},
		    {"vlan", false},
		    {"len <= 46", true},
		    {"udp[8:4] = 0x61626364", true},
		    {"ether host 02:00:00:00:00:01", true}};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check_eq(matches(rows[i].text, udp, sizeof udp), rows[i].is);
	/* A frame that is cut before the field does not match. */
	for (uint32_t len = 1; len < 38; len++)
		check(!matches("udp dst port 11211", udp, len));
}

TEST(what_means_nothing_is_refused_in_one_line)
{
	static const char *const texts[] = {
		"tpc",      "port 70000", "udp and",         "net 10.0.0.0/40",
		"(((((udp", "\x01\xff\n", "ip6 protochain 6"};
	char many[CAPTURE_FILTER_BYTES] = "ip6 host ::1", *at = many + strlen(many);
	struct capture_request r;
	struct error err;

	for (uint32_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		err.text[0] = '\0';
		check(!capture_filter_compile(&r, texts[i], &err));
		check(strstr(err.text, "capture: filter") != NULL);
		check(strchr(err.text, '\n') == NULL);
	}
	for (uint32_t i = 1; at + 20 < many + sizeof many; i++)
		at += sprintf(at, " or ip6 host ::%x", i);
	check(capture_filter_compile(&r, many, &err));
}

#define LOAD(k)                                                                                    \
	{                                                                                          \
		BPF_LD | BPF_W | BPF_ABS, 0, 0, k                                                  \
	}
#define RETURN(k)                                                                                  \
	{                                                                                          \
		BPF_RET | BPF_K, 0, 0, k                                                           \
	}
#define JUMP(k)                                                                                    \
	{                                                                                          \
		BPF_JMP | BPF_JA, 0, 0, k                                                          \
	}
#define EQUAL(t, f)                                                                                \
	{                                                                                          \
		BPF_JMP | BPF_JEQ | BPF_K, t, f, 1                                                 \
	}

TEST(a_program_that_may_not_end_is_none)
{
	static const struct {
		struct capture_insn insns[4];
		uint32_t count;
		bool is;
	} rows[] = {
		{{RETURN(1)}, 1, true},
		{{LOAD(0), EQUAL(0, 1), RETURN(1), RETURN(0)}, 4, true},
		{{LOAD(0), JUMP(0), RETURN(1)}, 3, true},
		{{RETURN(1)}, 0, false},
		{{LOAD(0)}, 1, false},
		{{JUMP((uint32_t)-1), RETURN(1)}, 2, false},
		{{LOAD(0), JUMP((uint32_t)-2), RETURN(1)}, 3, false},
		{{JUMP(1), RETURN(1)}, 2, false},
		{{JUMP(0x7fffffff), RETURN(1)}, 2, false},
		{{EQUAL(0, 1), RETURN(1)}, 2, false},
		{{EQUAL(255, 255), RETURN(1)}, 2, false},
		{{{BPF_LD | BPF_MEM, 0, 0, BPF_MEMWORDS}, RETURN(1)}, 2, false},
		{{{BPF_ST, 0, 0, 1u << 31}, RETURN(1)}, 2, false},
		{{{BPF_ALU | BPF_DIV | BPF_K, 0, 0, 0}, RETURN(1)}, 2, false},
		{{{0xffff, 0, 0, 0}, RETURN(1)}, 2, false},
		{{{BPF_LDX | BPF_W | BPF_ABS, 0, 0, 0}, RETURN(1)}, 2, false},
		{{{BPF_RET | BPF_X, 0, 0, 0}, RETURN(1)}, 2, false},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check_eq(capture_filter_is_valid(rows[i].insns, rows[i].count), rows[i].is);
	check(!capture_filter_is_valid(rows[0].insns, CAPTURE_INSNS_MAX + 1));
}

static uint32_t
next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

TEST(random_programs_end_and_read_no_further)
{
	static const uint16_t codes[] = {BPF_LD | BPF_W | BPF_ABS,
					 BPF_LD | BPF_H | BPF_ABS,
					 BPF_LD | BPF_B | BPF_ABS,
					 BPF_LD | BPF_W | BPF_IND,
					 BPF_LD | BPF_B | BPF_IND,
					 BPF_LDX | BPF_B | BPF_MSH,
					 BPF_LD | BPF_MEM,
					 BPF_ST,
					 BPF_STX,
					 BPF_JMP | BPF_JA,
					 BPF_JMP | BPF_JEQ | BPF_K,
					 BPF_JMP | BPF_JGT | BPF_X,
					 BPF_ALU | BPF_ADD | BPF_X,
					 BPF_ALU | BPF_DIV | BPF_X,
					 BPF_MISC | BPF_TAX,
					 BPF_RET | BPF_A,
					 BPF_ALU | BPF_LSH | BPF_X,
					 BPF_LD | BPF_IMM};
	uint64_t seed = 19;
	uint32_t valid = 0;

	for (uint32_t i = 0; i < rounds(20000, 4000); i++) {
		struct capture_request r;
		struct capture_insn *const insns = r.insns;
		const uint32_t count = 1 + next(&seed) % 8;

		for (uint32_t k = 0; k < count; k++)
			insns[k] = (struct capture_insn){
				next(&seed) % 32 == 0
					? (uint16_t)(next(&seed) % 256)
					: codes[next(&seed) % (sizeof codes / sizeof codes[0])],
				(uint8_t)(next(&seed) % 4), (uint8_t)(next(&seed) % 4),
				next(&seed) % 3 == 0 ? ~0u << next(&seed) % 32 : next(&seed) % 24};
		insns[count - 1] = (struct capture_insn)RETURN(1);
		r.insn_count = count;
		if (!capture_filter_is_valid(insns, count))
			continue;
		valid++;
		for (uint32_t len = 1; len < sizeof udp; len += 9)
			capture_filter_match(&r, at_page_end(udp, len), len);
	}
	check(valid > 1000);
}
