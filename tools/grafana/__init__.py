"""The dashboards of Grafana, made from Python: `python -m tools.grafana`."""
