/*
 * One process for an address and NIC. Goal: a second process is refused, with the name of the
 * first; another address, another NIC, and a NIC in another network namespace are not in the way;
 * a crash leaves no claim. Method: children of this process claim, meet a second claim, and are
 * killed.
 */
#include "nic_claim.h"

#include "support/test.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADDRESS 0x0a630001u

static struct profile af_packet = {.device = "net_af_packet0,iface={iface}"};

static struct config
config_of(const char *iface, uint32_t ipv4)
{
	struct config cfg = {.ipv4 = ipv4};

	/* The name is unique to this run: others may test beside it. */
	snprintf(cfg.iface, sizeof cfg.iface, "%s%ld", iface, (long)getpid() % 100000);
	return cfg;
}

static bool
claim_of(const struct config *cfg, int *claim, struct error *err)
{
	err->text[0] = '\0';
	return nic_claim(cfg, &af_packet, claim, err);
}

/* Returns a child that has the claim until it is killed. */
static pid_t
child_with(const struct config *cfg)
{
	int ready[2];
	char word;
	pid_t pid;

	check_eq(pipe(ready), 0);
	pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		struct error err;
		int claim;

		word = claim_of(cfg, &claim, &err) ? 'y' : 'n';
		if (write(ready[1], &word, 1) == 1)
			pause();
		_exit(0);
	}
	check_eq(read(ready[0], &word, 1), 1);
	check_eq(word, 'y');
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void
kill_child(pid_t pid)
{
	check_eq(kill(pid, SIGKILL), 0);
	check_eq(waitpid(pid, NULL, 0), pid);
}

static void
a_second_process_is_refused_by_name_until_the_first_is_gone(void **state)
{
	const struct config cfg = config_of("v", ADDRESS);
	const pid_t first = child_with(&cfg);
	struct error err;
	char words[128];
	int claim;

	snprintf(words, sizeof words, "process %ld already serves 10.99.0.1 on %s", (long)first,
		 cfg.iface);
	check(!claim_of(&cfg, &claim, &err));
	check_ptr(strstr(err.text, words));
	check_eq(claim, NIC_CLAIM_NONE);
	kill_child(first);
	check(claim_of(&cfg, &claim, &err));
	check(claim >= 0);
	close(claim);
}

static void
another_address_or_nic_is_free(void **state)
{
	const struct config cfg = config_of("v", ADDRESS), nic = config_of("w", ADDRESS),
			    address = config_of("v", ADDRESS + 1);
	const pid_t first = child_with(&cfg);
	struct error err;
	int claim;

	check(claim_of(&nic, &claim, &err));
	close(claim);
	check(claim_of(&address, &claim, &err));
	close(claim);
	kill_child(first);
}

static void
a_port_of_ones_own_is_not_claimed(void **state)
{
	const struct profile ring = {.device = "net_null0"};
	const struct config cfg = config_of("v", ADDRESS);
	const pid_t first = child_with(&cfg);
	struct error err;
	int claim;

	check(nic_claim(&cfg, &ring, &claim, &err));
	check_eq(claim, NIC_CLAIM_NONE);
	kill_child(first);
}

static void
an_interface_of_that_name_in_another_namespace_is_another_nic(void **state)
{
	const struct config cfg = config_of("v", ADDRESS);
	const pid_t first = child_with(&cfg);
	struct error err;
	int claim;

	if (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) {
		check(claim_of(&cfg, &claim, &err));
		close(claim);
	} else {
		print_message("no namespaces here: not judged\n");
	}
	kill_child(first);
}

int
main(void)
{
	/* The test at the end leaves the namespace of the others. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_process_is_refused_by_name_until_the_first_is_gone),
		cmocka_unit_test(another_address_or_nic_is_free),
		cmocka_unit_test(a_port_of_ones_own_is_not_claimed),
		cmocka_unit_test(an_interface_of_that_name_in_another_namespace_is_another_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
