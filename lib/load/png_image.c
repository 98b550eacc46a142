/*
 * png_image.c - lines, discs and letters drawn into the pixels, and the pixels written as a PNG
 * file without compression.
 */
#include "png_image.h"

#include "base/bytes.h"

#include <stdlib.h>

/* Seven rows of five dots each, from above; '.' is none. */
struct glyph {
	char c;
	const char *rows;
};

static const struct glyph glyphs[] = {
	{'0', ".###."
	      "#...#"
	      "#..##"
	      "#.#.#"
	      "##..#"
	      "#...#"
	      ".###."},
	{'1', "..#.."
	      ".##.."
	      "..#.."
	      "..#.."
	      "..#.."
	      "..#.."
	      ".###."},
	{'2', ".###."
	      "#...#"
	      "....#"
	      "...#."
	      "..#.."
	      ".#..."
	      "#####"},
	{'3', "#####"
	      "...#."
	      "..#.."
	      "...#."
	      "....#"
	      "#...#"
	      ".###."},
	{'4', "...#."
	      "..##."
	      ".#.#."
	      "#..#."
	      "#####"
	      "...#."
	      "...#."},
	{'5', "#####"
	      "#...."
	      "####."
	      "....#"
	      "....#"
	      "#...#"
	      ".###."},
	{'6', "..##."
	      ".#..."
	      "#...."
	      "####."
	      "#...#"
	      "#...#"
	      ".###."},
	{'7', "#####"
	      "....#"
	      "...#."
	      "..#.."
	      ".#..."
	      ".#..."
	      ".#..."},
	{'8', ".###."
	      "#...#"
	      "#...#"
	      ".###."
	      "#...#"
	      "#...#"
	      ".###."},
	{'9', ".###."
	      "#...#"
	      "#...#"
	      ".####"
	      "....#"
	      "...#."
	      ".##.."},
	{'a', "....."
	      "....."
	      ".###."
	      "....#"
	      ".####"
	      "#...#"
	      ".####"},
	{'b', "#...."
	      "#...."
	      "####."
	      "#...#"
	      "#...#"
	      "#...#"
	      "####."},
	{'c', "....."
	      "....."
	      ".####"
	      "#...."
	      "#...."
	      "#...."
	      ".####"},
	{'d', "....#"
	      "....#"
	      ".####"
	      "#...#"
	      "#...#"
	      "#...#"
	      ".####"},
	{'e', "....."
	      "....."
	      ".###."
	      "#...#"
	      "#####"
	      "#...."
	      ".###."},
	{'f', "..##."
	      ".#..."
	      "###.."
	      ".#..."
	      ".#..."
	      ".#..."
	      ".#..."},
	{'g', "....."
	      "....."
	      ".####"
	      "#...#"
	      ".####"
	      "....#"
	      ".###."},
	{'h', "#...."
	      "#...."
	      "####."
	      "#...#"
	      "#...#"
	      "#...#"
	      "#...#"},
	{'i', "..#.."
	      "....."
	      ".##.."
	      "..#.."
	      "..#.."
	      "..#.."
	      ".###."},
	{'j', "...#."
	      "....."
	      "..##."
	      "...#."
	      "...#."
	      "#..#."
	      ".##.."},
	{'k', "#...."
	      "#...."
	      "#..#."
	      "#.#.."
	      "##..."
	      "#.#.."
	      "#..#."},
	{'l', ".##.."
	      "..#.."
	      "..#.."
	      "..#.."
	      "..#.."
	      "..#.."
	      ".###."},
	{'m', "....."
	      "....."
	      "##.#."
	      "#.#.#"
	      "#.#.#"
	      "#.#.#"
	      "#.#.#"},
	{'n', "....."
	      "....."
	      "####."
	      "#...#"
	      "#...#"
	      "#...#"
	      "#...#"},
	{'o', "....."
	      "....."
	      ".###."
	      "#...#"
	      "#...#"
	      "#...#"
	      ".###."},
	{'p', "....."
	      "....."
	      "####."
	      "#...#"
	      "####."
	      "#...."
	      "#...."},
	{'q', "....."
	      "....."
	      ".####"
	      "#...#"
	      ".####"
	      "....#"
	      "....#"},
	{'r', "....."
	      "....."
	      "#.##."
	      "##..#"
	      "#...."
	      "#...."
	      "#...."},
	{'s', "....."
	      "....."
	      ".####"
	      "#...."
	      ".###."
	      "....#"
	      "####."},
	{'t', ".#..."
	      ".#..."
	      "###.."
	      ".#..."
	      ".#..."
	      ".#..#"
	      "..##."},
	{'u', "....."
	      "....."
	      "#...#"
	      "#...#"
	      "#...#"
	      "#..##"
	      ".##.#"},
	{'v', "....."
	      "....."
	      "#...#"
	      "#...#"
	      "#...#"
	      ".#.#."
	      "..#.."},
	{'w', "....."
	      "....."
	      "#...#"
	      "#.#.#"
	      "#.#.#"
	      "#.#.#"
	      ".#.#."},
	{'x', "....."
	      "....."
	      "#...#"
	      ".#.#."
	      "..#.."
	      ".#.#."
	      "#...#"},
	{'y', "....."
	      "....."
	      "#...#"
	      "#...#"
	      ".####"
	      "....#"
	      ".###."},
	{'z', "....."
	      "....."
	      "#####"
	      "...#."
	      "..#.."
	      ".#..."
	      "#####"},
	{'.', "....."
	      "....."
	      "....."
	      "....."
	      "....."
	      ".##.."
	      ".##.."},
	{',', "....."
	      "....."
	      "....."
	      "....."
	      "..#.."
	      "..#.."
	      ".#..."},
	{'/', "....#"
	      "....#"
	      "...#."
	      "..#.."
	      ".#..."
	      "#...."
	      "#...."},
	{'=', "....."
	      "....."
	      "#####"
	      "....."
	      "#####"
	      "....."
	      "....."},
	{'-', "....."
	      "....."
	      "....."
	      "#####"
	      "....."
	      "....."
	      "....."},
};
#define GLYPHS (sizeof glyphs / sizeof glyphs[0])

void
png_fill(struct png_image *p, uint8_t colour)
{
	memset(p->pixel, colour, (size_t)p->width * p->height);
}

void
png_dot(struct png_image *p, struct png_point at, uint8_t colour)
{
	if (at.x < 0 || at.y < 0 || at.x >= (int)p->width || at.y >= (int)p->height)
		return;
	p->pixel[(size_t)at.y * p->width + (size_t)at.x] = colour;
}

/* Along the longer side, one dot a step. */
void
png_line(struct png_image *p, struct png_point from, struct png_point to, uint8_t colour)
{
	const int dx = to.x - from.x, dy = to.y - from.y;
	const int steps = abs(dx) > abs(dy) ? abs(dx) : abs(dy);

	for (int i = 0; i <= steps; i++) {
		const struct png_point at = {
			from.x + (steps == 0 ? 0 : dx * i / steps),
			from.y + (steps == 0 ? 0 : dy * i / steps),
		};

		png_dot(p, at, colour);
	}
}

void
png_disc(struct png_image *p, struct png_point at, int radius, uint8_t colour)
{
	for (int y = -radius; y <= radius; y++)
		for (int x = -radius; x <= radius; x++)
			if (x * x + y * y <= radius * radius)
				png_dot(p, (struct png_point){at.x + x, at.y + y}, colour);
}

static const char *
rows_of(char c)
{
	const char small = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;

	for (uint32_t i = 0; i < GLYPHS; i++)
		if (glyphs[i].c == small)
			return glyphs[i].rows;
	return NULL;
}

void
png_text(struct png_image *p, struct png_point at, const char *text, uint8_t colour)
{
	for (; *text != '\0'; text++, at.x += (int)GLYPH_STEP) {
		const char *rows = rows_of(*text);

		for (uint32_t i = 0; rows != NULL && i < GLYPH_WIDTH * GLYPH_HEIGHT; i++)
			if (rows[i] == '#')
				png_dot(p,
					(struct png_point){at.x + (int)(i % GLYPH_WIDTH),
							   at.y + (int)(i / GLYPH_WIDTH)},
					colour);
	}
}

uint32_t
png_text_width(const char *text)
{
	return (uint32_t)strlen(text) * GLYPH_STEP;
}

/* ---- the file ---- */

/* A chunk's checksum and the data's, as bytes go out. */
struct writer {
	FILE *out;
	uint32_t crc;      /* RFC 2083 section 3.4 */
	uint32_t adler[2]; /* RFC 1950 section 9 */
};

static void
put(struct writer *w, const uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		w->crc ^= data[i];
		for (uint32_t bit = 0; bit < 8; bit++)
			w->crc = w->crc >> 1 ^ (w->crc & 1 ? 0xedb88320u : 0);
	}
	fwrite(data, 1, len, w->out);
}

static void
put_be32(struct writer *w, uint32_t n)
{
	const struct be32 word = be32_of(n);

	put(w, word.b, sizeof word);
}

static void
chunk_begin(struct writer *w, uint32_t len, const char type[4])
{
	put_be32(w, len);
	w->crc = 0xffffffffu;
	put(w, (const uint8_t *)type, 4);
}

static void
chunk_end(struct writer *w)
{
	put_be32(w, ~w->crc);
}

static void
put_data(struct writer *w, const uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		w->adler[0] = (w->adler[0] + data[i]) % 65521;
		w->adler[1] = (w->adler[1] + w->adler[0]) % 65521;
	}
	put(w, data, len);
}

/* A stored block with one line of the picture: a filter byte (none), then two pixels a byte. */
static void
put_row(struct writer *w, const struct png_image *p, uint32_t y)
{
	const uint8_t *pixel = p->pixel + (size_t)y * p->width;
	const uint16_t len = (uint16_t)(1 + (p->width + 1) / 2), inverse = (uint16_t)~len;
	const uint8_t head[] = {y + 1 == p->height, (uint8_t)len, (uint8_t)(len >> 8),
				(uint8_t)inverse, (uint8_t)(inverse >> 8)};
	const uint8_t filter = 0;

	put(w, head, sizeof head);
	put_data(w, &filter, 1);
	for (uint32_t x = 0; x < p->width; x += 2) {
		const uint8_t second = x + 1 < p->width ? pixel[x + 1] : 0;
		const uint8_t both = (uint8_t)(pixel[x] << 4 | second);

		put_data(w, &both, 1);
	}
}

bool
png_write(FILE *out, const struct png_image *p)
{
	static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
	static const uint8_t kind[] = {4, 3, 0, 0, 0}; /* 4 bits, palette, deflate, -, - */
	static const uint8_t zlib[] = {0x78, 0x01};
	struct writer w = {.out = out, .adler = {1, 0}};
	const uint32_t row = 5 + 1 + (p->width + 1) / 2;

	put(&w, signature, sizeof signature);
	chunk_begin(&w, 13, "IHDR");
	put_be32(&w, p->width);
	put_be32(&w, p->height);
	put(&w, kind, sizeof kind);
	chunk_end(&w);
	chunk_begin(&w, sizeof p->colour, "PLTE");
	put(&w, p->colour[0], sizeof p->colour);
	chunk_end(&w);
	chunk_begin(&w, sizeof zlib + row * p->height + 4, "IDAT");
	put(&w, zlib, sizeof zlib);
	for (uint32_t y = 0; y < p->height; y++)
		put_row(&w, p, y);
	put_be32(&w, w.adler[1] << 16 | w.adler[0]);
	chunk_end(&w);
	chunk_begin(&w, 0, "IEND");
	chunk_end(&w);
	return ferror(out) == 0;
}
