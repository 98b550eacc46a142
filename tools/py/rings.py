"""NIC profiles for users who may not lock much memory.

The af_packet driver locks its rings in memory (MAP_LOCKED), by its profile 32 MB a queue. Root may lock that much, and
a user of Debian 8 MB. So without root the profiles are copied with smaller rings.
"""

import re
import resource
import shutil

from progress import Failed, say

FRAME_BYTES = 2048
RINGS_PER_CORE = 2   # rings a queue: receive, transmit
FRAMES_MIN = 256     # with fewer frames a client's burst would not fit


def that_fit(profiles, copies, cores):
    """Returns the folder to use: profiles itself, or copies with fewer frames of af_packet."""
    _, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    text = (profiles / "af_packet.yaml").read_text()
    profile_frames = int(re.search(r"framecnt=(\d+)", text).group(1))
    ring_bytes = FRAME_BYTES * RINGS_PER_CORE * cores
    # A quarter of the limit is left to other programs of this user.
    if hard == resource.RLIM_INFINITY or hard * 3 // 4 >= profile_frames * ring_bytes:
        return profiles
    frames = profile_frames
    while frames * ring_bytes > hard * 3 // 4:
        frames //= 2
    if frames < FRAMES_MIN:
        raise Failed(f"af_packet for {cores} cores needs more locked memory than ulimit -l allows: "
                     "raise it, or take fewer --cores, or --port tap")
    shutil.copytree(profiles, copies)
    text = re.sub(r"framecnt=\d+", f"framecnt={frames}", text)
    # "lock" is dropped from the needs: these rings fit, and the appliance would check for the profile's larger ones.
    text = re.sub(r"^(needs: \[.*), lock\]", r"\1]", text, flags=re.M)
    (copies / "af_packet.yaml").write_text(text)
    say(f"locked memory is limited to {hard >> 20} MB: rings of {frames} frames, not "
        f"{profile_frames}")
    return copies
