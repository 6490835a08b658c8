"""Functions of `kubernetes` that make, patch and replace objects: one of each for a kind."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from minion.arguments.types import AnyValue, Ignored, Map, Seconds, Unsupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.kubernetes.objects import NO_LOGIN, Function
from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import STRATEGIC, ClusterApi
from minion.providers.kubernetes.kinds import CONFIGMAP, NAMESPACE, POD, SECRET, SERVICE, KubernetesObject, ObjectKind
from minion.providers.kubernetes.sources import ObjectSource
from minion.providers.kubernetes.written import change_of, whole_of, written

_AppendHash = Annotated[AnyValue, Unsupported("put a hash of the content into the name")]


class _Target(NamedTuple):
    """The object that a function changes."""

    context: Context
    login: ClusterLogin
    kind: ObjectKind
    name: str
    namespace: str | None

    def sent(
        self, method: str, body: KubernetesObject, *, content: str = "application/json", dry_run: bool = False,
        seconds: float | None = None,
    ) -> KubernetesObject:  # fmt: skip
        """What the server answers. `seconds`: how long it may take to be ready."""
        api = ClusterApi(self.context.machine, self.login)
        path = self.kind.path(self.namespace, None if method == "POST" else self.name)
        dry = "All" if dry_run else None
        done = api.ask(method, path, body, content=content, dryRun=dry, fieldValidation="Strict")
        if seconds is not None and not dry_run:
            api.wait_until_ready(self.kind, self.name, self.namespace, seconds)
        return done

    def made(self, read: KubernetesObject, *, dry_run: bool, seconds: float | None) -> KubernetesObject:
        """Make it."""
        return self.sent("POST", whole_of(*self[2:], read), dry_run=dry_run, seconds=seconds)

    def patched(
        self, patch: Map | None, source: ObjectSource, *, dry_run: bool, seconds: float | None
    ) -> KubernetesObject:
        """Patch it."""
        if not patch and not source.source:
            raise CallFailed("Patch must be a dictionary")
        read = written(self.context.machine, self.kind, source, patch or {})
        body = change_of(*self[2:], read)
        return self.sent("PATCH", body, content=STRATEGIC, dry_run=dry_run, seconds=seconds)

    def replaced(self, read: KubernetesObject, seconds: float | None) -> KubernetesObject:
        """Replace it; its address and its type stay."""
        there = ClusterApi(self.context.machine, self.login).find(*self[2:])
        if there is None:
            raise CallFailed(f"{self.kind.kind} {self.namespace}/{self.name} not found")
        body = whole_of(*self[2:], read)
        body["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"]
        if self.kind is SERVICE and "clusterIP" in there["spec"]:
            body["spec"] = {"clusterIP": there["spec"]["clusterIP"], **body["spec"]}
        if self.kind is SECRET and not body.get("type"):
            body["type"] = there.get("type")
        return self.sent("PUT", body, seconds=seconds)


def _source(source: str, template: str, saltenv: str, template_context: Map | None) -> ObjectSource:
    return ObjectSource(source, template, template_context or {}, saltenv)


def creating(kind: ObjectKind) -> Function:
    """The function that makes an object of a kind that has a `spec`."""

    def create(
        context: Context, name: str, namespace: str = "default", metadata: Map | None = None, spec: Map | None = None,
        source: str = "", template: str = "", saltenv: str = "base", template_context: Map | None = None,
        dry_run: bool = False, wait: bool = False, timeout: Seconds = 60.0, login: ClusterLogin = NO_LOGIN,
    ) -> KubernetesObject:  # fmt: skip
        place = _source(source, template, saltenv, template_context)
        read = written(context.machine, kind, place, {"metadata": metadata, "spec": spec})
        target = _Target(context, login, kind, name, namespace)
        return target.made(read, dry_run=dry_run, seconds=timeout if wait else None)

    create.__doc__ = f"""Make a {kind.word}."""
    return create


def create_pod(
    context: Context, name: str, namespace: str = "default", metadata: Map | None = None, spec: Map | None = None,
    source: str = "", template: str = "", saltenv: str = "base", template_context: Map | None = None,
    wait: bool = False, timeout: Seconds = 60.0, *, dry_run: bool = False, login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject:  # fmt: skip
    """Make a pod."""
    read = written(
        context.machine, POD, _source(source, template, saltenv, template_context), {"metadata": metadata, "spec": spec}
    )
    target = _Target(context, login, POD, name, namespace)
    return target.made(read, dry_run=dry_run, seconds=timeout if wait else None)


def create_namespace(
    context: Context, name: str, metadata: Map | None = None, source: str = "", template: str = "",
    saltenv: str = "base", template_context: Map | None = None, dry_run: bool = False, login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject:  # fmt: skip
    """Make a namespace."""
    place = _source(source, template, saltenv, template_context)
    read = written(context.machine, NAMESPACE, place, {"metadata": metadata})
    return _Target(context, login, NAMESPACE, name, None).made(read, dry_run=dry_run, seconds=None)


def create_secret(
    context: Context, name: str, namespace: str = "default", data: Map | None = None, source: str = "",
    template: str = "", saltenv: str = "base", template_context: Map | None = None, secret_type: str | None = None,
    metadata: Map | None = None, dry_run: bool = False, wait: bool = False, timeout: Seconds = 60.0,
    append_hash: _AppendHash = None, login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject:  # fmt: skip
    """Make a secret; its values are texts, or base64 of texts."""
    read = written(context.machine, SECRET, _source(source, template, saltenv, template_context), {"data": data})
    more: dict[str, Any] = {"metadata": metadata} if metadata else {}
    if secret_type and not read.get("type"):
        more["type"] = secret_type
    target = _Target(context, login, SECRET, name, namespace)
    return target.made({**read, **more}, dry_run=dry_run, seconds=timeout if wait else None)


def create_configmap(
    context: Context, name: str, namespace: str = "default", data: Map | None = None, source: str = "",
    template: str = "", saltenv: str = "base", template_context: Map | None = None, dry_run: bool = False,
    wait: bool = False, timeout: Seconds = 60.0, append_hash: _AppendHash = None, login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject:  # fmt: skip
    """Make a ConfigMap."""
    read = written(context.machine, CONFIGMAP, _source(source, template, saltenv, template_context), {"data": data})
    target = _Target(context, login, CONFIGMAP, name, namespace)
    return target.made(read, dry_run=dry_run, seconds=timeout if wait else None)


def patching(kind: ObjectKind) -> Function:
    """The function that patches an object of a kind."""

    def patch(
        context: Context, name: str, namespace: str = "default", patch: Map | None = None, source: str = "",
        template: str = "", saltenv: str = "base", template_context: Map | None = None, dry_run: bool = False,
        wait: bool = False, timeout: Seconds = 60.0, login: ClusterLogin = NO_LOGIN,
    ) -> KubernetesObject:  # fmt: skip
        place = _source(source, template, saltenv, template_context)
        target = _Target(context, login, kind, name, namespace)
        return target.patched(patch, place, dry_run=dry_run, seconds=timeout if wait else None)

    patch.__doc__ = f"""Have a {kind.word} that is there have what is given; what else it has stays."""
    return patch


def patch_secret(
    context: Context, name: str, namespace: str = "default", patch: Map | None = None, source: str = "",
    template: str = "", saltenv: str = "base", template_context: Map | None = None, secret_type: str | None = None,
    dry_run: bool = False, wait: bool = False, timeout: Seconds = 60.0, login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject:  # fmt: skip
    """Have a secret that is there have what is given; what else it has stays."""
    place = _source(source, template, saltenv, template_context)
    given = {**(patch or {}), "type": secret_type} if secret_type else patch
    target = _Target(context, login, SECRET, name, namespace)
    return target.patched(given, place, dry_run=dry_run, seconds=timeout if wait else None)


def patch_namespace(
    context: Context, name: str, patch: Map | None = None, source: str = "", template: str = "", saltenv: str = "base",
    template_context: Map | None = None, dry_run: bool = False, login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject:  # fmt: skip
    """Have a namespace that is there have what is given; what else it has stays."""
    place = _source(source, template, saltenv, template_context)
    return _Target(context, login, NAMESPACE, name, None).patched(patch, place, dry_run=dry_run, seconds=None)


def replacing(kind: ObjectKind) -> Function:
    """The function that replaces an object of a kind that has a `spec`."""

    def replace(
        context: Context, name: str, metadata: Map | None = None, spec: Map | None = None, source: str = "",
        template: str = "", saltenv: str = "base", namespace: str = "default", template_context: Map | None = None,
        wait: bool = False, timeout: Seconds = 60.0, login: ClusterLogin = NO_LOGIN,
    ) -> KubernetesObject:  # fmt: skip
        place = _source(source, template, saltenv, template_context)
        read = written(context.machine, kind, place, {"metadata": metadata, "spec": spec})
        return _Target(context, login, kind, name, namespace).replaced(read, timeout if wait else None)

    replace.__doc__ = f"""Put another {kind.word} in the place of one that is there."""
    return replace


def replace_service(
    context: Context, name: str,
    old_service: Annotated[AnyValue, Ignored("the server is asked for the service that is there")] = None,
    metadata: Map | None = None, spec: Map | None = None, source: str = "", template: str = "", saltenv: str = "base",
    namespace: str = "default", template_context: Map | None = None, wait: bool = False, timeout: Seconds = 60.0,
    login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject:  # fmt: skip
    """Put another service in the place of one that is there; its address stays."""
    place = _source(source, template, saltenv, template_context)
    read = written(context.machine, SERVICE, place, {"metadata": metadata, "spec": spec})
    return _Target(context, login, SERVICE, name, namespace).replaced(read, timeout if wait else None)


def replace_configmap(
    context: Context, name: str, data: Map | None = None, source: str = "", template: str = "", saltenv: str = "base",
    namespace: str = "default", template_context: Map | None = None, wait: bool = False, timeout: Seconds = 60.0,
    login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject:  # fmt: skip
    """Put another ConfigMap in the place of one that is there."""
    read = written(context.machine, CONFIGMAP, _source(source, template, saltenv, template_context), {"data": data})
    return _Target(context, login, CONFIGMAP, name, namespace).replaced(read, timeout if wait else None)


def replace_secret(
    context: Context, name: str, data: Map | None = None, source: str = "", template: str = "", saltenv: str = "base",
    namespace: str = "default", template_context: Map | None = None, secret_type: str | None = None,
    metadata: Map | None = None, wait: bool = False, timeout: Seconds = 60.0, login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject:  # fmt: skip
    """Put another secret in the place of one that is there; its type stays where none is given."""
    read = written(context.machine, SECRET, _source(source, template, saltenv, template_context), {"data": data})
    more: dict[str, Any] = {"metadata": metadata} if metadata else {}
    if secret_type:
        more["type"] = secret_type
    return _Target(context, login, SECRET, name, namespace).replaced({**read, **more}, timeout if wait else None)
