#!/usr/bin/env python3
"""Trains with PyTorch over gloo, 1.13 or newer, and prints what a round costs, as JSON.

    python3 gloo.py --model resnet20 --batch 64 --strategy allreduce --workers 8

Each worker is a process with one computing thread and a batch of its own, of generated samples.

Strategies:
  sync       a server, in one more process, broadcasts parameters and gathers gradients
  allreduce  DistributedDataParallel
  dpsgd      each worker averages its parameters with its neighbours' on a ring while it computes

Of N rounds, it measures the first fifth, and N from round N / 2, in one run of 1.5 N rounds, as
`benchmarks/run marginal` does. Elapsed time is that of rank 0, and processor time is user and system
time of all processes in these rounds.
"""

import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from networks import NETWORKS, random_samples
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parameters_to_vector, vector_to_parameters

FEWEST_ROUNDS = 10
# Relative to the MLP's, so that large models do not take too long.
ROUNDS = {"convnet": 1, "mlp": 1, "resnet20": 0.05}
SAMPLES = 8192
LEARNING_RATE = 0.01
LIMIT_SECONDS = 1500


class Worker:
    """Computes gradients of random batches."""

    def __init__(self, arguments):
        torch.manual_seed(arguments.rank)
        self.rank = arguments.rank
        self.workers = arguments.workers
        self.batch = arguments.batch
        self.network = NETWORKS[arguments.model]()
        self.parameters = list(self.network.parameters())
        self.rule = torch.optim.SGD(self.parameters, lr=LEARNING_RATE)
        self.samples, self.classes = random_samples(arguments.model, SAMPLES)
        self.order = []

    def gradient(self):
        if len(self.order) < self.batch:
            self.order = torch.randperm(SAMPLES)
        picked, self.order = self.order[: self.batch], self.order[self.batch :]
        self.rule.zero_grad(set_to_none=True)
        functional.cross_entropy(self.network(self.samples[picked]), self.classes[picked]).backward()

    def flat(self):
        """Returns all parameters in one vector, which from now on is their memory."""
        with torch.no_grad():
            vector = parameters_to_vector(self.parameters)
            vector_to_parameters(vector, self.parameters)
        return vector


class SyncWorker(Worker):
    def __init__(self, arguments):
        super().__init__(arguments)
        self.vector = self.flat()

    def round(self):
        dist.broadcast(self.vector, self.workers)
        self.gradient()
        dist.gather(parameters_to_vector([one.grad for one in self.parameters]), None, self.workers)


class SyncServer:
    """Takes a step with the mean of all workers' gradients."""

    def __init__(self, arguments):
        torch.manual_seed(0)
        self.workers = arguments.workers
        self.vector = parameters_to_vector(NETWORKS[arguments.model]().parameters()).detach()
        self.own = torch.zeros_like(self.vector)
        self.gathered = [torch.empty_like(self.vector) for _ in range(self.workers + 1)]

    def round(self):
        dist.broadcast(self.vector, self.workers)
        dist.gather(self.own, self.gathered, self.workers)
        total = self.gathered[0]
        for gradient in self.gathered[1 : self.workers]:
            total.add_(gradient)
        self.vector.sub_(total, alpha=LEARNING_RATE / self.workers)


class AllReduceWorker(Worker):
    def __init__(self, arguments):
        super().__init__(arguments)
        # Statistics of batch norm stay local, and gradients are summed where they lie.
        self.network = DistributedDataParallel(
            self.network, broadcast_buffers=False, gradient_as_bucket_view=True
        )

    def round(self):
        self.gradient()
        self.rule.step()


class RingWorker(Worker):
    def __init__(self, arguments):
        super().__init__(arguments)
        self.vector = self.flat()
        left, right = ((self.rank + step) % self.workers for step in (-1, 1))
        self.received = {rank: torch.empty_like(self.vector) for rank in {left, right} - {self.rank}}
        # With two workers the other one is both neighbours.
        self.neighbours = [left, right] if self.received else []

    def round(self):
        requests = [dist.isend(self.vector, rank) for rank in self.received]
        requests += [dist.irecv(vector, rank) for rank, vector in self.received.items()]
        self.gradient()
        for request in requests:
            request.wait()
        for rank in self.neighbours:
            self.vector.add_(self.received[rank])
        self.vector.div_(1 + len(self.neighbours))
        self.rule.step()


def marks(rounds):
    """Returns how many rounds a process has taken when it reads the clocks, in this order."""
    return [0, rounds // 5, rounds // 2, rounds + rounds // 2]


def train(arguments):
    """Trains as one of the processes; prints a line of elapsed and processor seconds at each mark."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method="file://" + arguments.meeting,
        rank=arguments.rank,
        world_size=arguments.world,
        timeout=datetime.timedelta(seconds=LIMIT_SECONDS),
    )
    kinds = {"sync": SyncWorker, "allreduce": AllReduceWorker, "dpsgd": RingWorker}
    kind = SyncServer if arguments.rank == arguments.workers else kinds[arguments.strategy]
    member = kind(arguments)
    dist.barrier()
    clocks = []
    taken = 0
    for mark in marks(arguments.rounds):
        for _ in range(mark - taken):
            member.round()
        taken = mark
        clocks.append((time.perf_counter(), cpu_seconds()))
    dist.barrier()
    for elapsed, cpu in clocks:
        print(elapsed, cpu)
    dist.destroy_process_group()


def environment():
    """Returns the environment with what Vertigrad's start script sets for native libraries."""
    values = {
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_THRESHOLD_": "4294967296",
        "MALLOC_TRIM_THRESHOLD_": "8589934592",
    }
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), [])
    except OSError:
        flags = []
    if "avx512f" in flags:
        values["OPENBLAS_CORETYPE"] = "SkylakeX"
    elif "avx2" in flags:
        values["OPENBLAS_CORETYPE"] = "Haswell"
    values.update(os.environ)
    return values


def run(arguments, rounds):
    """Trains in new processes; returns rank 0's seconds and those of all threads, a pair each mark."""
    world = arguments.workers + (1 if arguments.strategy == "sync" else 0)
    deadline = time.monotonic() + LIMIT_SECONDS
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, os.path.abspath(__file__)]
        for name in ("model", "batch", "strategy", "workers"):
            command += ["--" + name, str(getattr(arguments, name))]
        command += ["--rounds", str(rounds), "--world", str(world), "--meeting", folder + "/meeting"]
        try:
            for rank in range(world):
                processes.append(
                    subprocess.Popen(
                        command + ["--rank", str(rank)], env=environment(), stdout=subprocess.PIPE
                    )
                )
            for rank, process in enumerate(processes):
                try:
                    code = process.wait(max(0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    sys.exit("gloo.py: rank %d: not done after %d s" % (rank, LIMIT_SECONDS))
                if code != 0:
                    sys.exit("gloo.py: rank %d: found exit code %d, expected 0" % (rank, code))
        finally:
            for process in processes:
                process.kill()
                process.wait()
        printed = [process.stdout.read().decode().splitlines() for process in processes]
    clocks = [[tuple(map(float, line.split())) for line in lines] for lines in printed]
    return [(at[0][0], sum(cpu for _, cpu in at)) for at in zip(*clocks)]


def window(arguments, begin, end, rounds):
    """Returns samples a second, and milliseconds and processor milliseconds of a round."""
    seconds = (end[0] - begin[0]) / rounds
    cpu = (end[1] - begin[1]) / rounds
    if seconds <= 0 or cpu <= 0:
        sys.exit(
            "gloo.py: a round took %.2f ms, CPU %.2f ms, expected more than 0: too few --rounds, or a"
            " busy machine" % (seconds * 1e3, cpu * 1e3)
        )
    return arguments.workers * arguments.batch / seconds, seconds * 1e3, cpu * 1e3


def cpu_seconds():
    """Returns the user and system time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=sorted(NETWORKS), default="mlp")
    parser.add_argument("--batch", type=int, default=64, help="samples of each worker in a round")
    parser.add_argument("--strategy", choices=["sync", "allreduce", "dpsgd"], default="sync")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--rounds",
        type=int,
        default=int(os.environ.get("ROUNDS", 5000)),
        help="how many rounds of the MLP are measured (default: $ROUNDS, or 5000)",
    )
    # The three of a process that takes part in a run of so many rounds.
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--world", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--meeting", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.workers < 1 or arguments.batch < 1 or arguments.rounds < 1:
        parser.error("--workers, --batch, --rounds: expected numbers from 1")
    if arguments.rank is not None:
        train(arguments)
        return
    rounds = max(FEWEST_ROUNDS, int(arguments.rounds * ROUNDS[arguments.model]))
    begin, fifth, half, end = run(arguments, rounds)
    _, first, steady_from, last = marks(rounds)
    keys = ("samplesPerSecond", "wallMillisPerRound", "cpuMillisPerRound")
    found = {
        "first" + key[0].upper() + key[1:]: value
        for key, value in zip(keys, window(arguments, begin, fifth, first))
    }
    found.update(zip(keys, window(arguments, half, end, last - steady_from)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
