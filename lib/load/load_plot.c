/*
 * load_plot.c - the plot's axes, labels and lines.
 */
#include "load_plot.h"
#include "png_image.h"

#include <math.h>
#include <string.h>

#define LEFT   64
#define RIGHT  110
#define TOP    36
#define BOTTOM 44
#define WIDE   ((int)LOAD_PLOT_WIDTH - LEFT - RIGHT)
#define HIGH   ((int)LOAD_PLOT_HEIGHT - TOP - BOTTOM)
#define TICKS  5
#define DOT    2

enum colour { WHITE, INK, GRID, BLUE, ORANGE, GREEN };

static const uint8_t colours[][3] = {
	{255, 255, 255}, {34, 34, 34},  {221, 221, 221},
	{11, 111, 184},  {209, 89, 27}, {58, 143, 58},
};

struct scale {
	double x_max;         /* requests a second */
	double y_low, y_high; /* exponents of ten of microseconds */
};

struct series {
	const char *name;
	size_t at; /* in struct load_point */
	enum colour colour;
};

static const struct series all_series[] = {
	{"mean", offsetof(struct load_point, mean_us), BLUE},
	{"p50", offsetof(struct load_point, p50_us), GREEN},
	{"p99", offsetof(struct load_point, p99_us), ORANGE},
};
#define SERIES (sizeof all_series / sizeof all_series[0])

static double
value_of(const struct load_point *p, const struct series *s)
{
	double v;

	memcpy(&v, (const char *)p + s->at, sizeof v);
	return v > 0.1 ? v : 0.1;
}

static struct scale
scale_of(const struct load_report *r)
{
	struct scale s = {.x_max = 1, .y_low = 9, .y_high = -1};

	for (uint32_t i = 0; i < r->count; i++) {
		s.x_max = fmax(s.x_max, r->point[i].requests_s);
		for (uint32_t k = 0; k < SERIES; k++) {
			const double v = log10(value_of(&r->point[i], &all_series[k]));

			s.y_low = fmin(s.y_low, floor(v));
			s.y_high = fmax(s.y_high, ceil(v));
		}
	}
	if (s.y_high <= s.y_low)
		s.y_high = s.y_low + 1;
	return s;
}

static struct png_point
place(const struct scale *s, double x, double us)
{
	const double high = (log10(us) - s->y_low) / (s->y_high - s->y_low);

	return (struct png_point){LEFT + (int)(x / s->x_max * WIDE),
				  TOP + HIGH - (int)(high * HIGH)};
}

static void
text_centred(struct png_image *p, int x, int y, const char *text)
{
	png_text(p, (struct png_point){x - (int)png_text_width(text) / 2, y}, text, INK);
}

static void
text_before(struct png_image *p, int x, int y, const char *text)
{
	png_text(p, (struct png_point){x - (int)png_text_width(text), y - (int)GLYPH_HEIGHT / 2},
		 text, INK);
}

static void
short_number(char text[32], double n)
{
	if (n >= 1e6)
		snprintf(text, 32, "%.3gm", n / 1e6);
	else if (n >= 1e3)
		snprintf(text, 32, "%.3gk", n / 1e3);
	else
		snprintf(text, 32, "%.3g", n);
}

static void
draw_axes(struct png_image *p, const struct scale *s)
{
	char text[32];

	for (int i = 0; i <= TICKS; i++) {
		const int x = LEFT + WIDE * i / TICKS;

		png_line(p, (struct png_point){x, TOP}, (struct png_point){x, TOP + HIGH}, GRID);
		short_number(text, s->x_max * i / TICKS);
		text_centred(p, x, TOP + HIGH + 8, text);
	}
	for (double e = s->y_low; e <= s->y_high; e++) {
		const struct png_point at = place(s, 0, pow(10, e));

		png_line(p, at, (struct png_point){LEFT + WIDE, at.y}, GRID);
		snprintf(text, sizeof text, "%.10g", pow(10, e));
		text_before(p, LEFT - 6, at.y, text);
	}
	text_centred(p, LEFT + WIDE / 2, TOP / 2 - 4, "latency against throughput");
	text_centred(p, LEFT + WIDE / 2, TOP + HIGH + 26, "requests/s");
	text_centred(p, LEFT, TOP - 14, "us");
}

/* What orders the points of a line: past the knee a higher rate may come to less. */
static double
order_of(const struct load_point *p)
{
	return p->rate > 0 ? p->rate : p->requests_s;
}

/* The point that comes after `after` among those with the same setting. */
static const struct load_point *
next_point(const struct load_report *r, const struct load_point *after, uint32_t first)
{
	const struct load_point *best = NULL, *like = &r->point[first];

	for (uint32_t i = 0; i < r->count; i++) {
		const struct load_point *p = &r->point[i];

		if (p->conns != like->conns || p->depth != like->depth || p == after ||
		    (after != NULL && order_of(p) <= order_of(after)))
			continue;
		if (best == NULL || order_of(p) < order_of(best))
			best = p;
	}
	return best;
}

static bool
seen_before(const struct load_report *r, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (r->point[k].conns == r->point[i].conns &&
		    r->point[k].depth == r->point[i].depth)
			return true;
	return false;
}

static void
draw_series(struct png_image *p, const struct load_report *r, const struct scale *s,
	    const struct series *which)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct load_point *at = NULL, *next;

		if (seen_before(r, i))
			continue;
		/* At most count steps: each goes up. */
		while ((next = next_point(r, at, i)) != NULL) {
			const struct png_point to =
				place(s, next->requests_s, value_of(next, which));

			if (at != NULL)
				png_line(p, place(s, at->requests_s, value_of(at, which)), to,
					 which->colour);
			png_disc(p, to, DOT, which->colour);
			at = next;
		}
	}
}

bool
load_plot_write(FILE *out, const struct load_report *r, uint8_t *room)
{
	struct png_image p = {
		.width = LOAD_PLOT_WIDTH,
		.height = LOAD_PLOT_HEIGHT,
		.pixel = room,
	};
	const struct scale s = scale_of(r);

	memcpy(p.colour, colours, sizeof colours);
	png_fill(&p, WHITE);
	draw_axes(&p, &s);
	for (uint32_t i = 0; i < SERIES; i++) {
		const struct png_point at = {LEFT + WIDE + 16, TOP + 14 * (int)i};

		png_text(&p, at, all_series[i].name, all_series[i].colour);
		draw_series(&p, r, &s, &all_series[i]);
	}
	return png_write(out, &p);
}
