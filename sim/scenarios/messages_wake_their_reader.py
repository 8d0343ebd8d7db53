"""A run that waits for a message of another run goes on when it comes, in the same process."""

from __future__ import annotations

from sim.scenarios.messages_are_whole import Letters
from sim.scenarios.play import Play


def play(play: Play) -> None:
    play.app(Letters("short"))
    play.finish()
