#include "advice.h"
#include "base/check.h"

#include <stdarg.h>
#include <stdio.h>

struct advice *
advice_add(struct advice_list *list, enum advice_grade grade, const char *subject,
	   const char *words, ...)
{
	struct advice *a = &list->at[list->count];
	va_list args;

	ensure(list->count < ADVICE_MAX);
	list->count++;
	a->grade = grade;
	a->subject = subject;
	a->cure[0] = '\0';
	va_start(args, words);
	vsnprintf(a->words, sizeof a->words, words, args);
	va_end(args);
	return a;
}

void
advice_cure(struct advice *a, const char *words, ...)
{
	va_list args;

	va_start(args, words);
	vsnprintf(a->cure, sizeof a->cure, words, args);
	va_end(args);
}

enum advice_grade
advice_worst(const struct advice_list *list)
{
	enum advice_grade worst = ADVICE_UNKNOWN;

	for (uint32_t i = 0; i < list->count; i++)
		worst = list->at[i].grade > worst ? list->at[i].grade : worst;
	return worst;
}

const char *
advice_grade_name(enum advice_grade grade)
{
	static const char *const names[] = {
		[ADVICE_UNKNOWN] = "?",
		[ADVICE_OK] = "ok",
		[ADVICE_WARN] = "warn",
		[ADVICE_FAIL] = "FAIL",
	};

	return names[grade];
}
