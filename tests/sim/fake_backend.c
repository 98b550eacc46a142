/*
 * fake_backend.c - a backend that answers when a test says so.
 */
#include "fake_backend.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

static struct fake_request *
request_new(struct fake_backend *b, const struct backend_ask *ask)
{
	struct fake_request *r = &b->requests[b->count++];

	ensure(b->count <= FAKE_REQUESTS && ask->key.len < FAKE_TEXT);
	*r = (struct fake_request){.ticket = ask->ticket, .hash = ask->hash};
	memcpy(r->key, ask->key.data, ask->key.len);
	return r;
}

static struct fake_request *
request_of(struct fake_backend *b, uint64_t ticket)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->requests[i].ticket == ticket)
			return &b->requests[i];
	ensure(false);
	return NULL;
}

/* Keeps the bytes of a set's value; the fill itself is not published. */
static void
on_ask(void *arg, const struct backend_ask *ask)
{
	struct fake_backend *b = arg;
	struct fake_request *r = request_new(b, ask);
	struct fill own;
	struct view bytes;

	if (ask->value == NULL)
		return;
	own = *ask->value;
	bytes = store_value_at(b->store, own.item, 0);
	ensure(bytes.len < FAKE_TEXT);
	r->is_set = true;
	memcpy(r->value, bytes.data, bytes.len);
	store_abandon(b->store, &own);
	backend_value_end(b->serve, ask->lane, bytes.len);
}

/* Returns the value that answers a request; NULL: a miss. */
static const char *
value_of(const struct fake_backend *b, const struct fake_request *r)
{
	for (uint32_t i = b->count; i-- > 0;)
		if (b->requests[i].is_set && b->requests[i].answered &&
		    strcmp(b->requests[i].key, r->key) == 0)
			return b->requests[i].value;
	return r->key[0] == '-' ? NULL : r->key;
}

static void
item_make(struct fake_backend *b, struct fake_request *r, const char *value)
{
	const struct view key = {(const uint8_t *)r->key, (uint32_t)strlen(r->key)};
	const uint32_t len = (uint32_t)strlen(value);

	ensure(store_begin(b->store, &r->fill, key, r->hash, len, 0, 0) == STORE_OK);
	store_fill(b->store, &r->fill, (const uint8_t *)value, len);
}

static void
answer(struct fake_backend *b, struct fake_request *r)
{
	struct backend_answer says = {.result = STORE_OK};
	const char *value = r->is_set ? NULL : value_of(b, r);

	if (value != NULL) {
		item_make(b, r, value);
		says.item = r->fill.item;
	}
	r->answered = true;
	ensure(backend_answer(b->serve, r->ticket, &says) == !r->forgotten);
	b->lent += value != NULL && !r->forgotten;
	if (r->forgotten && value != NULL)
		store_abandon(b->store, &r->fill);
}

static void
on_poll(void *arg, uint64_t now_ns)
{
	struct fake_backend *b = arg;

	for (uint32_t i = 0; i < b->due_count; i++)
		answer(b, &b->requests[b->due[i]]);
	b->due_count = 0;
}

static void
on_forget(void *arg, uint64_t ticket)
{
	request_of(arg, ticket)->forgotten = true;
}

static void
on_release(void *arg, uint64_t ticket, const struct item *item)
{
	struct fake_backend *b = arg;

	b->lent--;
	store_abandon(b->store, &request_of(b, ticket)->fill);
}

void
fake_backend_create(struct fake_backend *b, struct serve *sv, struct store_core *store,
		    uint64_t timeout_ns)
{
	const struct backend table = {.arg = b,
				      .mode = BACKEND_WRITES,
				      .lanes = 1,
				      .timeout_ns = timeout_ns,
				      .ask = on_ask,
				      .poll = on_poll,
				      .forget = on_forget,
				      .release = on_release};
	struct region region = {.size = backend_bytes()};

	*b = (struct fake_backend){.serve = sv, .store = store};
	b->memory = region.base = calloc(1, region.size);
	ensure(region.base != NULL);
	backend_attach(&region, sv, &table);
}

void
fake_backend_destroy(struct fake_backend *b)
{
	free(b->memory);
}

void
fake_backend_answer(struct fake_backend *b, uint32_t n)
{
	ensure(n < b->count && b->due_count < FAKE_REQUESTS);
	b->due[b->due_count++] = n;
}
