/*
 * kernel_doctor.c - one list of faults of the kernel's interface, for all who report them.
 */
#include "kernel_doctor.h"
#include "kernel/kernel_lane.h"
#include "paths.h"
#include "tap/kernel_tap.h"

#include <unistd.h>

#define FAULTS_MAX  4u
#define WORDS_BYTES 160u
#define TAKEN       "/run/clockoo-nic/taken" /* until clockoo-nic confirm */
#define RESERVE_WORDS                                                                              \
	"sysctl -w net.ipv4.ip_local_reserved_ports=61000-65535, and the same in /etc/sysctl.d"

static_assert(KERNEL_OWN_PORT_MIN == 61000, "RESERVE_WORDS and ports_words name it");

struct fault {
	char words[WORDS_BYTES], fix[WORDS_BYTES];
};

static uint32_t
find_faults(const struct config *cfg, struct fault faults[FAULTS_MAX])
{
	struct kernel_tap_facts facts;
	uint32_t n = 0;

	kernel_tap_facts(&facts, cfg);
	if (facts.owner == TAP_OWNER_OTHER || facts.owner == TAP_OWNER_NOBODY) {
		const char *user = cfg->user[0] != '\0' ? cfg->user : "the service's";

		snprintf(faults[n].words, WORDS_BYTES, "%s belongs to %s, not to the user %s",
			 cfg->kernel, facts.owner == TAP_OWNER_OTHER ? "another user" : "nobody",
			 user);
		snprintf(faults[n++].fix, WORDS_BYTES, "%s kernel %s %s", paths_nic_tool(),
			 cfg->kernel, cfg->user[0] != '\0' ? cfg->user : "USER");
	}
	if (!facts.is_up) {
		snprintf(faults[n].words, WORDS_BYTES,
			 "%s is down: the kernel gets nothing and sends nothing", cfg->kernel);
		snprintf(faults[n++].fix, WORDS_BYTES, "ip link set %s up", cfg->kernel);
	}
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
	struct error err;
	uint32_t n;

	if (cfg->kernel[0] == '\0')
		return;
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
			   cfg->kernel);
}

bool
kernel_doctor_plan(const struct config *cfg, FILE *out)
{
	struct error err;
	bool starts;

	if (cfg->kernel[0] == '\0')
		return true;
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
