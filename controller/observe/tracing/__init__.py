"""Pushes as traces: what their steps are (`push_traces`), and how they are sent (`otlp`)."""
