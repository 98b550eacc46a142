"""A seccomp filter that refuses io_uring as a container's does: EPERM by Docker's default profile, ENOSYS by others.

    subprocess.Popen(..., preexec_fn=refuse_io_uring.with_error(errno.EPERM))
"""

import seccomp

CALLS = (425, 426, 427)  # io_uring_setup, _enter, _register: the same on every machine


def with_error(error):
    """What a child calls before it executes the program."""
    return seccomp.refusing(dict.fromkeys(CALLS, error))
