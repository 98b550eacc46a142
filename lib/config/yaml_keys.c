/*
 * yaml_keys.c - walks libyaml's document as keys with path and line; refuses what a configuration
 * must not contain.
 */
#include "yaml_keys.h"
#include "text_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct walk {
	const char *file;
	const struct yaml_visitor *visitor;
	struct error *err;
	yaml_document_t *doc;
	size_t reached; /* number of the last node visited; that of an alias is not higher */
	struct yaml_key key;
	char path[YAML_PATH_BYTES];
};

static uint32_t
line_of(const yaml_node_t *node)
{
	return (uint32_t)node->start_mark.line + 1;
}

/* Returns a node's number, in the order of the text. */
static size_t
number_of(const struct walk *w, const yaml_node_t *node)
{
	return (size_t)(node - w->doc->nodes.start) + 1;
}

bool
yaml_key_error(struct error *err, const struct yaml_key *key, const char *format, ...)
{
	char words[ERROR_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	return error_set(err, "%s:%u: %s%s%s", key->file, key->line, key->path,
			 key->path[0] != '\0' ? ": " : "", words);
}

static bool
report_error(struct walk *w, const yaml_node_t *node, const char *words)
{
	if (node != NULL && number_of(w, node) >= w->reached)
		w->key.line = line_of(node);
	return yaml_key_error(w->err, &w->key, "%s", words);
}

static bool
is_plain_tag(const yaml_node_t *node)
{
	static const char *const tags[] = {YAML_DEFAULT_SCALAR_TAG, YAML_DEFAULT_SEQUENCE_TAG,
					   YAML_DEFAULT_MAPPING_TAG};

	for (uint32_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
		if (node->tag == NULL || strcmp((const char *)node->tag, tags[i]) == 0)
			return true;
	return false;
}

/* True if a configuration may contain this node, its kind apart. */
static bool
is_allowed(struct walk *w, const yaml_node_t *node)
{
	if (number_of(w, node) <= w->reached)
		return report_error(w, NULL, "an alias (*); write the value again");
	w->reached = number_of(w, node);
	if (!is_plain_tag(node))
		return report_error(w, node, "a tag (!); leave it out");
	if (node->type == YAML_SCALAR_NODE &&
	    memchr(node->data.scalar.value, 0, node->data.scalar.length) != NULL)
		return report_error(w, node, "a NUL byte in the value");
	return true;
}

static const char *
text_of(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

/* Visits one node. The line is that of its key, since the value may begin on a later one. */
static bool
visit(struct walk *w, const yaml_node_t *node, enum yaml_shape shape)
{
	w->key.shape = shape;
	w->key.text = shape == YAML_VALUE ? text_of(node) : NULL;
	return w->visitor->visit(w->visitor->ctx, &w->key, w->err);
}

static bool walk_node(struct walk *w, const yaml_node_t *node, uint32_t depth);

/* Walks a list of mappings, each as a section with an index. */
static bool
walk_sections(struct walk *w, const yaml_node_t *list, uint32_t depth)
{
	const size_t len = strlen(w->path);
	uint32_t n = 0;

	for (const yaml_node_item_t *i = list->data.sequence.items.start;
	     i < list->data.sequence.items.top; i++, n++) {
		const yaml_node_t *node = yaml_document_get_node(w->doc, *i);

		if (node->type != YAML_MAPPING_NODE)
			return report_error(w, node,
					    "a value between mappings; expected mappings only");
		if ((size_t)snprintf(w->path + len, sizeof w->path - len, "[%u]", n) >=
		    sizeof w->path - len)
			return report_error(w, node, "a name too long");
		w->key.line = line_of(node);
		if (!walk_node(w, node, depth + 1))
			return false;
		w->path[len] = '\0';
	}
	return true;
}

static bool
walk_list(struct walk *w, const yaml_node_t *list, uint32_t depth)
{
	const yaml_node_item_t *const start = list->data.sequence.items.start;
	const yaml_node_item_t *const top = list->data.sequence.items.top;

	if (start < top && yaml_document_get_node(w->doc, *start)->type == YAML_MAPPING_NODE)
		return walk_sections(w, list, depth);
	w->key.count = 0;
	for (const yaml_node_item_t *i = start; i < top; i++) {
		const yaml_node_t *node = yaml_document_get_node(w->doc, *i);

		if (!is_allowed(w, node))
			return false;
		if (node->type != YAML_SCALAR_NODE)
			return report_error(w, node, "a list within a list; expected values");
		if (w->key.count == YAML_ITEMS_MAX)
			return report_error(w, node, "too many items in the list");
		w->key.items[w->key.count++] = (struct yaml_item){text_of(node), line_of(node)};
	}
	return visit(w, list, YAML_LIST);
}

/* Returns an earlier pair of the mapping that has the same key as pair, or NULL. */
static const yaml_node_t *
find_duplicate(struct walk *w, const yaml_node_t *map, const yaml_node_pair_t *pair)
{
	const yaml_node_t *key = yaml_document_get_node(w->doc, pair->key);

	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
		const yaml_node_t *other = yaml_document_get_node(w->doc, p->key);

		if (strcmp(text_of(other), text_of(key)) == 0)
			return other;
	}
	return NULL;
}

static bool
extend_path(struct walk *w, const yaml_node_t *key)
{
	const size_t len = strlen(w->path), room = sizeof w->path - len;

	if (key->type != YAML_SCALAR_NODE)
		return report_error(w, key, "a key that is no scalar");
	if (!is_allowed(w, key))
		return false;
	w->key.line = line_of(key);
	if ((size_t)snprintf(w->path + len, room, "%s%s", len != 0 ? "." : "", text_of(key)) < room)
		return true;
	return report_error(w, key, "a name too long");
}

static bool
walk_mapping(struct walk *w, const yaml_node_t *map, uint32_t depth)
{
	const size_t len = strlen(w->path);

	if (!visit(w, map, YAML_SECTION))
		return false;
	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *first;

		if (!extend_path(w, yaml_document_get_node(w->doc, p->key)))
			return false;
		first = find_duplicate(w, map, p);
		if (first != NULL)
			return yaml_key_error(w->err, &w->key,
					      "duplicate key, also on line %u; give it once",
					      line_of(first));
		if (!walk_node(w, yaml_document_get_node(w->doc, p->value), depth + 1))
			return false;
		w->path[len] = '\0';
	}
	return true;
}

static bool
walk_node(struct walk *w, const yaml_node_t *node, uint32_t depth)
{
	if (depth > YAML_DEPTH_MAX)
		return report_error(w, node, "nested too deeply");
	if (!is_allowed(w, node))
		return false;
	switch (node->type) {
	case YAML_SCALAR_NODE:
		return visit(w, node, YAML_VALUE);
	case YAML_SEQUENCE_NODE:
		return walk_list(w, node, depth);
	case YAML_MAPPING_NODE:
		return walk_mapping(w, node, depth);
	case YAML_NO_NODE:
		break;
	}
	return true;
}

static bool
report_yaml_error(const char *file, const yaml_parser_t *parser, struct error *err)
{
	const bool context = parser->context != NULL && parser->context[0] != '\0';

	/* A reader's error, such as a byte that is not UTF-8, has no line, only a byte offset. */
	if (parser->error == YAML_READER_ERROR)
		return error_set(err, "%s: byte %zu: %s; expected a text file of UTF-8", file,
				 parser->problem_offset, parser->problem);
	return error_set(err, "%s:%zu: %s%s%s; expected \"key: value\" lines, indented by spaces",
			 file, parser->problem_mark.line + 1,
			 parser->problem != NULL ? parser->problem : "not YAML", context ? " " : "",
			 context ? parser->context : "");
}

static bool
walk_document(struct walk *w)
{
	const yaml_node_t *root = yaml_document_get_root_node(w->doc);

	/* A file with only comments counts as a mapping without keys. */
	if (root == NULL)
		return true;
	if (root->type != YAML_MAPPING_NODE)
		return report_error(w, root, "expected \"key: value\" lines");
	return walk_node(w, root, 0);
}

/* True if no second document follows. */
static bool
is_at_end(struct walk *w, yaml_parser_t *parser)
{
	yaml_document_t more;
	const yaml_node_t *root;
	bool end;

	if (!yaml_parser_load(parser, &more))
		return report_yaml_error(w->file, parser, w->err);
	root = yaml_document_get_root_node(&more);
	end = root == NULL;
	if (!end)
		error_set(w->err, "%s:%u: a second document (---); expected one", w->file,
			  line_of(root));
	yaml_document_delete(&more);
	return end;
}

bool
yaml_keys_of_text(const char *file, const char *text, size_t len, const struct yaml_visitor *v,
		  struct error *err)
{
	yaml_document_t doc;
	yaml_parser_t parser;
	struct walk w = {.file = file, .visitor = v, .err = err, .doc = &doc};
	bool ok;

	w.key.file = file;
	w.key.path = w.path;
	w.key.line = 1;
	if (!yaml_parser_initialize(&parser))
		return error_set(err, "%s: no memory to read it", file);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	ok = yaml_parser_load(&parser, &doc);
	if (ok) {
		ok = walk_document(&w) && is_at_end(&w, &parser);
		yaml_document_delete(&doc);
	} else {
		report_yaml_error(file, &parser, err);
	}
	yaml_parser_delete(&parser);
	return ok;
}

bool
yaml_keys_of_file(const char *file, const struct yaml_visitor *v, struct error *err)
{
	char text[YAML_FILE_BYTES + 1];
	const ssize_t len = text_file_read(text, YAML_FILE_BYTES, "", file, err);

	if (len < 0)
		return false;
	return yaml_keys_of_text(file, text, (size_t)len, v, err);
}
