"""Running dictionaries and options whose text is compared with that of Salt's outputter `highstate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

RUNNING: Mapping[str, Any] = {
    "file_|-conf_|-/etc/a.conf_|-managed": {
        "__id__": "conf", "__run_num__": 0, "__sls__": "web", "name": "/etc/a.conf", "result": True,
        "comment": "File /etc/a.conf updated", "start_time": "10:00:00.000001", "duration": 12.345,
        "changes": {"diff": "--- \n+++ \n@@ -1 +1,2 @@\n-old\n+new\n+\n+more", "mode": "0644"},
    },
    "pkg_|-tools_|-tools_|-installed": {
        "__id__": "tools", "__run_num__": 1, "__sls__": "web", "name": "tools", "result": True,
        "comment": "The following packages were installed: curl", "start_time": "10:00:01.5", "duration": 2000.5,
        "changes": {"curl": {"new": "8.1", "old": ""}, "zlib": {"new": "1.3", "old": "1.2"}},
    },
    "test_|-same_|-same_|-nop": {
        "__id__": "same", "__run_num__": 2, "__sls__": "web", "name": "same", "result": True, "comment": "Success!",
        "start_time": "10:00:03.0", "duration": 0.4, "changes": {},
    },
    "cmd_|-two lines_|-false_|-run": {
        "__id__": "two lines", "__run_num__": 3, "__sls__": "web", "name": "false", "result": False,
        "comment": 'Command "false" run\nand said more', "start_time": "10:00:03.1", "duration": 4.0,
        "changes": {"pid": 7, "retcode": 1, "stderr": "", "stdout": "a\nb\n\n  c"},
        "warnings": ["This is old.", "And this\nlong"],
    },
    "service_|-web_|-web_|-running": {
        "__id__": "web", "__run_num__": 4, "__sls__": "web", "name": "web", "result": None,
        "comment": "Service web is set to start", "start_time": "10:00:04.0", "duration": 1.0,
        "changes": {"list": ["a", {"b": 1}, ["c", "d"]], "none": None, "yes": True, "number": 1.5, "empty": {}},
    },
    "cmd_|-skipped_|-skipped_|-run": {
        "__id__": "skipped", "__run_num__": 5, "__sls__": "web", "name": "skipped", "result": True,
        "comment": "State was not run because none of the onchanges reqs changed", "__state_ran__": False,
        "start_time": "10:00:05.0", "duration": 0.002, "changes": {},
    },
    "cmd_|-unmet_|-unmet_|-run": {
        "__id__": "unmet", "__run_num__": 6, "__sls__": "web", "name": "unmet", "result": False,
        "comment": "One or more requisite failed: web.two lines", "__state_ran__": False,
        "start_time": "10:00:05.1", "duration": 0.003, "changes": {},
    },
    "test_|-parallel_|-parallel_|-succeed_with_changes": {
        "__id__": "parallel", "__run_num__": 7, "__sls__": "web", "name": "parallel", "result": True,
        "comment": "Done", "__parallel__": True, "start_time": "10:00:06.0", "duration": 61000.0,
        "changes": {"testing": {"new": "b", "old": "a"}},
    },
}  # fmt: skip

_ONE = {key: RUNNING[key] for key in ("test_|-same_|-same_|-nop",)}
_OUTPUTS = ("full", "terse", "mixed", "changes", "filter", "full_id", "terse_id", "mixed_id", "changes_id", "filter_id")


def shown_cases() -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any], bool]]:
    """Name, running dictionary, options, and whether there are colours."""
    for output in _OUTPUTS:
        yield output, RUNNING, {"state_output": output}, False
        yield f"{output}-quiet", RUNNING, {"state_output": output, "state_verbose": False}, False
    yield "colors", RUNNING, {}, True
    yield "colors-terse", RUNNING, {"state_output": "terse"}, True
    yield "colors-one", _ONE, {}, True
    yield "one", _ONE, {}, False
    yield "profile", RUNNING, {"state_output_profile": False}, False
    yield "profile-terse", RUNNING, {"state_output_profile": False, "state_output": "terse"}, False
    yield "percent", RUNNING, {"state_output_pct": True}, False
    filtered = {"state_output": "filter", "state_output_exclude": ["True"], "state_output_terse": ["None"]}
    yield "filtered", RUNNING, filtered, False
    yield "compressed", RUNNING, {"state_compress_ids": True}, False
    yield "compressed-changes", _names(), {"state_compress_ids": True, "state_output": "changes"}, False
    yield "names", _names(), {}, False
    yield "names-compressed", _names(), {"state_compress_ids": True}, False


def _names() -> dict[str, Any]:
    """States of one ID."""
    return {
        f"test_|-many_|-{name}_|-nop": {
            "__id__": "many", "__run_num__": number, "__sls__": "web", "name": name, "result": result,
            "comment": "Success!", "start_time": "10:00:03.0", "duration": 0.5 + number, "changes": {},
        }
        for number, (name, result) in enumerate((("a", True), ("b", True), ("c", False), ("d", True)))
    }  # fmt: skip
