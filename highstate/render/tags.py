"""Salt's Jinja tags: load_yaml, load_json, load_text, import_yaml, import_json, import_text and profile.

An imported file is a template itself: it is rendered with Jinja before it is read as YAML, JSON or text.
`profile` takes its place in the grammar and measures nothing, as a compile has no clock.
"""

from __future__ import annotations

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser


class SerializerTags(Extension):
    """The block forms (`{% load_yaml as x %}...{% endload %}`) and the import forms."""

    tags = {  # noqa: RUF012  (Jinja wants a plain class attribute)
        "load_yaml",
        "load_json",
        "load_text",
        "import_yaml",
        "import_json",
        "import_text",
        "profile",
    }

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """One tag, with the body of a block form."""
        tag = str(parser.stream.current.value)
        if tag == "profile":
            return self._profile(parser)
        if tag.startswith("import_"):
            return self._import(parser, "load_" + tag.removeprefix("import_"))
        return self._load(parser, tag)

    def _load(self, parser: Parser, reader: str) -> list[nodes.Node]:
        line = next(parser.stream).lineno
        parser.stream.expect("name:as")
        target = parser.parse_assign_target()
        body = parser.parse_statements(("name:endload",), drop_needle=True)
        # The body becomes a macro, so that its output can be taken as a value.
        name = parser.free_identifier().name
        call = nodes.Call(nodes.Name("_" + name, "load"), [], [], None, None)
        read = nodes.Filter(call, reader, [], [], None, None)
        made = [nodes.Macro("_" + name, [], [], body), nodes.Assign(target, read)]
        return [node.set_lineno(line, override=not isinstance(node, nodes.Macro)) for node in made]

    def _import(self, parser: Parser, reader: str) -> list[nodes.Node]:
        imported = parser.parse_import()
        line = imported.lineno
        # The file's name goes along for errors.
        read = nodes.Filter(nodes.Name(imported.target, "load"), reader, [imported.template], [], None, None)
        assigned = nodes.Assign(nodes.Name(imported.target, "store"), read)
        return [imported, assigned.set_lineno(line)]

    def _profile(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        parser.stream.expect("name:as")
        parser.parse_expression()
        return parser.parse_statements(("name:endprofile",), drop_needle=True)
