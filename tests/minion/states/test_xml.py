"""Elements of XML documents, which otherwise stay as they are."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.execution import CallFailed, Context, Modules
from minion.providers.xml_documents import XmlDocument

TEXT = """<?xml version="1.0" encoding="{encoding}"?>
<!-- before -->
<!DOCTYPE plays>
<plays xmlns:x="urn:x"   x:kind='a > b'>
  <play id="1">Old<!-- inside --> one</play>
  <play
     id='2' name = "&lt;two&gt;"/>
  <x:play><part>p</part></x:play><play id="3"></play>
</plays>
<!-- after -->
"""


@pytest.fixture
def document(tmp_path):
    def made(encoding="UTF-8"):
        path = tmp_path / "f.xml"
        path.write_bytes(TEXT.format(encoding=encoding).encode())
        return path

    return made


@pytest.mark.parametrize(
    ("xpath", "value", "old", "text", "new"),
    [
        (".//play[@id='1']", "A & <B>", "Old one", "Old<!-- inside --> one", "A &amp; &lt;B&gt;"),
        (".//play[@id='2']", "x", "", 'name = "&lt;two&gt;"/>', 'name = "&lt;two&gt;">x</play>'),
        (".//play[@id='3']", "x", "", '<play id="3"></play>', '<play id="3">x</play>'),
        (".//{urn:x}play", "x", "", "<x:play><part>", "<x:play>x<part>"),
        (".//part", "é", "p", "<part>p<", "<part>é<"),
    ],
)
def test_the_text_of_an_element_alone_is_changed(document, converge, xpath, value, old, text, new):
    path = document()
    before = path.read_text()
    made = converge("xml.value_present", path, xpath=xpath, value=value)
    assert (made.changes, made.comment) == ({str(path): {"old": old, "new": value}}, f"{path} updated")
    assert path.read_text() == before.replace(text, new)
    assert converge("xml.value_present", path, xpath=xpath, value=value).comment == f"{value} is already present"


def test_a_document_keeps_its_encoding(document, converge):
    path = document("ISO-8859-1")
    converge("xml.value_present", path, xpath=".//part", value="é€")
    assert b"<part>\xe9&#8364;</part>" in path.read_bytes()


@pytest.mark.parametrize(
    ("content", "xpath", "match"),
    [
        (TEXT.format(encoding="UTF-8"), ".//none", "xpath query .//none not found in "),
        (TEXT.format(encoding="UTF-8"), "[", "xpath '['"),
        ("<a>", ".", "is no XML document"),
        ("<a/>".encode("utf-16").decode("latin-1"), ".", "UTF-16"),
    ],
)
def test_what_cannot_be_changed_is_said(tmp_path, converge, content, xpath, match):
    (tmp_path / "f").write_bytes(content.encode("latin-1"))
    failed = converge("xml.value_present", tmp_path / "f", xpath=xpath, value="x")
    assert failed.result is False
    assert match in failed.comment
    assert "No such file" in converge("xml.value_present", tmp_path / "none", xpath=".", value="x").comment


CHARACTERS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8)


@given(CHARACTERS, st.sampled_from(["play", "part"]))
def test_what_is_written_is_read_again(value, name):
    document = XmlDocument(TEXT.format(encoding="UTF-8").encode(), "f")
    element = document.find(f".//{name}")
    changed = XmlDocument(document.with_text(element, value), "f").find(f".//{name}")
    assert (changed.text or "") == value
    attributes = XmlDocument(document.with_attribute(element, "id", value), "f").find(f".//{name}").attrib
    assert attributes == {**element.attrib, "id": value}


def test_the_module(document):
    path = str(document())
    call = Modules(Context(minion_id="m")).call
    assert call("xml.get_value", (path, ".//part")) == "p"
    assert call("xml.set_value", (path, ".//part", "q")) is True
    assert call("xml.get_value", (path, ".//part")) == "q"
    assert call("xml.get_attribute", (path, ".//play[@id='2']")) == {"id": "2", "name": "<two>"}
    assert call("xml.set_attribute", (path, ".//play[@id='2']", "name", "'\"")) is True
    assert call("xml.set_attribute", (path, ".//part", "new", "1")) is True
    assert call("xml.get_attribute", (path, ".//play[@id='2']"))["name"] == "'\""
    assert call("xml.get_attribute", (path, ".//part")) == {"new": "1"}
    assert ElementTree.parse(path).getroot().tag == "plays"
    for fun, words in (("get_value", ()), ("get_attribute", ()), ("set_value", ("x",)), ("set_attribute", ("a", "b"))):
        assert call(f"xml.{fun}", (path, ".//none", *words)) is False
    with pytest.raises(CallFailed, match="is no name of an attribute"):
        call("xml.set_attribute", (path, ".//part", "a b", "1"))
