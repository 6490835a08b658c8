"""Cases of the states of Ruby's packages: one that is built here."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_BUILT = (
    "printf 'Gem::Specification.new { |s| s.name = %s; s.version = %s; s.summary = %s; s.authors = [%s]; "
    "s.files = [] }' '\"salterncase\"' '\"1.2\"' '\"x\"' '\"x\"' > {top}/x.gemspec "
    "&& cd {top} && gem build -q x.gemspec -o salterncase-1.2.gem"
)
_EMPTY = (
    'ruby -rzlib -e \'Dir.mkdir("{top}/s"); Zlib::GzipWriter.open("{top}/s/specs.4.8.gz") '
    "{ |f| f.write Marshal.dump([]) }'"
)
_GEM = "{top}/salterncase-1.2.gem"
_GONE = ("gem uninstall -a -x salterncase 2>/dev/null || true",)
_NO_SOURCE = ("gem sources --remove file://{top}/s/ || true",)
_HAS = f"gem install --no-document {_GEM}"
_RUBY = ("ruby",)

CASES: tuple[Case, ...] = (
    Case(fun="gem.installed", name=_GEM, before=(_BUILT,), after=_GONE, needs=_RUBY),
    Case(fun="gem.installed", name="salterncase", arguments={"version": "~> 1.1"}, before=(_BUILT, _HAS), after=_GONE,
         needs=_RUBY),
    Case(fun="gem.installed", name="salterncase", arguments={"version": "1.2"}, before=(_BUILT, _HAS), after=_GONE,
         needs=_RUBY),
    Case(fun="gem.removed", name="salterncase", before=(_BUILT, _HAS), after=_GONE, needs=_RUBY),
    Case(fun="gem.sources_add", name="file://{top}/s/", before=(_EMPTY,), after=_NO_SOURCE, needs=_RUBY),
    Case(fun="gem.sources_remove", name="file://{top}/s/", before=(_EMPTY, "gem sources --add file://{top}/s/"),
         after=_NO_SOURCE, needs=_RUBY),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {}
