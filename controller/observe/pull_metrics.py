"""What Prometheus sees of pull requests and of the forges that have them. Made by the composition root."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.1, 0.25, 0.5, 1, 1.5, 2.5, 4, 8, 15, 30, 60, 120, 300, 900)


class PullMetrics:
    """The series of pull requests.

    Args:
        registry: of the controller.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._previews = Counter(
            "saltern_pull_request_previews", "Previews of pull requests", ["result"], registry=registry
        )
        self._seconds = Histogram(
            "saltern_preview_seconds", "Time of a preview of a pull request", buckets=_SECONDS, registry=registry
        )
        self._predictions = Counter(
            "saltern_predictions", "Minions of merged pull requests by what the preview said", ["result"],
            registry=registry,
        )  # fmt: skip
        for result in ("made", "failed"):  # made at once, so that a rate starts from zero
            self._previews.labels(result)
        for result in ("kept", "broken"):
            self._predictions.labels(result)
        self._looks = Counter(
            "saltern_forge_looks", "Looks at a pull request or a project of a forge", ["forge", "result"],
            registry=registry,
        )  # fmt: skip
        self._failing = Gauge(
            "saltern_forge_failing", "1 while the newest look failed as the forge did not do it", ["forge"],
            registry=registry,
        )  # fmt: skip

    def previewed(self, seconds: float, *, ok: bool) -> None:
        """A preview has ended, cancelled ones left out."""
        self._previews.labels("made" if ok else "failed").inc()
        self._seconds.observe(seconds)

    def predicted(self, kept: int, broken: int) -> None:
        """So many minions did what the preview said, and so many did not."""
        self._predictions.labels("kept").inc(kept)
        self._predictions.labels("broken").inc(broken)

    def looked(self, forge: str, result: str) -> None:
        """A look has ended: `done`, `unavailable`, `refused` or `error`."""
        self._looks.labels(forge, result).inc()
        self._failing.labels(forge).set(result != "done")
