"""`otlp_endpoint`: what it may be, and what it needs."""

from __future__ import annotations

import sys

import pytest

from controller.config.checks import check_traces
from controller.config.settings import BadControllerSettings, load_settings


def load(folder, text):
    (folder / "controller").write_text(text)
    settings = load_settings(folder)
    check_traces(settings)
    return settings.otlp_endpoint


def test_it_is_an_address(tmp_path):
    assert load(tmp_path, "") == ""
    assert load(tmp_path, "otlp_endpoint: http://127.0.0.1:4318/v1/traces\n") == "http://127.0.0.1:4318/v1/traces"
    with pytest.raises(BadControllerSettings, match="otlp_endpoint"):
        load(tmp_path, "otlp_endpoint: 127.0.0.1:4318\n")


def test_without_the_extra_it_is_refused(tmp_path, monkeypatch):
    for name in ("opentelemetry.exporter.otlp.proto", "opentelemetry.exporter.otlp.proto.http"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BadControllerSettings, match=r"controller:1.*otel"):
        load(tmp_path, "otlp_endpoint: http://127.0.0.1:4318/v1/traces\n")
