"""One case for people: compiled in a process of its own, its result as text in JSON or YAML.

Called by `saltern compile`. What comes back is typed and plain: nothing that a template made is unpickled here.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from controller.offline.cases import BadCase, Case
from controller.offline.isolation import Isolated, Lost
from controller.offline.results import Form, as_text, unicode_of
from controller.offline.show import GitLayers, answer_case


class CompileOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What `saltern compile` prints."""

    text: str = ""
    errors: list[str] = []
    warnings: list[str] = []


def show_one(
    case: Case,
    form: Form,
    *,
    timeout: float,
    memory: int = 0,
    git_files: GitLayers = (),
    git_pillar: GitLayers = (),
) -> CompileOutput:
    """Compile a case; errors of the tree and a compile that never ends are in the answer. Raises BadCase."""
    case.settings()  # what is wrong with the options is the caller's own mistake, and no error of the tree

    def start() -> Callable[[bytes], bytes]:
        return lambda _: msgspec.msgpack.encode(_shown(case, form, git_files, git_pillar))

    try:
        with Isolated(start, timeout=timeout, memory=memory) as isolated:
            return msgspec.msgpack.decode(isolated.ask(b""), type=CompileOutput)
    except Lost as lost:
        return CompileOutput(errors=[f"there is no result: {lost}"])


def _shown(case: Case, form: Form, git_files: GitLayers, git_pillar: GitLayers) -> CompileOutput:
    try:
        answer = answer_case(case, git_files=git_files, git_pillar=git_pillar)
        text = "" if answer.errors else as_text(answer.result, form)
    except BadCase as error:
        return CompileOutput(errors=[unicode_of(str(error))])
    except Exception as error:  # the border of this process: what breaks here is reported as an error of the compile
        return CompileOutput(errors=[unicode_of(f"the compile failed: {type(error).__name__}: {str(error)[:2000]}")])
    return CompileOutput(
        text=text,
        errors=[unicode_of(str(problem)) for problem in answer.errors],
        warnings=[unicode_of(str(one)) for one in (*answer.remarks, *answer.warnings)],
    )
