"""Wires what a reload of the configuration changes (`controller.reload.option_changes.RELOADED`)."""

from __future__ import annotations

from dataclasses import replace

from controller.composition.controller import Parts
from controller.composition.messages import autosign_settings
from controller.config.settings import ControllerSettings


def follow_settings(parts: Parts, settings: ControllerSettings) -> None:
    """Have the parts go by settings that were checked. Must not fail: it only assigns.

    The log and what is served over HTTP are `controller.app`'s.
    """
    access = parts.access
    access.settings = access.logins.settings = parts.handlers.answers.peers.settings = settings.access
    parts.handlers.answers.peers.authority.settings = settings
    parts.handlers.keys.enrolment.autosign.settings = autosign_settings(settings)
    parts.handlers.results.keep_runs = parts.runners.keep_runs = settings.keep_runs
    parts.reconciler.run_timeout = settings.run_timeout
    parts.rollouts.gates = replace(
        parts.rollouts.gates, prometheus_url=settings.prometheus_url, commands=settings.rollout_commands
    )
    parts.schedule.own = settings.schedule
    parts.runners.ports.settings = settings
