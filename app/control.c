#include "control.h"
#include "live.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ll

static sigset_t
stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return set;
}

void
control_block(void)
{
	sigset_t set = stop_signals();

	sigaddset(&set, SIGPIPE); /* a reader of --live that goes away must not stop a cache */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int64_t
monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* True: a signal to stop. False: it is due_ns. */
static bool
wait_for_stop(int64_t due_ns)
{
	const sigset_t set = stop_signals();
	int64_t left_ns;

	while ((left_ns = due_ns - monotonic_ns()) > 0) {
		const struct timespec t = {left_ns / NS_PER_S, left_ns % NS_PER_S};

		if (sigtimedwait(&set, NULL, &t) > 0)
			return true;
		if (errno == EAGAIN)
			break;
	}
	return false;
}

static void *
control_run(void *arg)
{
	struct appliance *a = arg;
	struct live live;
	int64_t due_ns = monotonic_ns();

	/* Threads inherit the main thread's CPU, where a core never lets go. */
	pthread_setaffinity_np(pthread_self(), sizeof a->all_cpus, &a->all_cpus);
	live_init(&live, a);
	for (;;) {
		due_ns += NS_PER_S;
		if (wait_for_stop(due_ns))
			break;
		if (a->config.live)
			live_print(&live, a);
	}
	atomic_store_explicit(&a->stop, true, memory_order_relaxed); /* read in worker.c */
	return NULL;
}

bool
control_start(pthread_t *thread, struct appliance *a, struct fault *f)
{
	const int rc = pthread_create(thread, NULL, control_run, a);

	return rc == 0 || fault_say(f, "cannot start the control thread: %s", strerror(rc));
}
