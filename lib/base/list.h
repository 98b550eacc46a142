/*
 * list.h - a doubly linked list with the links inside the objects.
 *
 * Shape:  a ring through a head; an unlinked node points at itself.
 * Owner:  the list owns nothing.
 * Thread: core-local.
 */
#ifndef CLOCKOO_LIST_H
#define CLOCKOO_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void
list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool
list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void
list_push_back(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void
list_push_front(struct list *head, struct list *node)
{
	list_push_back(head->next, node);
}

/* Unlinking a node twice is harmless. */
static inline void
list_unlink(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* Returns the first node, unlinked; NULL when the list is empty. */
static inline struct list *
list_pop_front(struct list *head)
{
	struct list *node = head->next;

	if (node == head)
		return NULL;
	list_unlink(node);
	return node;
}

/* Moves the nodes from the first one to last to the end of another list. */
static inline void
list_move_front(struct list *from, struct list *last, struct list *to)
{
	struct list *first = from->next;

	from->next = last->next;
	last->next->prev = from;
	first->prev = to->prev;
	to->prev->next = first;
	last->next = to;
	to->prev = last;
}

#endif
