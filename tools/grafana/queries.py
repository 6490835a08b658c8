"""PromQL that several panels ask in."""

from __future__ import annotations

JOB = {"job": "label_values(saltern_leader, job)"}
"""Variable of a dashboard -> query of its values."""


def rate(series: str, labels: str = "") -> str:
    """What a counter of the controller rises by in a second. `labels`: more selectors, with a comma before."""
    return f'rate({series}{{job=~"$job"{labels}}}[$__rate_interval])'


def rises(series: str) -> str:
    """What it rises by from one point to the next."""
    return f'increase({series}{{job=~"$job"}}[$__rate_interval])'


def quantile(share: float, histogram: str, *by: str) -> str:
    """So many of the observations of a histogram of the controller are smaller."""
    return f"histogram_quantile({share}, sum by ({', '.join((*by, 'le'))}) ({rate(f'{histogram}_bucket')}))"
