"""Paje traces by chance, the same for the same seed: hierarchies, nested states, variables, links, events.

    python3 paje_generator.py --seed 7 --lines 1000000 >big.trace
    python3 paje_generator.py --seed 7 --lines 1000000 --plain >plain.trace

Every trace is one that pj_dump takes. Unless it is to be plain, event numbers and the order of fields are shuffled, there are
comments, extra fields and quotes; plain traces (for benchmarks) only push and pop states, as tracers of programs write them.
"""
import argparse
import random
import sys

# Event: its fields.
EVENTS = {
    "PajeDefineContainerType": ["Alias", "Type", "Name"],
    "PajeDefineStateType": ["Alias", "Type", "Name"],
    "PajeDefineVariableType": ["Alias", "Type", "Name", "Color"],
    "PajeDefineEventType": ["Alias", "Type", "Name", "Color"],
    "PajeDefineLinkType": ["Alias", "Type", "StartContainerType", "EndContainerType", "Name"],
    "PajeDefineEntityValue": ["Alias", "Type", "Name", "Color"],
    "PajeCreateContainer": ["Time", "Alias", "Type", "Container", "Name"],
    "PajeDestroyContainer": ["Time", "Type", "Name"],
    "PajeSetState": ["Time", "Type", "Container", "Value"],
    "PajePushState": ["Time", "Type", "Container", "Value"],
    "PajePopState": ["Time", "Type", "Container"],
    "PajeResetState": ["Time", "Type", "Container"],
    "PajeSetVariable": ["Time", "Type", "Container", "Value"],
    "PajeAddVariable": ["Time", "Type", "Container", "Value"],
    "PajeSubVariable": ["Time", "Type", "Container", "Value"],
    "PajeNewEvent": ["Time", "Type", "Container", "Value"],
    "PajeStartLink": ["Time", "Type", "Container", "StartContainer", "Value", "Key"],
    "PajeEndLink": ["Time", "Type", "Container", "EndContainer", "Value", "Key"],
}
KINDS = {"Time": "date", "Color": "color"}
STATES = ["MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Allreduce", "compute step", "I/O", "barrier"]


class Generator:
    def __init__(self, seed, write, plain=False, nodes=3, ranks=4):
        self.random = random.Random(seed)
        self.write = write
        self.plain = plain
        self.nodes, self.ranks = nodes, ranks
        self.lines = 0
        self.time_ns = 0
        self.fields, self.number = {}, {}
        self.open_links = []
        self.powered = set()
        self.key = 0

    def line(self, text):
        self.write(text + "\n")
        self.lines += 1

    def word(self, text):
        text = str(text)
        return f'"{text}"' if " " in text or text == "" or (not self.plain and self.random.random() < 0.3) else text

    def event(self, name, **values):
        words = [str(self.number[name])]
        for field in self.fields[name]:
            words.append(self.word(values.get(field, "0 0 1" if field == "Color" else 17)))
        blank = " " if self.plain else self.random.choice([" ", "  ", "\t"])
        self.line(blank.join(words))

    def header(self):
        numbers = list(range(len(EVENTS)))
        if not self.plain:
            numbers = self.random.sample(range(300), len(EVENTS))
            self.line("# a comment")
        for (name, fields), number in zip(EVENTS.items(), numbers):
            fields = list(fields)
            if not self.plain:
                if self.random.random() < 0.3:
                    fields.append("Extra")
                self.random.shuffle(fields)
            self.fields[name], self.number[name] = fields, number
            self.line(f"%EventDef {name} {number}")
            for field in fields:
                self.line(f"%  {field} {KINDS.get(field, 'string')}")
            self.line("%EndEventDef")

    def definitions(self):
        self.event("PajeDefineContainerType", Alias="M", Type="0", Name="Machine")
        self.event("PajeDefineContainerType", Alias="R", Type="M", Name="Rank")
        self.event("PajeDefineStateType", Alias="S", Type="R", Name="State")
        self.event("PajeDefineVariableType", Alias="V", Type="R", Name="Memory")
        self.event("PajeDefineVariableType", Alias="W", Type="M", Name="Power")
        self.event("PajeDefineEventType", Alias="E", Type="R", Name="Signal")
        self.event("PajeDefineLinkType", Alias="L", Type="0", StartContainerType="R", EndContainerType="R", Name="Message")
        self.values = []
        for i, name in enumerate(STATES):
            # Some are referred to by alias, some by name.
            if i % 2 == 0:
                self.event("PajeDefineEntityValue", Alias=f"s{i}", Type="S", Name=name)
                self.values.append(f"s{i}")
            elif not self.plain:
                self.values.append(name)
        if not self.plain:
            self.event("PajeDefineStateType", Alias="MS", Type="M", Name="Load")

    def now(self):
        return f"{self.time_ns // 1_000_000_000}.{self.time_ns % 1_000_000_000:09d}"

    def containers(self):
        self.machines, self.leaves, self.depth = [], [], {}
        for m in range(self.nodes):
            self.event("PajeCreateContainer", Time=self.now(), Alias=f"m{m}", Type="M", Container="0", Name=f"machine {m}")
            self.machines.append(f"m{m}")
            for r in range(self.ranks):
                alias = f"r{m * self.ranks + r}"
                self.event("PajeCreateContainer", Time=self.now(), Alias=alias, Type="R", Container=f"m{m}",
                           Name=f"rank {m * self.ranks + r}")
                self.leaves.append(alias)
                self.depth[alias] = 0

    def step(self):
        r = self.random
        if self.plain or r.random() < 0.9:
            self.time_ns += int(r.random() * 200_000 if self.plain else r.choice([0, 1, r.random() * 30_000_000]))
        c = r.choice(self.leaves)
        state = {"Time": self.now(), "Type": "S", "Container": c}
        kind = r.random()
        if self.plain or kind < 0.6:
            if self.depth[c] > 0 and (r.random() < 0.5 or self.depth[c] > 6):
                self.event("PajePopState", **state)
                self.depth[c] -= 1
            else:
                self.event("PajePushState", **state, Value=r.choice(self.values))
                self.depth[c] += 1
        elif kind < 0.68:
            self.event("PajeSetState", **state, Value=r.choice(self.values))
            self.depth[c] = 1
        elif kind < 0.70:
            self.event("PajeResetState", **state)
            self.depth[c] = 0
        elif kind < 0.74:
            self.event("PajeSetState", Time=self.now(), Type="MS", Container=r.choice(self.machines), Value=r.choice(["low", "high"]))
        elif kind < 0.84:
            self.event("PajeSetVariable", Time=self.now(), Type="V", Container=c, Value=f"{r.random() * 1000:.6f}")
        elif kind < 0.88:
            name = r.choice(["PajeSetVariable", "PajeAddVariable", "PajeSubVariable"])
            machine = r.choice(self.machines)
            if machine not in self.powered:  # pj_dump adds to nothing that was not set
                name = "PajeSetVariable"
                self.powered.add(machine)
            self.event(name, Time=self.now(), Type="W", Container=machine, Value=r.randrange(100))
        elif kind < 0.92:
            self.event("PajeNewEvent", Time=self.now(), Type="E", Container=c, Value=f"signal {r.randrange(5)}")
        elif kind < 0.96 or not self.open_links:
            self.key += 1
            self.open_links.append(self.key)
            self.event("PajeStartLink", Time=self.now(), Type="L", Container="0", StartContainer=c, Value="msg", Key=f"k{self.key}")
        else:
            key = self.open_links.pop(r.randrange(len(self.open_links)))
            self.event("PajeEndLink", Time=self.now(), Type="L", Container="0", EndContainer=c, Value="msg", Key=f"k{key}")

    def end(self):
        for key in self.open_links:
            self.event("PajeEndLink", Time=self.now(), Type="L", Container="0", EndContainer=self.leaves[0], Value="msg", Key=f"k{key}")
        for c in self.leaves:
            self.event("PajeDestroyContainer", Time=self.now(), Type="R", Name=c)
        for m in self.machines:
            self.event("PajeDestroyContainer", Time=self.now(), Type="M", Name=m)

    def run(self, lines):
        self.header()
        self.definitions()
        self.containers()
        while self.lines < lines:
            self.step()
        self.end()


def trace(seed, lines, **options):
    """The text of a trace of about so many lines."""
    parts = []
    Generator(seed, parts.append, **options).run(lines)
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=4, help="of each node")
    parser.add_argument("--plain", action="store_true")
    a = parser.parse_args()
    Generator(a.seed, sys.stdout.write, plain=a.plain, nodes=a.nodes, ranks=a.ranks).run(a.lines)


if __name__ == "__main__":
    main()
