#include "history.h"

#include "base/check.h"

#include <stdlib.h>
#include <unistd.h>

bool
call_tells_item(const struct call *c)
{
	switch (c->kind) {
	case CALL_GET:
	case CALL_TOUCH:
	case CALL_WIN:
	case CALL_EXTEND:
	case CALL_LATE:
		return c->result == STORE_OK;
	case CALL_STALE:
	case CALL_EMPTY:
		return c->result == STORE_OK && c->got_made;
	default:
		return false;
	}
}

#define CALL_NAME(symbol, words) words,

static const char *const call_names[CALL_KINDS] = {CALLS(CALL_NAME)};

static const char *
result_name(enum store_result r)
{
	static const char *const names[] = {"OK",        "NOT_STORED", "EXISTS",      "NOT_FOUND",
					    "TOO_LARGE", "NO_MEMORY",  "NOT_A_NUMBER"};

	return (uint32_t)r < sizeof names / sizeof names[0] ? names[r] : "?";
}

static void
print_answer(FILE *to, const struct call *c)
{
	if (c->kind == CALL_INCR || c->kind == CALL_DECR || c->kind == CALL_COUNT)
		fprintf(to, " %llu", (unsigned long long)c->got_number);
	fprintf(to, "%s%s%s", c->got_made ? " made" : "", c->got_stale ? " stale" : "",
		c->got_won ? " won" : "");
	if (!call_tells_item(c))
		return;
	fprintf(to, " '%.*s' cas %llu flags %u", (int)c->got_len, c->got,
		(unsigned long long)c->got_number, c->got_flags);
	if (c->got_expiry)
		fprintf(to, " expiry %u", c->got_expiry_s);
}

void
call_print(FILE *to, const struct call *c)
{
	fprintf(to, "  %8llu..%-8llu thread %u at %u s: %s", (unsigned long long)c->invoked,
		(unsigned long long)c->returned, c->thread, c->now_s, call_names[c->kind]);
	if (c->len != 0)
		fprintf(to, " '%.*s'", (int)c->len, c->bytes);
	if (c->number != 0)
		fprintf(to, " %llu", (unsigned long long)c->number);
	if (c->initial != 0)
		fprintf(to, " initial %llu", (unsigned long long)c->initial);
	if (c->flags != 0)
		fprintf(to, " flags %u", c->flags);
	if (c->expiry_s != 0)
		fprintf(to, " expiry %u", c->expiry_s);
	fprintf(to, " -> %s", result_name(c->result));
	if (c->result == STORE_OK)
		print_answer(to, c);
	fprintf(to, "\n");
}

#define CALL_WORD(symbol, words) #symbol,

static const char *const call_words[CALL_KINDS] = {CALLS(CALL_WORD)};

/* Writes bytes as hexadecimal digits, and "-" where there are none. */
static void
keep_bytes(FILE *to, const char *bytes, uint32_t len)
{
	fprintf(to, len == 0 ? " -" : " ");
	for (uint32_t i = 0; i < len; i++)
		fprintf(to, "%02x", (unsigned char)bytes[i]);
}

static void
keep_call(FILE *to, const struct call *c)
{
	const unsigned marks = c->got_made | c->got_stale << 1 | c->got_no_cas << 2 |
			       c->got_won << 3 | c->got_expiry << 4;

	fprintf(to, "%llu %llu %u %u %s %s %llu %llu %u %u", (unsigned long long)c->invoked,
		(unsigned long long)c->returned, c->thread, c->now_s, call_words[c->kind],
		result_name(c->result), (unsigned long long)c->number,
		(unsigned long long)c->initial, c->flags, c->expiry_s);
	keep_bytes(to, c->bytes, c->len);
	fprintf(to, " %llu %u %u %u", (unsigned long long)c->got_number, c->got_flags, marks,
		c->got_expiry_s);
	keep_bytes(to, c->got, c->got_len);
	fprintf(to, "\n");
}

/* Opens the file of this process; NULL: no history is kept. */
static FILE *
kept_file(const char *folder)
{
	char path[4096];
	FILE *to;

	snprintf(path, sizeof path, "%s/%d.history", folder, (int)getpid());
	to = fopen(path, "w");
	ensure(to != NULL);
	return to;
}

void
history_keep(const struct call *const *calls, uint32_t count, const char *verdict)
{
	static FILE *to;
	static uint32_t kept;
	const char *folder = getenv(HISTORY_FOLDER);

	if (folder == NULL || kept + count > HISTORY_KEPT_CALLS)
		return;
	if (to == NULL)
		to = kept_file(folder);
	kept += count;
	fprintf(to, "history %s %u\n", verdict, count);
	for (uint32_t i = 0; i < count; i++)
		keep_call(to, calls[i]);
	fflush(to);
}
