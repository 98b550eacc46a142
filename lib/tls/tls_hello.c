/*
 * tls_hello.c - follows records, and the messages in them, by their headers.
 */
#include "tls_hello.h"

#define MESSAGE_HELLO 1u

static void
record_begins(struct tls_hello *h, uint8_t byte)
{
	h->header[h->header_len++] = byte;
	if (h->header_len < TLS_RECORD_HEADER)
		return;
	h->header_len = 0;
	h->is_handshake = h->header[0] == TLS_RECORD_HANDSHAKE;
	h->record_left = (uint32_t)h->header[3] << 8 | h->header[4];
}

static bool
message_begins(struct tls_hello *h, uint8_t byte, bool again)
{
	h->message[h->message_len++] = byte;
	if (h->message_len < TLS_MESSAGE_HEADER)
		return true;
	h->message_len = 0;
	h->message_left =
		(uint32_t)h->message[1] << 16 | (uint32_t)h->message[2] << 8 | h->message[3];
	again |= !h->any;
	h->any = true;
	return !again || h->message[0] != MESSAGE_HELLO || h->message_left <= TLS_HELLO_MAX;
}

static uint32_t
least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

bool
tls_hello_passes(struct tls_hello *h, const uint8_t *bytes, uint32_t len, bool again)
{
	while (len > 0) {
		uint32_t n = 1;

		if (h->record_left == 0) {
			record_begins(h, *bytes);
		} else if (!h->is_handshake) {
			n = least(len, h->record_left);
			h->record_left -= n;
		} else if (h->message_left == 0) {
			h->record_left--;
			if (!message_begins(h, *bytes, again))
				return false;
		} else {
			n = least(len, least(h->record_left, h->message_left));
			h->record_left -= n;
			h->message_left -= n;
		}
		bytes += n;
		len -= n;
	}
	return true;
}

bool
tls_hello_is_whole(struct view begin, uint32_t here)
{
	uint32_t record;

	if (begin.len > 0 && begin.data[0] != TLS_RECORD_HANDSHAKE)
		return true;
	if (begin.len < TLS_RECORD_HEADER)
		return here >= TLS_RECORD_HEADER; /* a header may lie in two frames */
	record = (uint32_t)begin.data[3] << 8 | begin.data[4];
	return record > TLS_HELLO_MAX || here >= TLS_RECORD_HEADER + record;
}
