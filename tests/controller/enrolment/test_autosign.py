"""Files of ids that are accepted or rejected by themselves."""

from structlog.testing import capture_logs

from controller.enrolment.autosign import Autosign, AutosignSettings


def test_a_file_that_is_not_there_is_told_once_with_its_path(tmp_path):
    path = tmp_path / "autoreject"
    autosign = Autosign(AutosignSettings(autoreject_file=path))
    with capture_logs() as logs:
        assert not autosign.rejects("bad1")
        assert not autosign.rejects("bad2")
    [told] = logs
    assert told["path"] == str(path)
    assert "no such file" in told["why"]
    path.write_text("bad.*\n")
    path.chmod(0o644)
    assert autosign.rejects("bad1")
