/*
 * lcores.c - the text of --lcores, and lists of CPUs.
 */
#include "lcores.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LCORES_FORM "core@CPU pairs such as 0@0,1@1, or CPUs such as 2-5,8"

/* Parses a decimal number below LCORE_ID_END. Returns the text after it; NULL: there is no such
 * number. */
static const char *
parse_id(const char *p, uint32_t *id)
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

/* Adds a core to the set. Writes the reason to *err and returns false if it cannot be added. */
static bool
add(struct lcore_set *set, const struct lcore *lc, const char *text, struct error *err)
{
	if (set->count == CORES_MAX)
		return error_set(err, "--lcores: more than %u cores", CORES_MAX);
	for (uint32_t i = 0; i < set->count; i++)
		if (set->at[i].id == lc->id)
			return error_set(err,
					 "--lcores: \"%s\": core %u is listed twice; each core ID "
					 "may appear once",
					 text, lc->id);
	set->at[set->count++] = *lc;
	return true;
}

static const char *
parse_pair(const char *p, struct lcore *lc)
{
	p = parse_id(p, &lc->id);
	if (p == NULL)
		return NULL;
	lc->cpu = lc->id;
	return *p == '@' ? parse_id(p + 1, &lc->cpu) : p;
}

static bool
wrong_form(const char *text, struct error *err)
{
	return error_set(err, "--lcores: \"%s\": expected %s, numbers below %u", text, LCORES_FORM,
			 LCORE_ID_END);
}

bool
lcores_parse(struct lcore_set *set, const char *text, struct error *err)
{
	const char *p = text;

	set->count = 0;
	do {
		const char *start = p;
		struct lcore lc;
		uint32_t last;

		p = parse_pair(p, &lc);
		last = lc.id;
		if (p != NULL && *p == '-' && memchr(start, '@', (size_t)(p - start)) == NULL)
			p = parse_id(p + 1, &last);
		if (p == NULL || last < lc.id || (*p != ',' && *p != '\0'))
			return wrong_form(text, err);
		for (uint32_t id = lc.id; id <= last; id++) {
			if (id != lc.id)
				lc.cpu = id;
			lc.id = id;
			if (!add(set, &lc, text, err))
				return false;
		}
	} while (*p++ != '\0');
	return true;
}

/* Writes the CPUs as "0 1 2", for an error line. */
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
lcores_assign(struct lcore_set *set, const struct cpu_list *cpus,
	      const struct lcore_request *request, struct error *err)
{
	if (cpus->count == 0 || (request->cores > cpus->count && !request->share))
		return error_set(
			err,
			"-t: %u cores requested, %u CPUs available; request at most %u, or "
			"let them share CPUs with --share-cpus",
			request->cores, cpus->count, cpus->count);
	set->count = request->cores;
	for (uint32_t i = 0; i < request->cores; i++)
		set->at[i] = (struct lcore){.id = i, .cpu = cpus->at[i % cpus->count]};
	return true;
}

bool
lcores_exist(const struct lcore_set *set, const struct cpu_list *cpus, struct error *err)
{
	for (uint32_t i = 0; i < set->count; i++) {
		char words[128];
		bool found = false;

		for (uint32_t c = 0; c < cpus->count; c++)
			found |= cpus->at[c] == set->at[i].cpu;
		if (!found)
			return error_set(err,
					 "--lcores: there is no CPU %u for core %u; this process "
					 "may use CPUs %s",
					 set->at[i].cpu, set->at[i].id,
					 cpu_words(cpus, words, sizeof words));
	}
	return true;
}

bool
lcores_share_cpus(const struct lcore_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (set->at[i].cpu == set->at[j].cpu)
				return true;
	return false;
}
