/*
 * page_writer.c - writes a file as a C header when the program is built. So the program has the
 * page in itself.
 *
 *     page_writer page.html
 */
#include <stdio.h>

#define A_LINE 20u

int
main(int argc, char **argv)
{
	FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
	size_t count = 0;
	int c;

	if (in == NULL) {
		fputs("page_writer: which file?\n", stderr);
		return 1;
	}
	puts("#include <stddef.h>\n#include <stdint.h>\nstatic const uint8_t page_html[] = {");
	while ((c = getc(in)) != EOF)
		printf("%d,%s", c, ++count % A_LINE == 0 ? "\n" : "");
	printf("};\nstatic const size_t page_html_bytes = %zu;\n", count);
	return ferror(stdout) != 0 || fclose(in) != 0;
}
