"""The wheel has one name, and a machine with `pip install saltern` has all that a minion needs and nothing besides."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from tools.packages.definitions import closure as closure_here

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = ("controller", "extmods", "gateway", "gitfs", "highstate", "matching", "minion", "options", "reactors", "wire")
KEY = "sULFwT$WoIpG$^z*Tf!@JUZLEj]-v.xx%nU{1@QR"
ON_MINIONS = (
    "controller.cli.main",
    "controller.cli.verbs.minion",
    "controller.cli.verbs.call",
    "controller.cli.verbs.relay",
    "controller.cli.verbs.local.gateway",
    "controller.cli.verbs.local.swarm",
    "controller.cli.verbs.setup.doctor",
    "controller.cli.verbs.terminal.docs",
)


def test_a_minion_imports_what_it_installs_and_no_library_of_the_controller():
    from controller.cli.main import ON_MINIONS as NAMES
    from controller.cli.main import VERBS

    assert {f"controller.cli.verbs.{VERBS[verb][0]}" for verb in NAMES} == set(ON_MINIONS[1:])
    modules = modules_of_the_rooms()
    start = [*ON_MINIONS, *(name for name in modules if name.partition(".")[0] == "minion")]
    of_minion, of_all = libraries(reached_from(start, modules), modules), libraries(set(modules), modules)
    extras = {name: distributions(needed) for name, needed in PROJECT["project"]["optional-dependencies"].items()}
    of_controller = extras["controller"]
    of_some = extras["cryptography"] | extras["docker"] | extras["redis"] | extras["vault"] | {"requests", "urllib3"}
    of_some |= extras["memcached"] | extras["mongodb"] | extras["augeas"] | extras["gateway"]
    assert of_minion - of_some == distributions(PROJECT["project"]["dependencies"])
    assert not of_minion & (of_controller - extras["cryptography"] - extras["gateway"])
    of_traces = {name for name in of_all if name.startswith("opentelemetry-")}  # they share one name to import
    assert of_traces >= extras["otel"]
    of_clouds = extras["aws"] | extras["google"] | extras["azure"] | extras["cloud"]
    of_clouds |= {"azure-core"}  # azure-identity brings its errors
    of_traces |= {"googleapis-common-protos", "protobuf"}  # they share the name google
    assert (
        of_all - of_traces == of_minion | of_controller | extras["vault"] | extras["pam"] | extras["oidc"] | of_clouds
    )


def test_few_packages_are_installed():
    """Each is one more that can be out of date, or withdrawn. The counts stand in docs/installation.md."""
    extras = PROJECT["project"]["optional-dependencies"]
    of_minion = closure_here(tuple(PROJECT["project"]["dependencies"]))
    of_controller = closure_here((*PROJECT["project"]["dependencies"], *extras["controller"]))
    assert len(of_minion) + 1 <= 15, sorted(of_minion)
    assert len(of_controller) + 1 <= 45, sorted(of_controller)
    page = (ROOT / "docs/installation.md").read_text()
    assert re.findall(r"^\| (?:minion|controller).*?\| (\d+) \|", page, re.MULTILINE) == [
        str(len(found) + 1) for found in (of_minion, of_controller)
    ]


def test_the_wheel_has_one_name(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"saltern"}
    rooms = {path.split("/")[2] for path in names if path.startswith("saltern/rooms/")}
    assert rooms == set(ROOMS)
    assert any(name.endswith("data/share/saltern/systemd/saltern-minion.service") for name in names)
    assert "saltern/rooms/highstate/lint/salt_states.txt" in names
    assert any(re.match(r"saltern/rooms/controller/store/migrations/.*\.py", name) for name in names)


def test_a_minion_works_beside_other_packages_of_its_rooms_names(wheel, minion_site, tmp_path):
    for name in ("options", "wire"):  # of other distributions
        (minion_site / f"{name}.py").write_text("raise ImportError('the wrong one')\n")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "minion").write_text(f"id: web1\nroot_dir: {tmp_path / 'root'}\n")
    states = tmp_path / "states"
    states.mkdir()
    (states / "a.sls").write_text(f"{tmp_path}/made:\n  file.managed:\n    - contents: '{{{{ grains.id }}}}'\n")
    done = from_wheel(minion_site, "call", "-c", tmp_path / "etc", "--local", "--file-root", states, "state.apply", "a")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "made").read_text() == "web1\n"
    (tmp_path / "etc" / "minion").write_text("master_port: many\n")
    done = from_wheel(minion_site, "minion", "-c", tmp_path / "etc")
    assert done.returncode == 64
    assert "master_port" in done.stderr


def test_what_a_minion_needs_behind_a_relay_is_named(minion_site, tmp_path):
    (tmp_path / "etc").mkdir()
    settings = {"master": "relay1", "controller_key": KEY, "relay_key": KEY, "root_dir": str(tmp_path / "root")}
    (tmp_path / "etc" / "minion").write_text(json.dumps(settings))
    for verb in ("minion", "relay"):
        done = from_wheel(minion_site, verb, "-c", tmp_path / "etc")
        assert done.returncode == 64, done.stderr
        assert "pip install 'saltern[cryptography]'" in done.stderr
        assert "Traceback" not in done.stderr


def test_the_pages_that_messages_name_are_installed(minion_site, tmp_path):
    listed = from_wheel(minion_site, "docs")
    assert listed.returncode == 0, listed.stderr
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages == {line.split()[0] for line in listed.stdout.splitlines()}
    assert from_wheel(minion_site, "docs", "access").stdout == (ROOT / "docs/access.md").read_text()


@pytest.mark.parametrize("verb", ["status", "lint", "controller", "ls"])
def test_a_verb_of_the_controller_says_what_to_install(minion_site, tmp_path, verb):
    done = from_wheel(minion_site, verb, *(["/"] if verb == "lint" else ["-c", tmp_path]))
    assert done.returncode == 64
    assert "pip install 'saltern[controller]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_process_of_a_room_finds_the_rooms_of_a_wheel():
    """`python -m controller...` finds them in a checkout alone."""
    started = [
        [ast.unparse(each) for each in words[at + 1 :]]
        for path in modules_of_the_rooms().values()
        for node in ast.walk(ast.parse(path.read_text()))
        for words in [getattr(node, "args", None), getattr(node, "elts", None)]
        if isinstance(words, list)
        for at, word in enumerate(words)
        if isinstance(word, ast.Attribute)
        and ast.unparse(word) == "sys.executable"
        and words[at + 1 :]  # alone it is a path, not a command
    ]
    assert len(started) >= 4
    for words in started:
        assert words[:2] == ["'-P'", "'-m'"], words
        assert words[2] in ("'saltern.run_module'", "*module", "'pip'", "'saltern'"), words


def from_wheel(site: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """`saltern ARGUMENTS` with the standard library and what stands in `site`."""
    return subprocess.run(
        [sys.executable, "-S", "-P", "-m", "saltern", *map(str, arguments)],
        cwd=site.parent,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "wheel"]
    subprocess.run([*pip, "--no-build-isolation", "--no-deps", "--no-index", "-w", folder, ROOT], check=True)
    return next(folder.glob("saltern-*.whl"))


@pytest.fixture
def minion_site(wheel, tmp_path) -> Path:
    """The folder that `pip install saltern` makes: the wheel, and what it depends on from this environment."""
    site = tmp_path / "site"
    site.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for name in closure(PROJECT["project"]["dependencies"]):
        installed = metadata.distribution(name)
        for top in {Path(str(file)).parts[0] for file in installed.files or () if ".." not in str(file)}:
            found = Path(str(installed.locate_file(top)))
            if found.exists() and not (site / top).exists():
                (site / top).symlink_to(found)
    return site


def closure(requirements: list[str]) -> set[str]:
    """Names of distributions, and of all that they need."""
    found: set[str] = set()
    waiting = list(distributions(requirements))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needed = [each for each in metadata.requires(name) or () if ";" not in each]
            waiting += distributions(needed)
    return found


def distributions(requirements: list[str]) -> set[str]:
    return {normal(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def modules_of_the_rooms() -> dict[str, Path]:
    found = {}
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def reached_from(start: list[str], modules: dict[str, Path]) -> set[str]:
    """These modules and all that they import, at their head or later."""
    seen: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name in modules and name not in seen:
            seen.add(name)
            waiting += [name.rpartition(".")[0], *imports(modules[name], modules)]
    return seen


@functools.cache
def import_nodes(path: Path) -> list[ast.Import | ast.ImportFrom]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path, modules: dict[str, Path]) -> set[str]:
    found: set[str] = set()
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)} & (
                modules.keys() | {node.module}
            )
    return found


def libraries(names: set[str], modules: dict[str, Path]) -> set[str]:
    """Distributions whose modules these import; those that another one brings for its own use are left out."""
    brought = {"markupsafe", "anyio", "h11", "requests"}  # by Jinja2, httpx, uvicorn and hvac, whose types these are
    known = {"augeas": ["python-augeas"]} | metadata.packages_distributions()  # not on each machine
    tops = {top.partition(".")[0] for name in names for top in imports(modules[name], modules)}
    outside = tops - set(ROOMS) - sys.stdlib_module_names - {"salt"}
    return {normal(each) for top in outside for each in known.get(top, [top])} - brought
