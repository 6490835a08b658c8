import pytest

from options.near_names import did_you_mean, near


def test_the_nearest_comes_first_and_there_may_be_none():
    assert near("log_levl", {"log_level", "log_file", "id"}, most=2) == ("log_level", "log_file")
    assert near("zzz", {"log_level"}) == ()
    assert did_you_mean("log_levl", ["id", "log_level"]) == "did you mean log_level?"
    assert did_you_mean("zzz", ["id"]) == ""


@pytest.mark.parametrize(
    ("name", "other"), [("reactor", "ret_port"), ("vault", "defaults"), ("salt.function", "test.function")]
)
def test_what_is_only_a_little_alike_is_no_hint(name, other):
    assert near(name, [other]) == ()


@pytest.mark.parametrize(("name", "meant"), [("fiel.managed", "file.managed"), ("pkg.instaled", "pkg.installed")])
def test_functions_are_alike_by_module_and_name(name, meant):
    assert near(name, ["test.managed", meant, "file"]) == (meant,)
