"""mpi4py, as its users write it."""
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
for i in range(200):
    total = world.allreduce(world.rank + i)
if world.rank == 0:
    world.send({"total": total}, dest=1)
elif world.rank == 1:
    world.recv(source=0)
world.Barrier()
if world.rank == 0:
    print("total", total)
    sys.stdout.flush()
