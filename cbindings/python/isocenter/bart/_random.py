"""The random numbers that BART takes from the C library, whose recipes are known: with them shifts, and so images, are BART's.

glibc's rand_r is three steps of a linear congruential generator; its rand adds what it gave 3 and 31 numbers before.
"""
import numpy

MULTIPLIER, INCREMENT, LARGEST = 1103515245, 12345, 0x7fffffff


class Steps:
    """rand_r from a state on."""

    def __init__(self, state):
        self._state = state

    def __call__(self):
        found = 0
        for bits in (11, 10, 10):
            self._state = (self._state * MULTIPLIER + INCREMENT) & 0xffffffff
            found = found << bits | self._state >> 16 & (1 << bits) - 1
        return found

    def several(self, count):
        """The next `count` numbers, int64."""
        states = numpy.empty(3 * count, "uint32")
        factor, addend, filled = MULTIPLIER, INCREMENT, 1
        states[:1] = (self._state * MULTIPLIER + INCREMENT) & 0xffffffff
        while filled < states.size:  # what is there, as many steps on
            more = states[filled:2 * filled]
            more[:] = states[:more.size] * numpy.uint32(factor) + numpy.uint32(addend)
            addend = (addend * factor + addend) & 0xffffffff
            factor = factor * factor & 0xffffffff
            filled += more.size
        self._state = int(states[-1])
        first, second, third = (states >> 16).astype("int64").reshape(-1, 3).T
        return (first & 2047) << 20 | (second & 1023) << 10 | third & 1023


class Sums:
    """rand, as it begins in a program that does not seed it."""

    def __init__(self):
        given = [1]
        for _ in range(30):
            given.append(16807 * given[-1] % LARGEST)
        given += given[:3]
        for _ in range(31 + 310 - 34 + 3):
            given.append((given[-31] + given[-3]) & 0xffffffff)
        self._given = given[-31:]

    def __call__(self):
        following = (self._given[-31] + self._given[-3]) & 0xffffffff
        self._given = self._given[1:] + [following]
        return following >> 1


def up_to(limit, generator):
    """A random integer of 0 to limit."""
    divisor = LARGEST // (limit + 1)
    while True:
        found = generator() // divisor
        if found <= limit:
            return found


def gaussian(count, seed=123):
    """Complex Gaussian numbers by the polar method, complex64."""
    steps, found, needed = Steps(seed), [], count
    while needed > 0:
        pairs = 2.0 * (steps.several(2 * (needed + needed // 3 + 16)) / LARGEST).reshape(-1, 2) - 1
        square = (pairs**2).sum(1)
        pairs, square = pairs[square <= 1], square[square <= 1]
        found.append((numpy.sqrt(-2 * numpy.log(square) / square)[:, None] * pairs).view("complex128")[:, 0])
        needed -= len(pairs)
    return numpy.concatenate(found)[:count].astype("complex64")
