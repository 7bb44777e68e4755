#!/usr/bin/env python3
"""The accesses of a parallel product of two matrices, as a trace (CSV) and a list of structures: no tool is needed that knows
threads, and every run gives the same addresses.

    matrix.py naive --size 96 --threads 2 >naive.csv
    matrix.py --structures --size 96 >matrix.structures
    margay import naive.csv --archive naive --structures matrix.structures

A first thread, 0, fills the three matrices of doubles, row by row; then threads 1 to N compute, taking turns, an element's step
each. Naive, each has every Nth column, and goes through all of B for each row of the result:

    for i: for j = id; j < size; j += N: for k: Result[i][j] += A[i][k] * B[k][j]

Blocked, each has every Nth block of columns, and stays in one block of B for all rows:

    for kb: for jb = id; ...: for i: for j in jb: for k in kb: the same

An access lasts 1 us. All the while each thread also has a page of its own, its stack, which it writes once a row.
"""
import argparse
import itertools
import sys

DOUBLE, PAGE = 8, 4096
NAMES = ("A", "B", "Result")
FIRST, STACKS = 0x10000000, 0x7fff0000


def begins(size):
    """Where each matrix begins: at a page, with one page between two of them."""
    room = (size * size * DOUBLE + PAGE - 1) // PAGE * PAGE + PAGE
    return {name: FIRST + i * room for i, name in enumerate(NAMES)}


def structures(size, threads):
    yield "begin,size,name,element\n"
    for name, begin in begins(size).items():
        yield f"{begin:#x},{size * size * DOUBLE},{name},{DOUBLE}\n"
    for thread in range(threads + 1):
        yield f"{STACKS + thread * PAGE:#x},{PAGE},stack{thread},\n"


def steps(order, size, block, thread, threads):
    """(i, j, k) of each step of a thread, in its order."""
    if order == "naive":
        for i in range(size):
            for j in range(thread, size, threads):
                for k in range(size):
                    yield i, j, k
        return
    for kb in range(0, size, block):
        for jb in range(thread * block, size, threads * block):
            for i in range(size):
                for j in range(jb, min(jb + block, size)):
                    for k in range(kb, min(kb + block, size)):
                        yield i, j, k


def accesses(order, size, block, threads):
    """(thread, kind, address) of all accesses, one after the other."""
    at = begins(size)

    def address(name, row, column):
        return at[name] + (row * size + column) * DOUBLE

    for i in range(size):
        yield 0, "W", STACKS
        for j in range(size):
            for name in NAMES:
                yield 0, "W", address(name, i, j)
    rows = [None] * threads
    for turn in itertools.zip_longest(*(steps(order, size, block, t, threads) for t in range(threads))):
        for thread, step in enumerate(turn):
            if step is None:
                continue
            i, j, k = step
            if rows[thread] != i:
                rows[thread] = i
                yield thread + 1, "W", STACKS + (thread + 1) * PAGE
            yield thread + 1, "R", address("A", i, k)
            yield thread + 1, "R", address("B", k, j)
            yield thread + 1, "M", address("Result", i, j)


def trace(order, size, block, threads):
    yield "time,thread,address,kind,size\n"
    for number, (thread, kind, address) in enumerate(accesses(order, size, block, threads)):
        yield f"{number // 1000000}.{number % 1000000:06},{thread},{address:#x},{kind},{DOUBLE}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("order", nargs="?", choices=("naive", "blocked"), default="naive")
    parser.add_argument("--size", type=int, default=64, help="rows and columns of a matrix")
    parser.add_argument("--threads", type=int, default=2, help="that compute")
    parser.add_argument("--block", type=int, default=16, help="rows and columns of a block")
    parser.add_argument("--structures", action="store_true", help="what lies where, instead of the trace")
    asked = parser.parse_args()
    if asked.structures:
        sys.stdout.writelines(structures(asked.size, asked.threads))
    else:
        sys.stdout.writelines(trace(asked.order, asked.size, asked.block, asked.threads))


if __name__ == "__main__":
    main()
