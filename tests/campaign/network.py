"""A network in one machine for a job whose messages go over TCP: each rank has a link of its own (programs/network.sh).

It needs no root: whoever may have a user namespace is root in it, and owns the network that is made there. The machine's own network
is not touched, and it goes when its last process ends.
"""
import os
import subprocess

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "network.sh")
ENTER = ["unshare", "--map-root-user", "--net", "sh", SCRIPT]
JOIN = ["nsenter", "--user", "--net", "--preserve-credentials", "--target"]


def command(launch, ranks):
    """The call of mpirun `launch`, without its program, in a network for so many ranks."""
    return [*ENTER, str(ranks), "env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", *launch,
            "--mca", "btl", "tcp,self",
            "sh", "-c", 'OMPI_MCA_btl_tcp_if_include=rank$OMPI_COMM_WORLD_RANK exec "$@"', "rank"]


def join(pid, program):
    """The command that runs `program` in the network that this process is in."""
    return [*JOIN, str(pid), *program]


def address(rank):
    return f"10.77.{rank}.1"


def problem():
    """Why there can be none here; None if there can. It wants namespaces for users, and tc's htb, bfifo and u32."""
    try:
        done = subprocess.run([*ENTER, "1", "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip().replace("\n", "; ") or f"exit code {done.returncode}"
