#include "guard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

uint8_t *
at_page_end(const void *bytes, uint32_t len)
{
	static uint8_t *span;

	if (span == NULL) {
		span = mmap(NULL, GUARD_SPAN + 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (span == MAP_FAILED || mprotect(span + GUARD_SPAN, 4096, PROT_NONE) != 0)
			abort();
	}
	if (len > GUARD_SPAN)
		abort();
	return memcpy(span + GUARD_SPAN - len, bytes, len);
}
