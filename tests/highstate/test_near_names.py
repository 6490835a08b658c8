from highstate.near_names import did_you_mean, near


def test_the_nearest_comes_first_and_there_may_be_none():
    assert near("log_levl", {"log_level", "log_file", "id"}, most=2) == ("log_level", "log_file")
    assert near("zzz", {"log_level"}) == ()
    assert did_you_mean("log_levl", ["id", "log_level"]) == "did you mean log_level?"
    assert did_you_mean("zzz", ["id"]) == ""
