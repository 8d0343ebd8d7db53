"""The directed scenarios: the product of today keeps what each of them claims."""

from __future__ import annotations

import pytest

import sim.scenarios
from sim.scenarios import ScenarioFailed
from sim.scenarios.log_play import LogPlay
from sim.scenarios.play import Play
from sim.scenarios.results_are_recorded_before_they_are_used import Chain


@pytest.mark.parametrize("name", sim.scenarios.names())
def test_the_promise_is_kept(name):
    sim.scenarios.run(name)


def test_a_moment_that_never_comes_is_an_error():
    play = Play()
    play.app(Chain())
    play.at(record="AttemptFailed").crash()
    play.live()

    with pytest.raises(ScenarioFailed, match="the moment never came: crash at AttemptFailed"):
        play.check()


def test_clients_that_never_come_to_their_end_are_stuck():
    class Waiting(Chain):
        async def drive(self, client) -> None:
            await client.engine.get("any", "nobody-ends").result()

    play = Play()
    play.app(Waiting())

    with pytest.raises(Exception, match="nobody-ends"):
        play.live()


def test_a_log_that_should_have_been_refused_is_a_violation():
    play = LogPlay()
    play.open()
    play.append()
    play.expect_refusal(ValueError)  # type: ignore[arg-type]

    with pytest.raises(ScenarioFailed, match="opened, and should have raised ValueError"):
        play.check()
