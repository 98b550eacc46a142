#include "lcores.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LCORES_FORM "core@CPU pairs such as 0@0,1@1"

/* A decimal below LCORE_ID_END; NULL if there is none. Returns what follows it. */
static const char *
take_id(const char *p, uint32_t *id)
{
	uint32_t n = 0;

	if (!isdigit((unsigned char)*p))
		return NULL;
	for (; isdigit((unsigned char)*p); p++) {
		n = n * 10 + (uint32_t)(*p - '0');
		if (n >= LCORE_ID_END)
			return NULL;
	}
	*id = n;
	return p;
}

static const char *
take_pair(const char *p, struct lcore *lc)
{
	p = take_id(p, &lc->id);
	if (p == NULL)
		return NULL;
	lc->cpu = lc->id;
	return *p == '@' ? take_id(p + 1, &lc->cpu) : p;
}

bool
lcores_parse(struct lcore_set *set, const char *text, struct fault *f)
{
	const char *p = text;

	set->count = 0;
	while (set->count < CORES_MAX) {
		struct lcore *lc = &set->at[set->count];

		p = take_pair(p, lc);
		if (p == NULL || (*p != ',' && *p != '\0'))
			return fault_say(f, "--lcores: \"%s\": expected %s, numbers below %u", text,
					 LCORES_FORM, LCORE_ID_END);
		for (uint32_t i = 0; i < set->count; i++)
			if (set->at[i].id == lc->id)
				return fault_say(f,
						 "--lcores: \"%s\": core %u is there twice; each "
						 "core ID may stand once",
						 text, lc->id);
		set->count++;
		if (*p++ == '\0')
			return true;
	}
	return fault_say(f, "--lcores: more than %u cores", CORES_MAX);
}

/* "0 1 2": the CPUs, for an error line. */
static const char *
cpu_words(const struct cpu_list *cpus, char *words, size_t size)
{
	size_t used = 0;

	words[0] = '\0';
	for (uint32_t i = 0; i < cpus->count && used < size; i++)
		used += (size_t)snprintf(words + used, size - used, "%s%u", i == 0 ? "" : " ",
					 cpus->at[i]);
	return words;
}

bool
lcores_spread(struct lcore_set *set, uint32_t cores, const struct cpu_list *cpus, struct fault *f)
{
	if (cores > cpus->count)
		return fault_say(f,
				 "-t: %u cores asked for, %u CPUs there; ask for at most %u, or "
				 "share CPUs with --lcores 0@0,1@0",
				 cores, cpus->count, cpus->count);
	set->count = cores;
	for (uint32_t i = 0; i < cores; i++)
		set->at[i] = (struct lcore){.id = i, .cpu = cpus->at[i]};
	return true;
}

bool
lcores_exist(const struct lcore_set *set, const struct cpu_list *cpus, struct fault *f)
{
	for (uint32_t i = 0; i < set->count; i++) {
		char words[128];
		bool found = false;

		for (uint32_t c = 0; c < cpus->count; c++)
			found |= cpus->at[c] == set->at[i].cpu;
		if (!found)
			return fault_say(f,
					 "--lcores: there is no CPU %u for core %u; this process "
					 "may use CPUs %s",
					 set->at[i].cpu, set->at[i].id,
					 cpu_words(cpus, words, sizeof words));
	}
	return true;
}

bool
lcores_share(const struct lcore_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (set->at[i].cpu == set->at[j].cpu)
				return true;
	return false;
}
