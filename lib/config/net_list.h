/*
 * net_list.h - a list of networks: --allow and --deny, or the file that one of them names.
 *
 * White space or commas separate networks; # begins a comment that ends with the line. A bare
 * address is a network of one address.
 *
 * Thread: any; net_list_load reads a file and uses the heap while it does.
 * Errors: struct error names the option and for a file the line, and says what is wrong and what to
 *         write. Networks that were added before the error stay in the list.
 * Bounds: files of NET_LIST_FILE_BYTES.
 */
#ifndef CLOCKOO_NET_LIST_H
#define CLOCKOO_NET_LIST_H

#include "config.h"

#define NET_LIST_FILE_BYTES (4u << 20)

struct net_list {
	struct config_net *nets;
	uint32_t count, max;
};

/* The place of an error in an option's list: "--deny: ", or "--deny: FILE: line 7: ". */
struct list_place {
	/* Name of the file in `where`; NULL: the list is the option's value. */
	const char *option, *where;
	uint32_t line;
};

/* Sets an error about a word of a list. Returns false. */
bool list_place_error(const struct list_place *at, const char *word, const char *what,
		      struct error *err);

/* Adds the networks of a text. where: a file's name for errors, which then also have the line;
 * NULL: errors have neither. */
bool net_list_read(struct net_list *list, const char *option, const char *where, const char *text,
		   size_t len, struct error *err);
/* Adds the networks of an option's value: a list, or the absolute path of a file. */
bool net_list_load(struct net_list *list, const char *option, const char *value, struct error *err);

#endif
