/*
 * kernel_doctor.c - finds the faults of the kernel's interface once, for --plan, --check and
 * doctor.
 */
#include "kernel_doctor.h"
#include "kernel/kernel_lane.h"
#include "paths.h"
#include "tap/kernel_copy.h"
#include "tap/kernel_tap.h"

#include <unistd.h>

#define FAULTS_MAX  4u
#define WORDS_BYTES 160u
#define TAKEN       "/run/clockoo-nic/taken" /* exists until `clockoo-nic confirm` */
#define RESERVE_WORDS                                                                              \
	"sysctl -w net.ipv4.ip_local_reserved_ports=61000-65535, and the same in /etc/sysctl.d"

static_assert(KERNEL_OWN_PORT_MIN == 61000, "RESERVE_WORDS and ports_words name it");

struct fault {
	char words[WORDS_BYTES], fix[WORDS_BYTES];
};

/* Finds an address of the cache that the kernel's interface lacks. ARP for it would get no answer,
 * since the NIC passes those requests to the kernel. */
static uint32_t
find_silence(const struct config *cfg, struct fault *f)
{
	const struct ip_addr ips[] = {ip_addr_v4(cfg->ipv4), cfg->ipv6};
	char iface[TOPOLOGY_NAME_BYTES], text[IP_ADDR_TEXT_MAX + 1];
	struct error err;

	if (!kernel_copy_find(iface, cfg, &err))
		return 0; /* another check reports it */
	for (uint32_t i = 0; i < 2; i++) {
		if (ip_addr_is_zero(&ips[i]) || (i == 0 && cfg->ipv4 == 0) ||
		    kernel_copy_answers(&ips[i]))
			continue;
		*ip_addr_text(text, &ips[i]) = '\0';
		snprintf(f->words, WORDS_BYTES, "%s does not have %s, so nobody answers for it",
			 iface, text);
		snprintf(f->fix, WORDS_BYTES, "ip addr add %s/%u dev %s", text,
			 i == 0 ? cfg->prefix_len : cfg->prefix6_len, iface);
		return 1;
	}
	return 0;
}

/* Finds the faults of the tap. */
static uint32_t
find_tap_faults(const struct config *cfg, const struct kernel_tap_facts *facts,
		struct fault *faults)
{
	uint32_t n = 0;

	if (facts->owner == TAP_OWNER_OTHER || facts->owner == TAP_OWNER_NOBODY) {
		const char *user = cfg->user[0] != '\0' ? cfg->user : "the service's";

		snprintf(faults[n].words, WORDS_BYTES, "%s belongs to %s, not to the user %s",
			 cfg->kernel, facts->owner == TAP_OWNER_OTHER ? "another user" : "nobody",
			 user);
		snprintf(faults[n++].fix, WORDS_BYTES, "%s kernel %s %s", paths_nic_tool(),
			 cfg->kernel, cfg->user[0] != '\0' ? cfg->user : "USER");
	}
	if (!facts->is_up) {
		snprintf(faults[n].words, WORDS_BYTES,
			 "%s is down: the kernel gets nothing and sends nothing", cfg->kernel);
		snprintf(faults[n++].fix, WORDS_BYTES, "ip link set %s up", cfg->kernel);
	}
	return n;
}

static uint32_t
find_faults(const struct config *cfg, struct fault faults[FAULTS_MAX])
{
	struct kernel_tap_facts facts;
	uint32_t n;

	kernel_tap_facts(&facts, cfg);
	n = config_shares_nic(cfg) ? find_silence(cfg, faults)
				   : find_tap_faults(cfg, &facts, faults);
	if (facts.ports_overlap) {
		snprintf(faults[n].words, WORDS_BYTES,
			 "the kernel may take local ports from 61000 on, which are the cache's");
		snprintf(faults[n++].fix, WORDS_BYTES, RESERVE_WORDS);
	}
	if (access(TAKEN, F_OK) == 0) {
		snprintf(faults[n].words, WORDS_BYTES,
			 "a NIC was taken, and goes back to the kernel's driver unless that is "
			 "confirmed");
		snprintf(faults[n++].fix, WORDS_BYTES, "%s confirm", paths_nic_tool());
	}
	return n;
}

void
kernel_doctor(struct advice_list *list, const struct config *cfg)
{
	struct fault faults[FAULTS_MAX];
	char iface[TOPOLOGY_NAME_BYTES];
	struct error err;
	uint32_t n;

	if (cfg->kernel[0] == '\0' || (config_shares_nic(cfg) && !kernel_copy_has_nic(cfg)))
		return;
	if (config_shares_nic(cfg) && !kernel_copy_find(iface, cfg, &err)) {
		advice_fix(advice_add(list, ADVICE_FAIL, "kernel", "%s", err.text),
			   "leave network.kernel out, or name a tap");
		return;
	}
	if (!kernel_tap_check(cfg, &err)) {
		advice_fix(advice_add(list, ADVICE_FAIL, "kernel", "%s", err.text),
			   "%s kernel %s, or leave network.kernel out", paths_nic_tool(),
			   cfg->kernel);
		return;
	}
	n = find_faults(cfg, faults);
	for (uint32_t i = 0; i < n; i++)
		advice_fix(advice_add(list, ADVICE_WARN, "kernel", "%s", faults[i].words), "%s",
			   faults[i].fix);
	if (n == 0)
		advice_add(list, ADVICE_OK, "kernel", "%s has what is not the cache's",
			   config_shares_nic(cfg) ? iface : cfg->kernel);
}

static bool
plan_shared(const struct config *cfg, FILE *out)
{
	char iface[TOPOLOGY_NAME_BYTES];
	struct error err;
	const bool starts = kernel_copy_find(iface, cfg, &err);

	fprintf(out, "kernel     %s: the NIC's own, which keeps what no rule asks for\n",
		iface[0] != '\0' ? iface : "none");
	if (!starts)
		fprintf(out, "           which a start refuses: %s\n", err.text);
	return starts;
}

bool
kernel_doctor_plan(const struct config *cfg, FILE *out)
{
	struct error err;
	bool starts;

	if (cfg->kernel[0] == '\0')
		return true;
	if (config_shares_nic(cfg))
		return plan_shared(cfg, out);
	starts = kernel_tap_check(cfg, &err);
	fprintf(out, "kernel     %s: what is not the cache's, at most %u frames a second a core\n",
		cfg->kernel, KERNEL_RATE);
	if (!starts)
		fprintf(out, "           which a start refuses: %s\n", err.text);
	return starts;
}

void
kernel_doctor_check(const struct config *cfg, FILE *out)
{
	struct fault faults[FAULTS_MAX];
	uint32_t n;

	if (cfg->kernel[0] == '\0' || cfg->sysfs[0] != '\0')
		return;
	n = find_faults(cfg, faults);
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "network.kernel: %s; better: %s\n", faults[i].words, faults[i].fix);
}
