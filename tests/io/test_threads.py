"""Steps run in bounded daemon threads, in order, and a stuck one hangs nothing."""

from __future__ import annotations

import contextvars
import gc
import threading
import weakref
from queue import SimpleQueue

import pytest

from fusee.io.threads import StepThreads

PLACE = contextvars.ContextVar("PLACE", default="outside")


def context() -> contextvars.Context:
    return contextvars.copy_context()


class Results(list):
    def take(self, value, error):
        self.append((value, error, threading.get_ident()))

    @property
    def values(self):
        return [value for value, _, _ in self]


class Held:
    """A step that begins and then waits to be let go."""

    def __init__(self):
        self.begun = threading.Event()
        self.let_go = threading.Event()

    def __call__(self):
        self.begun.set()
        assert self.let_go.wait(30)
        return "let go"


@pytest.fixture
def results():
    return Results()


def test_a_function_runs_in_a_thread_and_is_reported_on_the_owners(owner, results):
    threads = StepThreads(2, owner.wake)
    threads.submit(threading.get_ident, context(), results.take)
    owner.turn_until(lambda: results)
    ran_in, error, reported_in = results[0]
    assert error is None
    assert ran_in != threading.get_ident() == reported_in
    assert threads.unfinished == 0
    threads.close()


def test_what_a_function_raises_is_handed_over(owner, results):
    def fail():
        raise SystemExit(3)

    threads = StepThreads(1, owner.wake)
    threads.submit(fail, context(), results.take)
    threads.submit(lambda: "alive", context(), results.take)
    owner.turn_until(lambda: len(results) == 2)
    assert isinstance(results[0][1], SystemExit)
    assert results[1][:2] == ("alive", None)
    threads.close()


def test_a_returned_exception_is_a_value(owner, results):
    threads = StepThreads(1, owner.wake)
    threads.submit(lambda: ValueError("a value"), context(), results.take)
    owner.turn_until(lambda: results)
    assert isinstance(results[0][0], ValueError)
    assert results[0][1] is None
    threads.close()


def test_a_function_sees_its_context_and_changes_only_that(owner, results):
    PLACE.set("owner")
    theirs = context()
    threads = StepThreads(1, owner.wake)

    def step():
        seen = PLACE.get()
        PLACE.set("step")
        return seen

    threads.submit(step, theirs, results.take)
    threads.submit(PLACE.get, contextvars.Context(), results.take)
    owner.turn_until(lambda: len(results) == 2)
    assert results.values == ["owner", "outside"]
    assert theirs[PLACE] == "step"
    assert PLACE.get() == "owner"
    threads.close()


def test_one_thread_runs_first_come_first_served(owner, results):
    threads = StepThreads(1, owner.wake)
    for index in range(100):
        threads.submit(lambda index=index: index, context(), results.take)
    owner.turn_until(lambda: len(results) == 100)
    assert results.values == list(range(100))
    threads.close()


def test_threads_are_started_when_needed_and_never_more_than_allowed(owner, results):
    before = threading.active_count()
    threads = StepThreads(3, owner.wake)
    assert threading.active_count() == before
    held = [Held() for _ in range(5)]
    for step in held:
        threads.submit(step, context(), results.take)
    for step in held[:3]:
        assert step.begun.wait(30)
    assert threading.active_count() == before + 3
    assert not held[3].begun.is_set()
    for step in held:
        step.let_go.set()
    owner.turn_until(lambda: len(results) == 5)
    threads.close()


def test_an_idle_thread_is_used_again(owner, results):
    before = threading.active_count()
    threads = StepThreads(8, owner.wake)
    for index in range(20):
        threads.submit(threading.get_ident, context(), results.take)
        owner.turn_until(lambda want=index + 1: len(results) == want)
    assert len(set(results.values)) == 1
    assert threading.active_count() == before + 1
    threads.close()


def test_the_owner_is_told_when_a_step_leaves_the_queue(owner, results):
    threads = StepThreads(1, owner.wake)
    first, started = Held(), []
    threads.submit(first, context(), results.take, lambda: started.append("first"))
    threads.submit(lambda: 2, context(), results.take, lambda: started.append("second"))
    owner.turn_until(lambda: started)
    assert started == ["first"]
    first.let_go.set()
    owner.turn_until(lambda: len(results) == 2)
    assert started == ["first", "second"]
    threads.close()


def test_a_waiting_step_can_be_taken_back_and_never_runs(owner, results):
    threads = StepThreads(1, owner.wake)
    first, ran = Held(), []
    running = threads.submit(first, context(), results.take)
    waiting = threads.submit(lambda: ran.append("x"), context(), results.take)
    threads.submit(lambda: "last", context(), results.take)
    assert first.begun.wait(30)
    assert not running.cancel()
    assert waiting.cancel()
    assert waiting.cancel()
    first.let_go.set()
    owner.turn_until(lambda: threads.unfinished == 0)
    assert results.values == ["let go", "last"]
    assert ran == []
    threads.close()


def test_a_step_is_either_taken_back_or_run_never_both(owner):
    threads = StepThreads(4, owner.wake)
    ran, done, taken_back = SimpleQueue(), [], 0
    for _ in range(2000):
        job = threads.submit(lambda: ran.put(1), context(), lambda *_: done.append(1))
        taken_back += job.cancel()
    owner.turn_until(lambda: threads.unfinished == 0)
    assert ran.qsize() == len(done) == 2000 - taken_back
    threads.close()


def test_a_report_that_raises_does_not_silence_the_others(owner, results):
    threads = StepThreads(1, owner.wake)

    def raise_once(value, error):
        raise ZeroDivisionError

    first = Held()
    threads.submit(first, context(), raise_once)
    threads.submit(lambda: "heard", context(), results.take)
    first.let_go.set()
    with pytest.raises(ZeroDivisionError):
        owner.turn_until(lambda: results)
    owner.turn_until(lambda: results)
    assert results.values == ["heard"]
    threads.close()


def test_close_leaves_no_idle_thread(owner, results):
    before = threading.active_count()
    threads = StepThreads(4, owner.wake)
    for _ in range(50):
        threads.submit(lambda: None, context(), results.take)
    owner.turn_until(lambda: threads.unfinished == 0)
    threads.close()
    threads.close()
    assert threading.active_count() == before


def test_close_does_not_wait_for_a_stuck_step_and_drops_what_waits(owner, results):
    threads = StepThreads(1, owner.wake)
    stuck, ran = Held(), []
    threads.submit(stuck, context(), results.take)
    threads.submit(lambda: ran.append("x"), context(), results.take)
    assert stuck.begun.wait(30)
    (thread,) = [one for one in threading.enumerate() if one.name == "fusee-step"]
    threads.close()
    stuck.let_go.set()
    thread.join(30)
    assert not thread.is_alive()
    for callback in owner.pending():
        callback()
    assert results == []
    assert ran == []


def test_an_idle_thread_keeps_nothing_of_a_step_alive(owner):
    class Thing:
        pass

    threads = StepThreads(1, owner.wake)
    seen = []
    gc.disable()
    try:

        def step(thing=None):
            raise ValueError(thing)

        thing = Thing()
        dead = weakref.ref(thing)
        threads.submit(lambda thing=thing: step(thing), context(), lambda *_: seen.append(1))
        del thing
        owner.turn_until(lambda: seen)
        # Another job through the same thread: the first one has let go by then.
        threads.submit(lambda: None, context(), lambda *_: seen.append(2))
        owner.turn_until(lambda: len(seen) == 2)
        assert dead() is None
    finally:
        gc.enable()
    threads.close()


@pytest.mark.real
def test_a_stuck_step_does_not_keep_the_process_alive(run_python):
    script = """
        import contextvars, threading
        from fusee.io.threads import StepThreads
        begun = threading.Event()
        def stuck():
            begun.set()
            threading.Event().wait()
        threads = StepThreads(1, lambda callback: None)
        threads.submit(stuck, contextvars.copy_context(), lambda *_: None)
        begun.wait()
        threads.close()
        print("end")
    """
    assert run_python(script) == "end"
