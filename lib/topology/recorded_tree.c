/*
 * recorded_tree.c - lines, names and links of a recorded machine.
 */
#include "recorded_tree.h"
#include "number_list.h"

#include <stdio.h>
#include <string.h>

struct span {
	const char *at;
	size_t len;
};

struct record {
	struct span path, value;
	struct span before, list,
		after; /* the path, split at its braces; if it has none, all of it is in before */
	bool is_link;
};

/* Returns where needle begins in s, or s.len if it is not in s. */
static size_t
find(struct span s, const char *needle)
{
	const char *p = memmem(s.at, s.len, needle, strlen(needle));

	return p != NULL ? (size_t)(p - s.at) : s.len;
}

static struct span
part(struct span s, size_t from, size_t to)
{
	return (struct span){s.at + from, to - from};
}

static struct span
without_spaces(struct span s)
{
	while (s.len != 0 && s.at[0] == ' ')
		s = part(s, 1, s.len);
	while (s.len != 0 && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\r'))
		s.len--;
	return s;
}

static void
cut_braces(struct record *r)
{
	const size_t open = find(r->path, "{"), close = find(r->path, "}");

	r->before = part(r->path, 0, open);
	r->list = r->after = part(r->path, r->path.len, r->path.len);
	if (open >= close || close == r->path.len)
		return;
	r->list = part(r->path, open + 1, close);
	r->after = part(r->path, close + 1, r->path.len);
}

/* Reads the next line that is a record, and moves *at past it. */
static bool
next_record(const struct tree *t, size_t *at, struct record *r)
{
	while (*at < t->text_len) {
		const struct span rest = {t->text + *at, t->text_len - *at};
		const size_t end = find(rest, "\n");
		const struct span line = part(rest, 0, end);
		const size_t equals = find(line, " ="), arrow = find(line, " -> ");

		*at += end + 1;
		if (line.len == 0 || line.at[0] == '#' || (equals == line.len && arrow == line.len))
			continue;
		r->is_link = arrow < equals;
		r->path = without_spaces(part(line, 0, r->is_link ? arrow : equals));
		r->value =
			without_spaces(part(line, r->is_link ? arrow + 4 : equals + 2, line.len));
		cut_braces(r);
		return true;
	}
	return false;
}

static bool
starts_with(const char *text, struct span s)
{
	return strncmp(text, s.at, s.len) == 0 && strlen(text) >= s.len;
}

/* True if text is one of the record's paths; with prefix: the beginning of one, up to a slash. *i:
 * position of that path in the braces. */
static bool
matches(const struct record *r, const char *text, bool prefix, uint32_t *i)
{
	const char *p = text + r->before.len;
	uint32_t n = 0;
	size_t digits, left;

	*i = 0;
	if (prefix && strlen(text) < r->before.len)
		return strncmp(text, r->before.at, strlen(text)) == 0 &&
		       r->before.at[strlen(text)] == '/';
	if (!starts_with(text, r->before))
		return false;
	if (r->list.len == 0)
		return *p == '\0';
	digits = strspn(p, "0123456789");
	if (digits == 0 || !number_list_at(p, digits, 0, &n) ||
	    !number_list_find(r->list.at, r->list.len, n, i))
		return false;
	p += digits;
	left = strlen(p);
	if (left > r->after.len || strncmp(p, r->after.at, left) != 0)
		return false;
	return left == r->after.len || (prefix && r->after.at[left] == '/');
}

/* Writes the value, with entry i of each list in its braces. */
static void
expand(char *out, size_t size, struct span value, uint32_t i)
{
	size_t used = 0;

	for (size_t at = 0; at < value.len && used + 1 < size;) {
		const struct span rest = part(value, at, value.len);
		const size_t close = find(rest, "}");
		uint32_t count = 0, n = 0;

		if (rest.at[0] != '{' || close == rest.len) {
			out[used++] = rest.at[0];
			at++;
			continue;
		}
		while (count <= i && number_list_at(rest.at + 1, close - 1, count, &n))
			count++;
		number_list_at(rest.at + 1, close - 1, count != 0 ? i % count : 0, &n);
		used += (size_t)snprintf(out + used, size - used, "%u", n);
		at += close + 1;
	}
	out[used < size ? used : size - 1] = '\0';
}

void
recorded_lines(const struct tree *t, const char *path, tree_each_fn *each, void *arg)
{
	char line[TREE_LINE_BYTES];
	struct record r;
	uint32_t i;

	for (size_t at = 0; next_record(t, &at, &r);) {
		if (r.is_link || !matches(&r, path, false, &i))
			continue;
		expand(line, sizeof line, r.value, i);
		if (!each(arg, line))
			return;
	}
}

bool
recorded_link(const struct tree *t, const char *path, char *target, size_t size)
{
	struct record r;
	uint32_t i;

	for (size_t at = 0; next_record(t, &at, &r);) {
		if (!r.is_link || !matches(&r, path, false, &i))
			continue;
		expand(target, size, r.value, i);
		return true;
	}
	return false;
}

bool
recorded_has(const struct tree *t, const char *path)
{
	struct record r;
	uint32_t i;

	for (size_t at = 0; next_record(t, &at, &r);)
		if (matches(&r, path, true, &i))
			return true;
	return false;
}

/* A walk over the names that paths have in the folder. Lines of one name are adjacent, so it is
 * enough to remember the name that was reported last. */
struct name_walk {
	const char *folder;
	char last[TREE_PATH_BYTES];
	tree_each_fn *each;
	void *arg;
};

static bool
visit_name(struct name_walk *visit_name, const char *path)
{
	const size_t len = strlen(visit_name->folder);
	char name[TREE_PATH_BYTES];

	if (strncmp(path, visit_name->folder, len) != 0 || path[len] != '/')
		return true;
	snprintf(name, sizeof name, "%.*s", (int)strcspn(path + len + 1, "/"), path + len + 1);
	if (strcmp(name, visit_name->last) == 0)
		return true;
	strcpy(visit_name->last, name);
	return visit_name->each(visit_name->arg, name);
}

void
recorded_names(const struct tree *t, const char *folder, tree_each_fn *each, void *arg)
{
	struct name_walk name_walk = {.folder = folder, .each = each, .arg = arg};
	struct record r;

	for (size_t at = 0; next_record(t, &at, &r);) {
		char path[TREE_PATH_BYTES];
		uint32_t n = 0, i = 0;

		do {
			if (r.list.len != 0 && !number_list_at(r.list.at, r.list.len, i, &n))
				break;
			if (r.list.len == 0)
				snprintf(path, sizeof path, "%.*s", (int)r.path.len, r.path.at);
			else
				snprintf(path, sizeof path, "%.*s%u%.*s", (int)r.before.len,
					 r.before.at, n, (int)r.after.len, r.after.at);
			if (!visit_name(&name_walk, path))
				return;
		} while (r.list.len != 0 && ++i < TREE_NAMES_MAX);
	}
}
