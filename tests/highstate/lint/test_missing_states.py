"""States that no minion has are named by the compile."""

from highstate.lint.missing_states import missing_states
from highstate.types import Chunk, Pos

KNOWN = frozenset({"file.managed", "test.nop"})


class Files:
    """A tree with these files in base."""

    def __init__(self, **files):
        self.files = {f"_states/{name}.py": text for name, text in files.items()}

    def saltenvs(self):
        return ["base"]

    def list(self, prefix="", saltenv="base"):
        return sorted(self.files)

    def read(self, path, saltenv="base"):
        return self.files[path]


def chunk(name, identifier="site"):
    state, _, fun = name.partition(".")
    pos = Pos(file="web.sls", line=3)
    return Chunk(state=state, fun=fun, id=identifier, name=identifier, sls="web", order=0, arguments={}, pos=pos)


def test_each_function_that_is_missing_is_named_once_with_its_place():
    chunks = [chunk("fiel.managed"), chunk("fiel.managed", "again"), chunk("test.nop")]
    [problem] = missing_states(chunks, KNOWN, Files())
    assert str(problem).startswith("web.sls:3: there is no state fiel.managed: 'site' fails")
    assert "did you mean file.managed?" in str(problem)


def test_modules_of_the_tree_are_there():
    own = Files(mine=b"x = 1\n", other=b"__virtualname__ = 'named'\n")
    chunks = [chunk("mine.done"), chunk("named.done"), chunk("nobodys.done")]
    assert [one.pos.line for one in missing_states(chunks, KNOWN, own)] == [3]
