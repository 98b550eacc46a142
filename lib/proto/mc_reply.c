/*
 * mc_reply.c - the fixed reply lines of the text protocol, the words of binary status codes, and
 * the test whether a line is a reply at all.
 */
#include "mc_reply.h"

#define LINE(text)                                                                                 \
	{                                                                                          \
		(const uint8_t *)text "\r\n", sizeof(text) + 1                                     \
	}

#define REPLY_LINE(symbol, text) [symbol] = LINE(text),
const struct view mc_reply_line[MC_REPLY_COUNT] = {MC_REPLIES(REPLY_LINE)};

#define ERROR_LINE(symbol, text, status) [symbol] = LINE(text),
const struct view mc_error_line[MC_ERR_COUNT] = {[MC_ERR_NONE] = {(const uint8_t *)"", 0},
						 MC_ERRORS(ERROR_LINE)};

#define ERROR_STATUS(symbol, text, status) [symbol] = MC_STATUS_##status,
const uint8_t mc_error_status[MC_ERR_COUNT] = {MC_ERRORS(ERROR_STATUS)};

/* First words of all replies. A reply that is a number is checked separately. */
static const struct reply_word {
	uint8_t len;
	char text[23];
} reply_words[] = {
#define WORD(text)                                                                                 \
	{                                                                                          \
		sizeof(text) - 1, text                                                             \
	}
	WORD("STORED"),
	WORD("NOT_STORED"),
	WORD("EXISTS"),
	WORD("NOT_FOUND"),
	WORD("DELETED"),
	WORD("TOUCHED"),
	WORD("OK"),
	WORD("END"),
	WORD("RESET"),
	WORD("ERROR"),
	WORD("CLIENT_ERROR"),
	WORD("Error"),
	WORD("SERVER_ERROR"),
	WORD("VALUE"),
	WORD("VERSION"),
	WORD("STAT"),
	WORD("ITEM"),
	WORD("PREFIX"),
	WORD("BUSY"),
	WORD("BADCLASS"),
	WORD("NOSPARE"),
	WORD("NOTFULL"),
	WORD("SAME"),
	WORD("UNSAFE"),
	WORD("SERVER_ERROR:"),
	WORD("VA"),
	WORD("HD"),
	WORD("EN"),
	WORD("NS"),
	WORD("EX"),
	WORD("NF"),
	WORD("MN"),
	WORD("ME"),
	WORD("MEMLIMIT_TOO_SMALL"),
	WORD("MEMLIMIT_ADJUST_FAILED"),
	WORD("WATCHER_TOO_MANY"),
#undef WORD
};

bool
mc_is_reply(struct view line)
{
	uint32_t len = 0, digits = 0;

	if (line.len != 0 && line.data[0] == MC_BIN_RESPONSE_MAGIC)
		return true;
	for (; len < line.len && len < sizeof reply_words[0].text && line.data[len] > ' '; len++)
		digits += line.data[len] >= '0' && line.data[len] <= '9';
	if (len == 0 || digits == len)
		return len != 0;
	for (uint32_t i = 0; i < sizeof reply_words / sizeof reply_words[0]; i++)
		if (reply_words[i].len == len && memcmp(reply_words[i].text, line.data, len) == 0)
			return true;
	return false;
}

struct view
mc_status_text(enum mc_bin_status status)
{
	switch (status) {
#define STATUS_TEXT(symbol, code, text)                                                            \
	case symbol:                                                                               \
		return (struct view){(const uint8_t *)text, sizeof(text) - 1};
		MC_STATUSES(STATUS_TEXT)
	}
	return (struct view){(const uint8_t *)"", 0};
}
