"""States that need what earlier ones of the same run make."""

from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine


def _run(plain, reached, *states, test):
    chunks = {}
    for number, (fun, name, arguments) in enumerate(states):
        module, _, bare = f"postgres_{fun}".partition(".")
        given = {**reached, **arguments}
        chunks[str(number)] = Chunk(
            state=module, fun=bare, id=f"{fun} {name}", name=name, sls="s", order=number, arguments=given
        )
    engine = StateEngine(plain, test=test)
    return list(run(chunks, engine, test=test, clock=lambda: 0.0).values())


def test_what_an_earlier_state_makes_is_not_missed(plain, reached, server):
    wanted = [
        ("group.present", "app team", {}),
        ("user.present", "app", {"groups": ["app team"], "password": "x"}),
        ("database.present", "app db", {"owner": "app"}),
        ("schema.present", "app schema", {"dbname": "app db"}),
        ("extension.present", "no such extension", {"maintenance_db": "app db"}),
        ("privileges.present", "app", {"object_name": "public", "object_type": "schema", "privileges": ["CREATE"]}),
    ]
    foretold = _run(plain, reached, *wanted, test=True)
    assert [one.result for one in foretold] == [None] * 6
    assert foretold[3].comment.startswith('What it would do is not known: FATAL: database "app db" does not exist. An ')
    assert foretold[5].comment == "The privilege(s): CREATE are set to be granted to app"
    assert server.run("SELECT 1 FROM pg_roles WHERE rolname LIKE 'app%'") == []
    done = _run(plain, reached, *wanted, test=False)
    assert [one.result for one in done] == [True, True, True, True, False, True]
    again = _run(plain, reached, *wanted, test=True)
    assert [(one.result, one.changes) for one in again] == [(True, {})] * 4 + [(False, {}), (True, {})]


def test_what_nobody_makes_fails_under_test_too(plain, reached):
    [lost] = _run(plain, reached, ("schema.present", "s", {"dbname": "nowhere"}), test=True)
    assert (lost.result, lost.comment) == (False, 'FATAL: database "nowhere" does not exist')


def test_a_system_user_and_a_program_that_are_not_there(plain, reached):
    [lost] = _run(plain, reached, ("user.present", "u", {"user": "nobody-of-this-name"}), test=True)
    assert (lost.result, lost.comment) == (False, "User 'nobody-of-this-name' is not available")
