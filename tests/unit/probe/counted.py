#!/usr/bin/env python3
"""The calls of counted.c, from Python: a module that is linked with MPI is opened at run time, as mpi4py is."""
import ctypes
import sys

program, mpi = sys.argv[0].rsplit(".", 1)
module = ctypes.CDLL(f"{program.rsplit('/', 1)[0]}/module.{mpi}")  # its symbols stay its own (RTLD_LOCAL)
sys.exit(module.counted(1, (ctypes.c_char_p * 2)(sys.argv[0].encode(), None)))
