#include "mc_reply.h"

#define LINE(text)                                                                                 \
	{                                                                                          \
		(const uint8_t *)text "\r\n", sizeof(text) + 1                                     \
	}

#define REPLY_LINE(symbol, text) [symbol] = LINE(text),
const struct view mc_reply_line[MC_REPLY_COUNT] = {MC_REPLIES(REPLY_LINE)};

const struct view mc_error_line[MC_ERR_COUNT] = {
	[MC_ERR_NONE] = {(const uint8_t *)"", 0},
	[MC_ERR_UNKNOWN] = LINE("ERROR"),
	[MC_ERR_FORMAT] = LINE("CLIENT_ERROR bad command line format"),
	[MC_ERR_EXPTIME] = LINE("CLIENT_ERROR invalid exptime argument"),
	[MC_ERR_DELTA] = LINE("CLIENT_ERROR invalid numeric delta argument"),
	[MC_ERR_DELETE] =
		LINE("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]"),
	[MC_ERR_CHUNK] = LINE("CLIENT_ERROR bad data chunk"),
	[MC_ERR_NUMBER] = LINE("CLIENT_ERROR cannot increment or decrement non-numeric value"),
	[MC_ERR_TOO_LARGE] = LINE("SERVER_ERROR object too large for cache"),
	[MC_ERR_MEMORY] = LINE("SERVER_ERROR out of memory storing object"),
	[MC_ERR_NO_ROOM] = LINE("SERVER_ERROR out of memory"),
	[MC_ERR_STATS] = LINE("SERVER_ERROR out of memory writing stats"),
};
