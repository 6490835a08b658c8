"""Spans sent to a collector by OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp), with OpenTelemetry's SDK.

Imported by the composition where `otlp_endpoint` is set: it takes 7 MB. Headers, certificates and the like are told by
the SDK's own variables of the environment (OTEL_EXPORTER_OTLP_HEADERS).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags, set_span_in_context

from controller.observe.tracing.push_traces import Span

log = structlog.get_logger("saltern.traces")

TIMEOUT = 5.0
"""Seconds that the collector has to take a batch, all tries together."""
MOST_WAITING = 4096
"""Spans that wait to be sent; more are dropped."""


class OtlpSpans:
    """Spans of one controller, sent from a thread.

    Args:
        endpoint: address of the collector, with its path (`/v1/traces`).
        version: of Saltern.
        sent: is told whether so many spans were taken; from that thread.
    """

    def __init__(self, endpoint: str, version: str, sent: Callable[[bool, int], None]) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # what fails is logged here, once
        self._ids = _GivenIds()
        about = {"service.name": "saltern-controller", "service.version": version}
        self._provider = TracerProvider(
            sampler=ALWAYS_ON, resource=Resource.create(about), shutdown_on_exit=False, id_generator=self._ids
        )
        exporter = _Told(OTLPSpanExporter(endpoint=endpoint, timeout=TIMEOUT), endpoint, sent)
        self._provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=MOST_WAITING))
        self._tracer = self._provider.get_tracer("saltern", version)

    def add(self, span: Span) -> None:
        """Have it sent; never waits."""
        context = Context()
        if span.parent:
            parent = SpanContext(span.trace, span.parent, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
            context = set_span_in_context(NonRecordingSpan(parent), context)
        self._ids.trace, self._ids.span = span.trace, span.number
        made = self._tracer.start_span(
            span.name, context, attributes=dict(span.attributes), start_time=_nanoseconds(span.began)
        )
        if span.error:
            made.set_status(StatusCode.ERROR, span.error)
        made.end(_nanoseconds(max(span.began, span.ended)))

    def close(self) -> None:
        """Send what waits, within some seconds."""
        self._provider.shutdown()


class _GivenIds(IdGenerator):
    """Ids as the next span has them."""

    def __init__(self) -> None:
        self.trace = self.span = 0
        self._random = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span or self._random.generate_span_id()


class _Told(SpanExporter):
    """An exporter whose failures are logged when they begin and end, and counted."""

    def __init__(self, exporter: SpanExporter, endpoint: str, sent: Callable[[bool, int], None]) -> None:
        self._exporter = exporter
        self._endpoint = endpoint
        self._sent = sent
        self._failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception as error:  # of the library that sends, in its thread
            log.debug("traces not sent", error=str(error))
            result = SpanExportResult.FAILURE
        failed = result is not SpanExportResult.SUCCESS
        self._sent(not failed, len(spans))
        if failed and not self._failing:
            log.error("traces are not taken; they are dropped until they are", endpoint=self._endpoint)
        elif self._failing and not failed:
            log.info("traces are taken again", endpoint=self._endpoint)
        self._failing = failed
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
