"""Code of templates is made once for all processes that compile; those of previews leave nothing to what is live."""

import asyncio
import marshal
from contextlib import closing
from dataclasses import replace

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from controller.compilation.workers.template_codes import MOST_CODE_BYTES, TemplateCode, TemplateCodes
from controller.config.limits import CompileWorkerLimits
from highstate.files import MemoryFiles
from highstate.types import Minion

TREE = {"top.sls": b"base: {'*': [app]}", "app.sls": b"a:\n  test.nop:\n    - name: {{ 'for ' ~ grains.id }}\n"}


def request(**more: bytes) -> CompileRequest:
    files = MemoryFiles({"base": {**TREE, **{f"{name}.sls": text for name, text in more.items()}}})
    return CompileRequest(files=files, pillar=MemoryFiles({}), minions=(Minion(id="web1", grains={"id": "web1"}),))


def compiled(pool: CompilePool, asked: CompileRequest) -> bytes:
    [found] = asyncio.run(pool.compile(asked))
    assert found.ok, found.errors
    return found.document


def kept(codes: TemplateCodes) -> dict[bytes, bytes]:
    return dict(codes._codes.items())


def test_code_of_one_pool_is_taken_by_another_that_gives_none_back():
    with closing(CompilePool()) as live, closing(CompilePool(codes=live.codes)) as previews:
        document = compiled(live, request())
        before = kept(live.codes)
        assert len(before) == 1
        assert compiled(previews, request()) == document
        assert b"edited web1" in compiled(previews, request(app=TREE["app.sls"].replace(b"for ", b"edited ")))
        assert kept(live.codes) == before


def test_a_process_runs_the_code_that_it_is_given():
    with closing(CompilePool()) as live:
        compiled(live, request())
        [(key, code)] = kept(live.codes).items()
        replaced = marshal.dumps(_with_other_text(marshal.loads(code)))
        live.codes.put(TemplateCode(key=key, code=replaced))
        with closing(CompilePool(codes=live.codes)) as previews:
            assert b"FOR web1" in compiled(previews, request())


def test_what_is_no_code_is_made_again():
    with closing(CompilePool()) as live:
        document = compiled(live, request())
        [key] = kept(live.codes)
        for nonsense in (b"nonsense", marshal.dumps("text"), b"\xff", marshal.dumps(compile("1", "", "eval"))[:20]):
            live.codes.put(TemplateCode(key=key, code=nonsense))
            with closing(CompilePool(codes=live.codes)) as previews:
                assert compiled(previews, request()) == document


def test_another_text_path_or_option_is_another_code():
    with closing(CompilePool()) as live:
        compiled(live, request())
        compiled(live, replace(request(), language=replace(request().language, jinja_env={"trim_blocks": True})))
        compiled(live, replace(request(), language=replace(request().language, jinja_sls_env={"trim_blocks": True})))
        compiled(live, request(top=b"base: {'*': [same]}", same=TREE["app.sls"]))
        assert len(kept(live.codes)) == 4  # app.sls twice, same.sls, and top.sls, which options make a template


def test_what_is_kept_has_a_bound():
    codes = TemplateCodes(3 * MOST_CODE_BYTES)
    for number in range(5):
        codes.put(TemplateCode(key=b"%d" % number, code=b"x" * MOST_CODE_BYTES))
    assert [bool(codes.get(b"%d" % number)) for number in range(5)] == [False, False, True, True, True]
    codes.put(TemplateCode(key=b"k" * 65, code=b"x"))
    codes.put(TemplateCode(key=b"large", code=b"x" * (MOST_CODE_BYTES + 1)))
    assert not codes.get(b"k" * 65)
    assert not codes.get(b"large")
    with closing(CompilePool(limits=CompileWorkerLimits(template_code_bytes=1))) as none:
        compiled(none, request())
        assert not kept(none.codes)


def _with_other_text(code):
    constants = [
        _with_other_text(each) if hasattr(each, "co_consts") else "FOR " if each == "for " else each
        for each in code.co_consts
    ]
    return code.replace(co_consts=tuple(constants))
