"""The part ixgbe of tools/bench edge: Debian's ixgbe driver on a model of the 82599 that moves frames from a thread on
the other CPU (tests/dpdk/nic82599/speed82599.h)."""

ADDRESS, MAC = "0000:82:00.0", "90:e2:ba:82:59:90"
PRELOAD = "tests/dpdk/nic82599/nic82599_preload.so"


def environment(bench):
    bed = bench.bed
    return {"NIC82599_FRAMES": str(bed.frames(MAC)), "NIC82599_CPU": str(bed.client_cpu), "LD_PRELOAD": str(bed.build / PRELOAD)}


def measure(bench):
    bed, env = bench.bed, environment(bench)
    server = bed.start_clockoo("", "--port", ADDRESS, "--profile", "ixgbe", environment=env)
    floor = bed.start_macswap("-2", "--allow", ADDRESS, environment=env)
    rows = bench.spans("ixgbe", floor, server)
    bench.keep("edge_ixgbe_cycles_per_get", [r["server"]["ns"] * r["cycles_per_ns"] for r in rows], 1)
