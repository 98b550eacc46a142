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
