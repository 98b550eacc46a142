#include "fault.h"

#include <stdarg.h>
#include <stdio.h>

bool
fault_say(struct fault *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->text, sizeof f->text, format, args);
	va_end(args);
	for (char *c = f->text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return false;
}
