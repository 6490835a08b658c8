from controller.compilation.answer_redaction import redact_answer
from controller.compilation.compile_messages import CompiledMinion
from controller.observe.redactor import Redactor
from controller.store import Store
from highstate.types import Pos, Problem, Stage

OLD = "correct-horse-1"


def test_errors_are_redacted_with_the_lines_that_they_show(tmp_path):
    with Store(f"sqlite:///{tmp_path}/store.sqlite") as store:
        store.minions.seen("web1", 1.0, grains={})
        check(store)


def check(store):
    redactor = Redactor(store, "key")
    redactor.learn({"web1": [OLD]})
    problem = Problem(
        message=f"no {OLD}", pos=Pos(file="a.sls", stage=Stage.RENDER), excerpt=f"  | {OLD}", hint=f"near {OLD}"
    )
    answer = CompiledMinion(minion_id="web1", errors=(problem,), warnings=(problem,))
    masked = redact_answer(answer, redactor)
    assert OLD not in repr(masked)
    assert str(masked.errors[0]).count("<secret ") == 3
    fine = CompiledMinion(minion_id="web1")
    assert redact_answer(fine, redactor) is fine
