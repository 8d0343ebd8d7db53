"""The demo: a few hundred real orders, an engine killed in mid-flight, and a proof of what it did.

    __main__   drives it all: starts the processes, kills the worker, asks for the proof
    worker     the shop's process: opens the engine and works through the orders
    shop       the workflow and its steps: the part an application would write
    payments   a payment service in its own process, with a log of its own
    proofs     what that log says about us
    cost       what one step costs on this disk

Run it with `make demo`, or `python -m examples.checkout`.
"""
