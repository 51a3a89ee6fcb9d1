"""Batching Lab: see how LLM inference servers batch, on a real small model.

The rooms, in the order in which data flows (a room imports only from rooms before it):
spec, workload, scheduling, engine, run, analysis, experiments, then ui and the command line.
"""

__version__ = "0.1.0"
