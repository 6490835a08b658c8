"""Requests of fact queries, answered by real children."""

from __future__ import annotations

import select
import time

from minion.agent.fact_queries import MOST_CHILDREN, FactAnswerer
from minion.processes import fork
from wire.messages import FactAnswer, FactQuery, FactRequest


class Agent:
    """The loop of an agent, as far as questions go."""

    def __init__(self, make_answer):
        self.sent = []
        self.answerer = FactAnswerer(self.send, lambda work: fork(work, umask=0o077), make_answer)

    def send(self, message, controller):
        self.sent.append(message)
        return True

    def run(self):
        while self.answerer.readers():
            wait = max(0.0, self.answerer.next_deadline() - time.monotonic())
            for fd in select.select(self.answerer.readers(), [], [], min(wait, 1.0))[0]:
                self.answerer.receive(fd)
            self.answerer.expire(time.monotonic())


def ask(request, *funs, timeout=30.0):
    return FactRequest(request=request, questions=tuple(FactQuery(fun=fun, asked="") for fun in funs), timeout=timeout)


def test_a_child_answers_all_questions_in_order():
    agent = Agent(lambda: lambda question, allowed: FactAnswer(value=question.fun))
    agent.answerer.accept(ask(1, "a", "b"), time.monotonic())
    agent.run()
    (sent,) = agent.sent
    assert (sent.request, [one.value for one in sent.answers]) == (1, ["a", "b"])


def test_who_takes_too_long_is_ended_and_the_rest_counts():
    def slow(question, allowed):
        while question.fun == "slow":
            time.sleep(60)
        return FactAnswer(value=question.fun)

    agent = Agent(lambda: slow)
    agent.answerer.accept(ask(1, "quick", "slow", "after", timeout=0.5), time.monotonic())
    agent.run()
    assert agent.sent[0].answers[0].value == "quick"
    assert ["did not answer" in one.error for one in agent.sent[0].answers] == [False, True, True]


def test_too_much_at_once_is_refused():
    agent = Agent(lambda: lambda question, allowed: FactAnswer(value=1))
    for request in range(MOST_CHILDREN + 1):
        agent.answerer.accept(ask(request, "a"), time.monotonic())
    assert "too much" in agent.sent[0].answers[0].error
    agent.run()
    agent.answerer.accept(ask(9, *["a"] * 501), time.monotonic())
    assert "too much" in agent.sent[-1].answers[0].error
