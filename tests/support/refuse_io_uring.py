"""A seccomp filter that refuses io_uring as a container's does: EPERM by Docker's default profile, ENOSYS by others.

    subprocess.Popen(..., preexec_fn=refuse_io_uring.with_error(errno.EPERM))
"""

import ctypes
import errno

import seccomp

CALLS = (425, 426, 427)  # io_uring_setup, _enter, _register: the same on every machine


def is_refused_here():
    """True in such a container. Elsewhere the call fails with EFAULT, as it has no place for the ring's sizes."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(CALLS[0], 1, None)
    return ctypes.get_errno() != errno.EFAULT


def with_error(error):
    """Returns what a child calls before it executes the program."""
    return seccomp.refusing(dict.fromkeys(CALLS, error))
