#!/usr/bin/python3 -B
"""nibble_table.py - prints the C table of filter_nibbles(): sorted quadruples by their rank."""

import itertools
import math


def rank(nibbles):
    return sum(math.comb(nibble + place, place + 1) for place, nibble in enumerate(nibbles))


def main():
    quads = sorted(itertools.combinations_with_replacement(range(16), 4), key=rank)
    assert [rank(quad) for quad in quads] == list(range(3876))
    print("/* Made by nibble_table.py. */\n#include \"filter/filter_codes.h\"\n"
          "extern const uint16_t filter_nibble_table[FILTER_CODES];\n"
          "const uint16_t filter_nibble_table[FILTER_CODES] = {")
    for quad in quads:
        print(f"\t{sum(nibble << 4 * place for place, nibble in enumerate(quad)):#x},")
    print("};")


if __name__ == "__main__":
    main()
