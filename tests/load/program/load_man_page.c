/*
 * load_man_page.c - writes clockoo-load(1) when the program is built, out of the table of options
 * that --help is printed from.
 */
#include "config/config_man.h"
#include "load_options.h"
#include "version.h"

int
main(void)
{
	config_man_title(stdout, "clockoo-load", "1", CLOCKOO_VERSION,
			 "load generator for memcached servers, on DPDK");
	puts(".SH SYNOPSIS\n.B clockoo\\-load\n[\\fIOPTION\\fR]...\n"
	     ".SH DESCRIPTION\n"
	     "Loads a memcached server through a DPDK port, without the kernel, and checks every "
	     "value. It stores\n"
	     "all keys, then measures.\n"
	     ".SH OPTIONS");
	load_options_man(stdout);
	puts(".SH EXAMPLES\n"
	     "Without a NIC, over memory that both programs share; \\fBmemif\\fR carries one "
	     "queue, \\fBvhost\\fR several.\n"
	     "Without hugepages \\fB\\-\\-no\\-huge\\fR to both.\n.PP\n.nf\n"
	     "clockoo \\-\\-port vhost \\-\\-socket /tmp/c.sock \\-U 11211\n"
	     "clockoo\\-load \\-\\-port virtio_user \\-\\-socket /tmp/c.sock \\-\\-transport udp\n"
	     "\nclockoo \\-\\-port memif \\-\\-socket /tmp/c.sock \\-U 11211\n"
	     "clockoo\\-load \\-\\-port memif \\-\\-socket /tmp/c.sock \\-\\-transport udp\n.fi\n"
	     ".PP\nOver a NIC that \\fBclockoo\\-nic bind\\fR handed to user space, as root, from "
	     "a machine of its own:\n.PP\n.nf\n"
	     "clockoo\\-load \\-\\-port 0000:03:00.0 \\-\\-address 192.0.2.7/24 "
	     "\\-\\-server 192.0.2.10\n.fi\n"
	     ".PP\nThe highest rate that answers 99 of 100 requests within a millisecond, for two "
	     "numbers of connections:\n.PP\n.nf\n"
	     "clockoo\\-load ... \\-\\-sweep p99=1ms \\-\\-vary connections=1,50 "
	     "\\-\\-json f.json\n/usr/share/clockoo/charts.py f.json\n.fi\n"
	     "The second command draws latency against throughput (f.svg); it needs "
	     "python3\\-matplotlib.");
	puts(".SH EXIT STATUS\n0 if every value was right, 2 if one was wrong, 1 if it could not "
	     "run or not to its end.\n"
	     ".SH SEE ALSO\n.BR clockoo (8)");
	return ferror(stdout) != 0;
}
