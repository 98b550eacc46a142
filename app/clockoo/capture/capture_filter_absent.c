/*
 * capture_filter_absent.c - filters of a program built without libpcap: refuses each.
 */
#include "capture_filter.h"

bool
capture_filter_compile(struct capture_request *to, const char *text, struct error *err)
{
	(void)to;
	return error_set(err,
			 "capture: filter \"%s\": this program was built without libpcap; install "
			 "libpcap-dev and build it again, or capture all and filter the file",
			 text);
}

bool
capture_filter_is_valid(const struct capture_insn *insns, uint32_t count)
{
	(void)insns, (void)count;
	return false;
}

bool
capture_filter_match(const void *filter, const uint8_t *data, uint32_t len)
{
	(void)filter, (void)data, (void)len;
	return true;
}
