"""What a machine has is written where its value stands in git, and nothing else of the text is another.

Real repositories and compiles. Each edit is compiled again: then the states ask for what the machine has.
"""

import subprocess

import pytest

from controller.adoption.differences import CONTENT, FUNCTION, Difference
from controller.adoption.edits import TreeEditor
from controller.adoption.refusal import NotAdopted
from controller.observe.blame import Blamer
from gitfs.config.settings import RemoteSettings
from gitfs.source import Source
from highstate.compile import CompileOptions, compile_minion
from highstate.desired import desired_of
from highstate.files import MemoryFiles
from highstate.types import Minion

MINION = Minion(id="web1", grains={"id": "web1", "os_family": "Debian"})
SLS = """\
# what each web server has
{% set port = 80 %}
/etc/motd:
  file.managed:
    - contents: welcome   # for all
    - mode: '0644'

/etc/app.conf:
  file:
    - managed
    - source: salt://app.conf
    - user: {{ pillar['owner'] }}

nginx:
  pkg.installed:
    - pkgs:
      - nginx: {{ pillar.nginx.version }}-1
      - curl: "7.88"
  service.running:
    - enable: true

{% if grains.os_family == 'Debian' %}
/etc/rendered:
  file.managed:
    - source: salt://rendered.conf
    - template: jinja
    - mode: "06{{ 4 }}4"
{% endif %}
/etc/of_pillar:
  file.managed:
    - contents_pillar: texts:banner
"""
TREE = {
    "states/top.sls": "base: {'*': [web]}\n",
    "states/web.sls": SLS,
    "states/app.conf": "port = 80\n",
    "states/rendered.conf": "# kept\nhost = {{ grains.id }}\nlevel = low\n",
    "pillar/top.sls": "base: {'*': [web]}\n",
    "pillar/web.sls": """\
# values
owner: app
nginx:
  version: 1.22   # of the distribution
texts:
  banner: hello
""",
}


@pytest.fixture
def scene(tmp_path):
    made = []

    def make(**changed):
        work = tmp_path / "work"
        for path, text in {**TREE, **changed}.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text)
        who = ("-c", "user.name=A Writer", "-c", "user.email=writer@example.com")
        for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*who, "commit", "-q", "-m", "all")):
            subprocess.run(["git", *words], cwd=work, check=True)
        files, pillar = (
            RemoteSettings(name="states", url=str(work), root=root, branch="main") for root in ("states", "pillar")
        )
        source = Source([files], [pillar], tmp_path / "cache")
        made.append(source)
        source.fetch(patience=60.0)
        return Scene(source.live())

    yield make
    for each in made:
        each.close()


class Scene:
    """An editor of the trees of one minion."""

    def __init__(self, trees, secrets=()):
        self.trees = trees
        self.desired = self.compiled(trees.files, trees.pillar)
        self.editor = TreeEditor(
            trees=trees,
            blamer=Blamer(trees, self.desired),
            is_secret=lambda path, value: any(secret in (path, value) for secret in self.secrets),
        )
        self.secrets = secrets

    @staticmethod
    def compiled(files, pillar):
        compiled = compile_minion(files, pillar, MINION, CompileOptions())
        assert compiled.ok, compiled.errors
        return desired_of(compiled)

    def state(self, name, state="file", desired=None):
        chunks = (desired or self.desired).chunks.values()
        return next(chunk for chunk in chunks if chunk.id == name and chunk.state == state)

    def write(self, name, argument, wanted, found, *, state="file", item="", rendered=None):
        difference = Difference(argument=argument, wanted=wanted, found=found, item=item)
        return self.editor.write(self.state(name, state), difference, rendered)

    def changed(self):
        """Lines that are others, by file: (old, new)."""
        (repository,) = self.editor.repositories.values()
        found = {}
        for path, content in repository.files.items():
            old, new = TREE[path].splitlines(), content.decode().splitlines()
            assert len(old) == len(new)
            found[path] = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
        return found

    def again(self):
        """The document of the edited trees."""
        (repository,) = self.editor.repositories.values()
        texts = {path: text.encode() for path, text in TREE.items()} | repository.files
        trees = [{}, {}]
        for path, text in texts.items():
            root, _, inner = path.partition("/")
            trees[root == "pillar"][inner] = text
        return self.compiled(*(MemoryFiles({"base": tree}) for tree in trees))


def refused(*arguments, **options):
    with pytest.raises(NotAdopted) as caught:
        arguments[0].write(*arguments[1:], **options)
    return str(caught.value)


def test_values_of_an_sls_where_they_stand_with_their_comments(scene):
    one = scene()
    assert one.write("/etc/motd", "mode", "0644", "0600") == "states/web.sls:6"
    assert one.write("/etc/motd", CONTENT, b"welcome", b"keep out") == "states/web.sls:5"
    assert one.write("nginx", "version", "7.88", "7.90", state="pkg", item="curl") == "states/web.sls:18"
    assert one.write("nginx", "enable", True, False, state="service") == "states/web.sls:20"
    assert one.changed() == {
        "states/web.sls": [
            ("    - contents: welcome   # for all", "    - contents: keep out   # for all"),
            ("    - mode: '0644'", "    - mode: '0600'"),
            ('      - curl: "7.88"', '      - curl: "7.90"'),
            ("    - enable: true", "    - enable: false"),
        ]
    }
    desired = one.again()
    assert one.state("/etc/motd", desired=desired).arguments["contents"] == "keep out"
    assert one.state("nginx", "service", desired).arguments["enable"] is False


def test_the_function_of_a_state(scene):
    one = scene()
    assert one.write("nginx", FUNCTION, "running", "dead", state="service") == "states/web.sls:19"
    assert one.changed() == {"states/web.sls": [("  service.running:", "  service.dead:")]}
    assert one.state("nginx", "service", one.again()).fun == "dead"


def test_keys_of_pillar_that_a_line_is_made_of(scene):
    one = scene()
    assert one.write("/etc/app.conf", "user", "app", "www") == "pillar/web.sls:2 (owner)"
    place = one.write("nginx", "version", "1.22-1", "1.24-1", state="pkg", item="nginx")
    assert place == "pillar/web.sls:4 (nginx:version)"
    assert one.write("/etc/of_pillar", CONTENT, b"hello\n", b"bye\n") == "pillar/web.sls:6 (texts:banner)"
    assert one.changed() == {
        "pillar/web.sls": [
            ("owner: app", "owner: www"),
            ("  version: 1.22   # of the distribution", "  version: 1.24   # of the distribution"),
            ("  banner: hello", "  banner: bye"),
        ]
    }
    assert one.state("/etc/app.conf", desired=one.again()).arguments["user"] == "www"


def test_what_is_beside_the_key_of_pillar_has_to_be_as_it_was(scene):
    found = refused(scene(), "nginx", "version", "1.22-1", "1.24-2", state="pkg", item="nginx")
    assert "what is beside pillar nginx:version" in found


def test_files_of_the_tree(scene):
    one = scene()
    assert one.write("/etc/app.conf", CONTENT, b"port = 80\n", b"port = 81\n") == "states/app.conf"
    text = "# kept\nhost = web1\nlevel = low\n"
    place = one.write("/etc/rendered", CONTENT, text.encode(), text.replace("low", "high").encode(), rendered=text)
    assert place == "states/rendered.conf:3"
    assert one.changed() == {
        "states/app.conf": [("port = 80", "port = 81")],
        "states/rendered.conf": [("level = low", "level = high")],
    }


def test_lines_that_a_template_makes_are_not_edited(scene):
    text = "# kept\nhost = web1\nlevel = low\n"
    found = text.replace("web1", "other").encode()
    assert "is a template" in refused(scene(), "/etc/rendered", CONTENT, text.encode(), found, rendered=text)


@pytest.mark.parametrize(
    ("name", "argument", "wanted", "found", "why"),
    [
        ("/etc/rendered", "mode", "0644", "0600", "made by Jinja, and not of one key of pillar alone"),
        ("/etc/motd", "group", "root", "adm", "group of /etc/motd is not written below its ID"),
        ("/etc/motd", CONTENT, b"welcome", b"\xff\xfe", "no text in UTF-8"),
        ("/etc/app.conf", CONTENT, b"port = 80\n", b"a\0b", "it has zero bytes"),
    ],
)
def test_what_cannot_be_written_says_why_and_writes_nothing(scene, name, argument, wanted, found, why):
    one = scene()
    assert why in refused(one, name, argument, wanted, found)
    assert one.editor.repositories == {}


def test_secrets_are_not_written(scene):
    one = scene()
    one.secrets = ("owner",)
    assert "pillar owner is a secret" in refused(one, "/etc/app.conf", "user", "app", "www")
    one.secrets = ("    - contents: hunter2   # for all",)
    assert "it holds a secret" in refused(one, "/etc/motd", CONTENT, b"welcome", b"hunter2")
    assert one.editor.repositories == {}


def test_what_the_compile_may_import_is_not_written(scene):
    sls = SLS.replace("rendered.conf", "rendered.j2")
    one = scene(**{"states/web.sls": sls, "states/rendered.j2": "# kept\n"})
    found = refused(one, "/etc/rendered", CONTENT, b"# kept\n", b"# other\n", rendered="# kept\n")
    assert "rendered.j2 is code or policy of the tree" in found
