#!/usr/bin/python3 -B
"""digit_tables.py - prints the C tables of filter_codes.c.

The codes of a highest digit begin at a multiple of FILTER_QUAD_STEP, those of the next one, within them, at a
multiple of FILTER_TRIPLE_STEP: a shift and a look say which digit it is. That leaves 68 digits of 69.
"""

DIGITS, QUAD_STEP, TRIPLE_STEP = 68, 1024, 32


def starts(sizes, step):
    """Returns where each entry begins, and where the last ends, if sizes are rounded up to multiples of step."""
    found = [0]
    for size in sizes:
        found.append(found[-1] + -(-size // step) * step)
    return found


def digits_by_step(begins, step):
    return [digit for digit, (low, high) in enumerate(zip(begins, begins[1:])) for _ in range((high - low) // step)]


def table(kind, name, values):
    print(f"extern const {kind} {name}[{len(values)}];\nconst {kind} {name}[{len(values)}] = {{")
    for i in range(0, len(values), 12):
        print("\t" + " ".join(f"{value}," for value in values[i:i + 12]))
    print("};")


def main():
    pairs = [low | high << 8 for high in range(DIGITS) for low in range(high + 1)]
    triples = starts([(digit + 1) * (digit + 2) // 2 for digit in range(DIGITS)], TRIPLE_STEP)
    quads = starts([triples[digit] + (digit + 1) * (digit + 2) // 2 for digit in range(DIGITS)], QUAD_STEP)
    assert quads[-1] <= 1 << 20
    print("/* Made by digit_tables.py. */\n#include <stdint.h>")
    table("uint16_t", "filter_pairs", pairs)
    table("uint8_t", "filter_triple_digits", digits_by_step(triples, TRIPLE_STEP))
    table("uint8_t", "filter_quad_digits", digits_by_step(quads, QUAD_STEP))
    table("uint32_t", "filter_triple_starts", triples[:-1])
    table("uint32_t", "filter_quad_starts", quads[:-1])


if __name__ == "__main__":
    main()
