"""Classes of a preview: those that were planted are found, with holes where their minions differ."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.preview.classes import change_classes
from controller.preview.folding import Fleet
from controller.schema.plans import FieldDiff
from controller.schema.reports import FileDiff, ResourceChange

WORDS = ["nginx", "postgres", "motd", "sshd", "cron"]


def changed(title, *, fields=(), files=(), key="", **more):
    return ResourceChange(
        action="changed", key=key or title, title=title, function="file.managed", fields=fields, files=files, **more
    )


def field(old, new, name="contents"):
    return FieldDiff(field=name, old=old, new=new)


def classes_of(changes, grains=None):
    return change_classes(changes, grains or {}, Fleet.of(changes))


def test_what_differs_by_host_is_a_hole():
    changes = {
        f"web{n}": (
            changed(f"/etc/hosts.d/web{n} (file.managed)", fields=(field("old", f"web{n} listens on 10.0.0.{n}:80"),)),
        )
        for n in range(5)
    }
    grains = {f"web{n}": {"id": f"web{n}", "ipv4": ["127.0.0.1", f"10.0.0.{n}"]} for n in range(5)}
    [one] = classes_of(changes, grains)
    assert one.minions == tuple(changes)
    [resource] = one.resources
    assert resource.title == "/etc/hosts.d/⟨grains.id⟩ (file.managed)"
    assert resource.fields[0].new == "⟨grains.id⟩ listens on ⟨grains.ipv4⟩:80"
    assert [hole.name for hole in one.holes] == ["⟨grains.id⟩", "⟨grains.ipv4⟩"]
    assert one.holes[1].examples == {"web0": "10.0.0.0", "web1": "10.0.0.1", "web2": "10.0.0.2"}


def test_equal_values_of_a_minion_have_the_same_hole():
    one, two = (
        (changed("a", fields=(field(f"port {n}", f"port {n + 1}, not {n}"), field(None, n * 7, "size"))),)
        for n in (80, 90)
    )
    [found] = classes_of({"x": one, "y": two})
    [resource] = found.resources
    assert [(each.old, each.new) for each in resource.fields] == [
        ("port ⟨value 1⟩", "port ⟨value 2⟩, not ⟨value 1⟩"),
        (None, "⟨value 3⟩"),
    ]
    assert found.holes[0].examples == {"x": "80", "y": "90"}


def test_lines_of_files_have_holes():
    def diff(name, at):
        return f"--- a\n+++ b\n@@ -{at} +{at} @@\n-old\n+server_name {name}.example.org;\n keep"

    changes = {name: (changed("vhost", files=(FileDiff(path="/v", text=diff(name, at)),)),) for at, name in
               enumerate(("red", "green"), 1)}  # fmt: skip
    [one] = classes_of(changes)
    assert one.resources[0].files[0].text.splitlines()[3:] == ["-old", "+server_name ⟨grains.id⟩.example.org;", " keep"]


def test_texts_with_other_numbers_of_words_have_one_hole_between_what_they_share():
    new = {"x": "motd: Welcome to Anna's server!", "y": "motd: Good day!"}
    [one] = classes_of({name: (changed("a", fields=(field("x", text),)),) for name, text in new.items()})
    assert one.resources[0].fields[0].new == "motd: ⟨value 1⟩!"
    assert one.holes[0].examples == {"x": "Welcome to Anna's server", "y": "Good day"}


@pytest.mark.parametrize(
    "other",
    [
        changed("b", fields=(field("1", "2"),)),
        changed("a", fields=(field("1", "2", "mode"),)),
        changed("a", fields=(field("1", "2\n3"),)),
        changed("a", fields=(field("1", True),)),
        changed("a", fields=(field("1", ["2"]),)),
        changed("a", fields=(field("1", "2"),), irreversible="it is gone"),
        changed("a", fields=(field("1", "2"),), files=(FileDiff(path="/x", note="binary"),)),
    ],
)
def test_other_shapes_are_other_classes(other):
    assert len(classes_of({"x": (changed("a", fields=(field("1", "2"),)),), "y": (other,)})) == 2


def test_a_minion_with_the_name_of_a_package_is_of_the_class_of_the_others():
    assert len(classes_of({name: (changed("nginx (pkg.installed)"),) for name in ("nginx", "web1")})) == 1
    assert classes_of({"nginx": (changed("nginx (pkg.installed)"),)})[0].resources[0].title == "nginx (pkg.installed)"


@st.composite
def fleets(draw):
    """(class of each minion, changes, grains): what differs inside a class are values and own names."""
    templates = draw(
        st.lists(st.tuples(st.sampled_from(WORDS), st.integers(1, 3)), min_size=1, max_size=6, unique=True)
    )
    planted, changes, grains = {}, {}, {}
    for number in range(draw(st.integers(1, 25))):
        minion = f"host-{number}"
        word, lines = templates[draw(st.integers(0, len(templates) - 1))]
        value = draw(st.text("ab <&|1.\\⟨", max_size=8))
        own = draw(st.sampled_from(["", "in its name"])) if word == "motd" else ""
        title = f"{word} [/etc/{minion}]" if own else word
        text = "\n".join([f"{word} of {minion}: {value}"] * lines)
        planted[minion] = (word, lines, own)
        changes[minion] = (changed(title, fields=(field(None, text), field("x", number, "size"))), changed("same"))
        grains[minion] = {"id": minion, "fqdn": f"{minion}.example.org"}
    return planted, changes, grains


def filled(text, minion, holes, columns):
    for name in holes:
        text = text.replace(name, columns[name][minion])
    return text


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a loaded machine draws slowly
@given(fleets())
def test_the_classes_found_are_those_that_were_planted(fleet):
    planted, changes, grains = fleet
    expected = {}
    for minion, group in planted.items():
        expected.setdefault(group, set()).add(minion)
    found = classes_of(changes, grains)
    assert sorted(map(sorted, expected.values())) == sorted(sorted(one.minions) for one in found)
    for one in found:
        if len(one.minions) <= 3 and not any("⟨" in str(changes[minion]) for minion in one.minions):
            for minion in one.minions:
                text = one.resources[0].fields[0].new
                for hole in one.holes:
                    text = text.replace(hole.name, hole.examples[minion])
                assert text == changes[minion][0].fields[0].new, "the examples give what each minion has"
