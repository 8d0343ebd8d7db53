"""Fusee: durable execution at the speed of the disk.

Workflows are ordinary `async def` functions; a log next to the process makes each
step's result durable before the next step's function may run.
"""

__version__ = "0.1.0"
