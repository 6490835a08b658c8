"""Where an API server is and how one is let in: arguments, then the environment, then the configuration.

Behaviour: https://salt-extensions.github.io/saltext-kubernetes/topics/auth.html. Besides, a kubeconfig without
`context` has its own current one.
"""

from __future__ import annotations

import base64
import binascii
import os
import posixpath
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from minion.arguments.types import AnyValue, Ignored, Map, Unsupported
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.kubernetes.kubeconfig import ClusterAccess, access_by_exec, of_kubeconfig, pem_of

_IN_POD = "/var/run/secrets/kubernetes.io/serviceaccount"
_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "kubeconfig": ("KUBE_CONFIG_PATH", "KUBECONFIG", "K8S_AUTH_KUBECONFIG"),
    "context": ("KUBE_CTX", "K8S_AUTH_CONTEXT"),
    "host": ("K8S_AUTH_HOST",),
    "api_key": ("K8S_AUTH_API_KEY",),
    "api_key_prefix": ("K8S_AUTH_API_KEY_PREFIX",),
    "username": ("K8S_AUTH_USERNAME",),
    "password": ("K8S_AUTH_PASSWORD",),
    "client_cert": ("K8S_AUTH_CERT_FILE",),
    "client_key": ("K8S_AUTH_KEY_FILE",),
    "ca_cert": ("K8S_AUTH_SSL_CA_CERT",),
    "verify_ssl": ("K8S_AUTH_VERIFY_SSL",),
    "proxy": ("K8S_AUTH_PROXY",),
    "no_proxy": ("K8S_AUTH_NO_PROXY",),
    "in_cluster": ("K8S_AUTH_IN_CLUSTER",),
}
"""Option without `kubernetes.` → variables of the environment, the first that is set counting."""
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_PERSISTS = Ignored("a kubeconfig is read and never written")


class ClusterLogin(NamedTuple):
    """How states and functions reach a cluster: arguments that all of them have."""

    kubeconfig: str | None = None
    kubeconfig_data: str | None = None
    context: str | None = None
    cluster: str | None = None
    host: str | None = None
    api_key: str | None = None
    api_key_prefix: str | None = None
    username: str | None = None
    password: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    ca_cert: str | None = None
    verify_ssl: AnyValue = None
    proxy: str | None = None
    no_proxy: str | None = None
    in_cluster: AnyValue = None
    exec: Map | None = None
    persist_config: Annotated[AnyValue, _PERSISTS] = None
    proxy_headers: Annotated[AnyValue, Unsupported("name a user and password in the URL of the proxy")] = None


class _Options:
    """The options `kubernetes.*`, those of an alias of `kubernetes.clusters` before the others."""

    def __init__(self, machine: Reader, login: ClusterLogin) -> None:
        self._machine = machine
        self._given = login._asdict()
        self._alias: Mapping[str, Any] = {}
        if login.cluster and login.cluster != "default":
            known = clusters_of(machine)
            if login.cluster not in known:
                names = ", ".join(sorted(known)) or "none"
                raise StateFailed(f"There is no cluster {login.cluster!r} in kubernetes.clusters; there are: {names}")
            self._alias = known[login.cluster] or {}

    def given(self, option: str) -> Any:
        """The argument."""
        return self._given[option.replace("-", "_")]

    def value(self, option: str) -> Any:
        """The argument, else the environment's, else the configuration's; None where there is none."""
        given = self.given(option)
        if given is not None:
            return given
        for variable in _VARIABLES.get(option, ()):
            if found := os.environ.get(variable):
                return found
        for key in (f"kubernetes.{option}", option):
            if key in self._alias:
                return self._alias[key]
        return configured(self._machine, f"kubernetes.{option}", None) or None

    def text(self, option: str) -> str:
        """The same as text; empty where there is none."""
        found = self.value(option)
        return "" if found is None else str(found)

    def flag(self, option: str) -> bool | None:
        """The same as a boolean; None where it is none."""
        word = self.text(option).strip().lower()
        return True if word in _YES else False if word in _NO else None


def clusters_of(machine: Reader) -> Mapping[str, Any]:
    """The aliases of clusters, with the options of each."""
    found = configured(machine, "kubernetes.clusters", None) or {}
    if not isinstance(found, Mapping):
        raise StateFailed("kubernetes.clusters must be a mapping of names to options")
    return found


def access_of(machine: Reader, login: ClusterLogin) -> ClusterAccess:
    """Where the server is and how one is let in.

    Arguments that name a cluster come before the environment and the configuration.

    Raises:
        StateFailed: nothing names a server, or what names it cannot be used.
    """
    options = _Options(machine, login)
    found = _found(machine, options, given=True) or _found(machine, options, given=False)
    if found is None:
        raise StateFailed(
            "No cluster is configured: give kubernetes.kubeconfig, kubernetes.kubeconfig-data, or kubernetes.host with "
            "credentials; in a pod its own account is used"
        )
    verify = options.flag("verify_ssl")
    return found.changed(
        proxy=options.text("proxy") or found.proxy,
        no_proxy=options.text("no_proxy"),
        verify=found.verify if verify is None else verify,
    )


def _found(machine: Reader, options: _Options, *, given: bool) -> ClusterAccess | None:
    """By the first way that is open: by arguments alone, or by all that is known."""
    value = options.given if given else options.value
    context = options.text("context")
    if paths := value("kubeconfig"):
        return of_kubeconfig(machine, [(_read(machine, path), path) for path in _paths(str(paths))], context)
    if data := value("kubeconfig-data"):
        return of_kubeconfig(machine, [(_decoded(str(data)), "kubeconfig-data")], context)
    if host := value("host"):
        return _explicit(machine, str(host), options)
    wanted = options.flag("in_cluster")
    if given:
        return _in_pod(machine) if value("in_cluster") is not None and wanted else None
    inside = "KUBERNETES_SERVICE_HOST" in os.environ and "KUBERNETES_SERVICE_PORT" in os.environ
    return _in_pod(machine) if wanted or (wanted is None and inside) else None


def _paths(text: str) -> list[str]:
    return [path for path in text.split(":") if path]


def _read(machine: Reader, path: str) -> bytes:
    try:
        return machine.read(path)
    except OSError as error:
        raise StateFailed(f"The kubeconfig {path} cannot be read: {error.strerror}") from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error:
        raise StateFailed("kubernetes.kubeconfig-data is not in base64") from None


def _explicit(machine: Reader, host: str, options: _Options) -> ClusterAccess:
    """A server that the options name, by the first kind of credentials that they have."""
    server = host if "://" in host else f"https://{host}"
    ca = options.text("ca_cert")
    access = ClusterAccess(server=server, authority=pem_of(machine, ca) if ca else "")
    if key := options.text("api_key"):
        prefix = options.text("api_key_prefix") or "Bearer"
        return access.changed(authorization=f"{prefix} {key}")
    if user := options.text("username"):
        pair = base64.b64encode(f"{user}:{options.text('password')}".encode()).decode()
        return access.changed(authorization=f"Basic {pair}")
    if cert := options.text("client_cert"):
        key_path = options.text("client_key")
        return access.changed(identity=pem_of(machine, cert) + (pem_of(machine, key_path) if key_path else ""))
    if plugin := options.value("exec"):
        variables = [{"name": key, "value": str(one)} for key, one in (plugin.get("env") or {}).items()]
        version = plugin.get("api_version") or "client.authentication.k8s.io/v1beta1"
        return access_by_exec(machine, access, {**plugin, "apiVersion": version, "env": variables})
    return access


def _in_pod(machine: Reader) -> ClusterAccess:
    """The account of the pod that the minion runs in."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise StateFailed("kubernetes.in_cluster: this minion does not run in a pod (no KUBERNETES_SERVICE_HOST)")
    token = _read(machine, posixpath.join(_IN_POD, "token")).decode().strip()
    return ClusterAccess(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        authority=pem_of(machine, posixpath.join(_IN_POD, "ca.crt")),
        authorization=f"Bearer {token}",
    )
