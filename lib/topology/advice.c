/*
 * advice.c - the list that rules add their findings to, and the worst of them.
 */
#include "advice.h"
#include "base/check.h"

#include <stdarg.h>
#include <stdio.h>

struct advice *
advice_add(struct advice_list *list, enum advice_severity severity, const char *subject,
	   const char *words, ...)
{
	struct advice *a = &list->at[list->count];
	va_list args;

	ensure(list->count < ADVICE_MAX);
	list->count++;
	a->severity = severity;
	a->subject = subject;
	a->fix[0] = '\0';
	va_start(args, words);
	vsnprintf(a->words, sizeof a->words, words, args);
	va_end(args);
	return a;
}

void
advice_fix(struct advice *a, const char *words, ...)
{
	va_list args;

	va_start(args, words);
	vsnprintf(a->fix, sizeof a->fix, words, args);
	va_end(args);
}

enum advice_severity
advice_worst(const struct advice_list *list)
{
	enum advice_severity worst = ADVICE_UNKNOWN;

	for (uint32_t i = 0; i < list->count; i++)
		worst = list->at[i].severity > worst ? list->at[i].severity : worst;
	return worst;
}

const char *
advice_severity_name(enum advice_severity severity)
{
	static const char *const names[] = {
		[ADVICE_UNKNOWN] = "?",
		[ADVICE_OK] = "ok",
		[ADVICE_WARN] = "warn",
		[ADVICE_FAIL] = "FAIL",
	};

	return names[severity];
}
