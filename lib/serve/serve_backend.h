/*
 * serve_backend.h - the interface of the service to a backend, which answers requests in a later
 * turn.
 *
 * A backend (servers, or a device) is asked for what the store lacks. lib/backend, a room above
 * this one, keeps the requests that wait for it. The service calls that room through one table of
 * functions, and only if a backend is attached.
 *
 * Owner:  the tables are copied, except for struct serve_backend_ops, which is a constant.
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_BACKEND_H
#define CLOCKOO_SERVE_BACKEND_H

#include "proto/mc_req.h"
#include "serve.h"
#include "serve_steps.h"

struct op;
struct session;

/* How much a backend does for the service. Each mode does what the previous one does, and more. */
enum serve_backend_mode {
	BACKEND_NONE, /* no backend: a key that the store lacks is a miss */
	/* A second tier: answers retrievals, and puts keys on which other requests depend into the
	 * store. */
	BACKEND_PROMOTES,
	BACKEND_READS,    /* answers retrievals; the store executes all else */
	BACKEND_WRITES,   /* executes all writes, too; the store's items are copies */
	BACKEND_BYPASSED, /* as BACKEND_WRITES, while no copy may answer */
};

/* A backend's answer for a key, or for a write. */
struct backend_answer {
	bool failed; /* there is no answer; a write may or may not have been executed */
	bool here;   /* for a promotion: the store has an item of its own for the key */
	/* Enum mc_error; if set, it is the reply, and all other fields are ignored. */
	uint8_t error;
	uint8_t result;        /* of a write whose reply has no value: enum store_result */
	bool won, stale, sent; /* mg: W, X, Z */
	bool fetched;          /* mg: h */
	/* NULL: a miss. Key, value, flags and expiry of the reply are the item's. */
	const struct item *item;
	/* The cas in the reply, of the item or the write: in the binary protocol, or for flag c. */
	uint64_t cas;
	union {
		uint64_t number; /* the result of incr, decr or ma */
		/* Number of the arrival (backend.h) that is still filling the item. 0: the item is
		 * complete. */
		uint64_t arrival;
	};
	uint32_t idle_s;       /* mg: l */
	int32_t ttl_s;         /* ma: t; -1: for ever */
	uint32_t size;         /* ms: s */
	uint32_t client_flags; /* binary touch */
};

struct serve_backend_ops {
	/* Begins a turn, before requests are read: takes answers, and ends requests at their
	 * deadlines. */
	void (*turn)(struct serve *sv);
	/* Visits a session that waits for answers, or has some. False: the visit ends here. True:
	 * the session's bytes are parsed like any session's. */
	bool (*resume)(struct serve *sv, struct session *ss);
	/* Makes operations of datagrams whose answers have arrived. False: the pass's last
	 * operations are part of an unfinished line, so no other datagram is parsed in this
	 * pass. */
	bool (*datagrams_parse)(struct serve *sv);
	/* Executes a run of plain gets that are hits, from operation first on. Returns how many. */
	uint32_t (*hits_execute)(struct serve *sv, uint32_t first);
	/* Executes any operation: by its verb's own code, or by asking the backend. */
	enum exec_status (*execute)(struct serve *sv, struct op *op);
	/* Returns how many bytes have arrived of the value that the session is sending. */
	uint32_t (*arrived)(const struct serve *sv, const struct session *ss);
	/* Makes the backend delete a key whose set is refused for its size or for lack of
	 * memory. */
	void (*set_refused)(struct serve *sv, const struct op *op);
	/* Adjusts pending requests, before the session's operations from `first` on go back into
	 * its read buffer and the buffer's bytes move to its beginning. Called for a session with
	 * pending requests. */
	void (*bytes_move)(struct serve *sv, struct session *ss, uint32_t first);
	/* Ends a pass for a session that waits: its operations of the pass are executed. */
	void (*session_swept)(struct serve *sv, struct session *ss);
	/* Ends a pass: all operations are executed. */
	void (*pass_end)(struct serve *sv);
	/* Drops the requests of a session that ends; ss NULL: those of all datagrams. */
	void (*forget)(struct serve *sv, struct session *ss);
};

/* Why a link failed to open: enum conn_failure, or one of these, which the layer above TCP
 * found. */
enum link_failure {
	LINK_CLOSED = CONNECT_STOPPED + 1, /* the server closed it during the handshake */
	LINK_NOT_TLS,                      /* the answer is not TLS */
	LINK_TLS_REFUSED,                  /* the server refused the handshake */
	LINK_TLS_OTHER,                    /* the handshake failed */
	LINK_CERT_EXPIRED,
	LINK_CERT_EARLY,
	LINK_CERT_NAME,   /* the certificate is another server's */
	LINK_CERT_ISSUER, /* no trusted issuer */
	LINK_CERT_OTHER,  /* the certificate does not verify for another reason */
	LINK_CERT_OWN,    /* the server refuses our certificate, or requires one */
	LINK_NO_PATH,     /* there is no such Unix socket */
	LINK_DENIED,      /* the kernel does not permit it */
	LINK_KERNEL_OTHER,
	LINK_FAILURE_COUNT
};

/* The user of links (backend/backend_link.h), which are connections that a backend opens to its
 * servers. why: enum conn_failure or link_failure. */
struct serve_link_user {
	void *arg;
	void (*opened)(void *arg, struct conn *link);
	void (*gone)(void *arg, struct conn *link);
	void (*failed)(void *arg, struct conn *link, uint32_t why);
	void (*ready)(void *arg, struct conn *link);
	/* Returns how many of the link's unsent bytes one TLS record may have, at most `most`. */
	uint32_t (*piece)(void *arg, const struct conn *link, uint32_t most);
	/* Offers the part of a datagram that is no command, up to the datagram's end. True: the
	 * user has taken it, and there is no reply. May be NULL. */
	bool (*received)(void *arg, const struct udp_peer *from, struct view request);
};

#endif
