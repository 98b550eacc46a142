"""The machines that QEMU emulates: a machine of each architecture, on CPUs of its own (TCG), with an IOMMU.

These words of the kernels' command lines switch off features that cost time in an emulated machine and help
nothing there.
"""

import dataclasses

HUGEPAGES = 160  # 2 MB each
TCG = ["-accel", "tcg,thread=multi,tb-size=256"]
QUIET = f"panic=-1 quiet mitigations=off nokaslr cryptomgr.notests hugepages={HUGEPAGES}"


@dataclasses.dataclass
class Machine:
    emulator: str      # a program of QEMU
    words: list        # its command line: CPU, board
    iommu: list        # and, where a NIC is, its IOMMU
    kernel_words: str
    control: tuple     # words for the port that runs commands, behind a character device called "control"
    package: str       # Debian's kernel for clouds


MACHINES = {
    # As the operator's machine: remapped interrupts, so that vfio-pci takes the NIC. The clock is the HPET's: a TSC that is
    # calibrated while the emulator is preempted runs up to twice as fast as time. A real Nehalem has rdtscp.
    "amd64": Machine(
        emulator="qemu-system-x86_64", words=["-M", "q35", "-cpu", "Nehalem,+rdtscp"], iommu=["-device", "intel-iommu,intremap=on"],
        kernel_words=f"console=ttyS0 tsc=reliable clocksource=hpet no_timer_check intel_iommu=on {QUIET}",
        control=("-serial", "chardev:control"), package="linux-image-cloud-amd64"),
    # The board has one serial port for us, so the second one is a PCI device.
    "arm64": Machine(
        emulator="qemu-system-aarch64", words=["-M", "virt,gic-version=3,iommu=smmuv3", "-cpu", "cortex-a72"], iommu=[],
        kernel_words=f"console=ttyAMA0 control=ttyS0 {QUIET}",
        control=("-device", "pci-serial,chardev=control"), package="linux-image-cloud-arm64"),
}
