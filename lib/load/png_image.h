/*
 * png_image.h - a picture of 16 colours drawn in memory and written as PNG (RFC 2083).
 *
 * Shape:  one byte a pixel in memory, four bits in the file; zlib's stored blocks (RFC 1950, 1951),
 *         since a plot of 150 KB is small enough and nothing else here compresses.
 * Units:  pixels from the upper left corner.
 * Owner:  pixel is the caller's, width * height bytes.
 * Errors: what lies outside is not drawn; png_write is false if the file cannot be written.
 */
#ifndef CLOCKOO_PNG_IMAGE_H
#define CLOCKOO_PNG_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PNG_COLOURS 16u

/* Characters of GLYPH_WIDTH by GLYPH_HEIGHT pixels, one between two. */
#define GLYPH_WIDTH  5u
#define GLYPH_HEIGHT 7u
#define GLYPH_STEP   6u

struct png_image {
	uint32_t width, height;
	uint8_t *pixel; /* places in colour[] */
	uint8_t colour[PNG_COLOURS][3];
};

struct png_point {
	int x, y;
};

void png_fill(struct png_image *p, uint8_t colour);
void png_dot(struct png_image *p, struct png_point at, uint8_t colour);
void png_line(struct png_image *p, struct png_point from, struct png_point to, uint8_t colour);
void png_disc(struct png_image *p, struct png_point at, int radius, uint8_t colour);
/* Small letters, digits, some signs; capitals are drawn as small ones, others as spaces. */
void png_text(struct png_image *p, struct png_point at, const char *text, uint8_t colour);
uint32_t png_text_width(const char *text);

bool png_write(FILE *out, const struct png_image *p);

#endif
