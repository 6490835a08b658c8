"""A Kubernetes API server that keeps objects in memory and checks what it is sent, over HTTPS with tokens.

Paths, verbs, media types, names, fields and their types (against the published API), immutable fields,
`resourceVersion`, `dryRun`, `fieldValidation`, `fieldManager`, conflicts of server-side apply. Nothing runs in it: what
controllers would do is done by `make_ready`, or by the server itself for deployments where `runs` is set.
"""

import base64
import copy
import datetime
import json
import ssl
import sys
import tempfile
import threading
import uuid
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import trustme
import yaml
from kubernetes_merges import applied, fields_v1, leaves, lookup, merge_patch, strategic
from kubernetes_protobuf import MEDIA, decoded
from kubernetes_rules import SERVED, Refused, Served, check, defaulted, invalid

TOKENS = {"admin-token": "admin", "viewer-token": "viewer"}
_KNOWN_QUERY = {
    "dryRun", "fieldManager", "fieldValidation", "force", "labelSelector", "limit", "fieldSelector", "timeout",
    "resourceVersion", "watch",
}  # fmt: skip
_JSON = "application/json"


class KubernetesApi:
    """The server; `requests` has what it was asked: method, path, whether nothing was to come of it."""

    def __init__(self) -> None:
        pytest.importorskip("lightkube.models", reason="there is no schema of Kubernetes: pip install lightkube-models")
        self.objects: dict[tuple[str, str, str, str], dict[str, Any]] = {}
        """API version, plural, namespace and name -> object."""
        self.owners: dict[tuple[str, str, str, str], dict[tuple[str, str], set[Any]]] = {}
        """Of the same: manager and operation -> fields."""
        self.requests: list[tuple[str, str, bool]] = []
        self.served = list(SERVED)
        self.runs = True
        """Whether deployments have their replicas at once."""
        self.lingers = False
        """Whether what is deleted is still there, about to go."""
        self.lock = threading.RLock()
        self._version = 0
        self.folder = Path(tempfile.mkdtemp(prefix="saltern-kubernetes-"))
        self.authority = trustme.CA()
        self.authority.cert_pem.write_to_path(self.folder / "ca.crt")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert("127.0.0.1").configure_cert(context)
        self.authority.configure_trust(context)
        context.verify_mode = ssl.CERT_OPTIONAL
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.api = self  # type: ignore[attr-defined]
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.clean()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def clean(self) -> None:
        """As at its start."""
        self.objects.clear()
        self.owners.clear()
        self.served = list(SERVED)
        self.runs, self.lingers = True, False
        for name in ("default", "kube-system"):
            self.put("v1", "namespaces", {"metadata": {"name": name}})
        for name in ("node-1", "node-2"):
            self.put("v1", "nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        self.requests.clear()

    def kubeconfig(self, *, token: str = "admin-token", client: str = "", server: str = "") -> Path:
        """A file that names it, with a token, or with the certificate of a client."""
        user: dict[str, Any] = {"token": token}
        if client:
            made = self.authority.issue_cert(f"{client}@example.com", common_name=client)
            parts = {"client-certificate-data": made.cert_chain_pems[0], "client-key-data": made.private_key_pem}
            user = {key: base64.b64encode(part.bytes()).decode() for key, part in parts.items()}
        path = self.folder / f"config-{uuid.uuid4().hex[:8]}"
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "c", "cluster": {"server": server or self.url, "certificate-authority": "ca.crt"}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
        }))  # fmt: skip
        return path

    def put(self, version: str, plural: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make an object behind the back of its clients."""
        one = next(each for each in self.served if (each.version, each.plural) == (version, plural))
        return self.create(one, (given.get("metadata") or {}).get("namespace", ""), given, "test", dry=False)

    def get(self, plural: str, name: str, namespace: str = "default") -> dict[str, Any] | None:
        """An object; None where there is none."""
        one = next(each for each in self.served if each.plural == plural)
        return self.objects.get((one.version, plural, namespace if one.namespaced else "", name))

    def changed(self) -> list[tuple[str, str]]:
        """Requests of which something was to come."""
        return [(method, path) for method, path, dry in self.requests if method != "GET" and not dry]

    def make_ready(self, plural: str, name: str, status: Mapping[str, Any]) -> None:
        """What a controller would report."""
        found = self.get(plural, name)
        assert found is not None
        found["status"] = {**(found.get("status") or {}), **status}

    # What comes of requests.

    def create(self, one: Served, namespace: str, given: Mapping[str, Any], manager: str, *, dry: bool) -> Any:
        self._check_namespace(one, namespace, given)
        made = defaulted(one, given)
        metadata = made["metadata"]
        if one.namespaced:
            metadata["namespace"] = namespace
        check(one, made, None)
        key = (one.version, one.plural, namespace, metadata["name"])
        if key in self.objects:
            raise Refused(409, "AlreadyExists", f'{one.resource} "{metadata["name"]}" already exists')
        metadata["uid"], metadata["generation"] = str(uuid.uuid4()), 1
        metadata["creationTimestamp"] = _now()
        owned = {path for path, _ in leaves(given)}
        return self._kept(one, key, made, {(manager, "Update"): owned}, dry=dry)

    def _check_namespace(self, one: Served, namespace: str, given: Mapping[str, Any]) -> None:
        if not one.namespaced:
            return
        inside = (given.get("metadata") or {}).get("namespace")
        if inside and inside != namespace:
            raise Refused(
                400, "BadRequest", "the namespace of the provided object does not match that of the request"
            )  # fmt: skip
        there = self.objects.get(("v1", "namespaces", "", namespace))
        if there is None:
            raise Refused(404, "NotFound", f'namespaces "{namespace}" not found')
        if there["metadata"].get("deletionTimestamp"):
            raise Refused(403, "Forbidden", f"unable to create new content in namespace {namespace}: being terminated")

    def change(self, one: Served, key: Any, new: Mapping[str, Any], manager: str, *, dry: bool) -> Any:
        """Replace or patch an object."""
        old = self.objects[key]
        made = defaulted(one, new)
        for field in ("uid", "creationTimestamp", "name", "namespace", "managedFields"):
            if field in old["metadata"]:
                made["metadata"][field] = old["metadata"][field]
        wanted = (new.get("metadata") or {}).get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            raise Refused(
                409, "Conflict", f'Operation cannot be fulfilled on {one.resource} "{key[3]}": it has been modified'
            )  # fmt: skip
        check(one, made, old)
        before, after = dict(leaves(old)), dict(leaves(made))
        touched = {path for path, value in after.items() if before.get(path, ...) != value}
        owners = {who: set(paths) for who, paths in self.owners[key].items()}
        for who in owners:
            owners[who] -= touched | (before.keys() - after.keys())
        owners.setdefault((manager, "Update"), set()).update(touched)
        return self._kept(one, key, made, owners, dry=dry)

    def apply(self, one: Served, key: Any, config: Mapping[str, Any], manager: str, *, force: bool, dry: bool) -> Any:
        """Server-side apply."""
        if not manager:
            raise Refused(400, "BadRequest", "PatchOptions.meta.k8s.io is invalid: fieldManager: Required value")
        self._check_namespace(one, key[2], config)
        old = self.objects.get(key)
        live: dict[str, Any] = old or {
            "metadata": {"name": key[3], **({"namespace": key[2]} if one.namespaced else {})}
        }
        owners = {who: set(paths) for who, paths in self.owners.get(key, {}).items()}
        wanted = dict(leaves(config))
        conflicts = []
        for (other, operation), paths in owners.items():
            if (other, operation) == (manager, "Apply"):
                continue
            for path in paths & wanted.keys():
                if _value(live, path) != wanted[path]:
                    conflicts.append((other, path))
                    if force:
                        owners[other, operation].discard(path)
        if conflicts and not force:
            named = ", ".join(f'conflict with "{who}": {_shown(path)}' for who, path in sorted(conflicts))
            raise Refused(409, "Conflict", f"Apply failed with {len(conflicts)} conflict(s): {named}")
        others = {path for who, paths in owners.items() if who != (manager, "Apply") for path in paths}
        gone = owners.get((manager, "Apply"), set()) - wanted.keys() - others
        made = defaulted(one, applied(live, config, gone))
        check(one, made, old)
        owners[manager, "Apply"] = set(wanted)
        if old is None:
            made["metadata"] |= {"uid": str(uuid.uuid4()), "generation": 1, "creationTimestamp": _now()}
        return self._kept(one, key, made, owners, dry=dry)

    def _kept(self, one: Served, key: Any, made: dict[str, Any], owners: dict[Any, set[Any]], *, dry: bool) -> Any:
        """The object with what the server notes of it; where something is to come of it, it is the object from now."""
        old = self.objects.get(key)
        owners = {who: paths for who, paths in owners.items() if paths}
        same = old is not None and _content(old) == _content(made) and owners == self.owners[key]
        if same:
            return copy.deepcopy(old)
        metadata = made["metadata"]
        if old is not None and old.get("spec") != made.get("spec"):
            metadata["generation"] = old["metadata"].get("generation", 1) + 1
        metadata["managedFields"] = [
            {"manager": who, "operation": operation, "apiVersion": one.version, "time": _now(),
             "fieldsType": "FieldsV1", "fieldsV1": fields_v1(paths)}
            for (who, operation), paths in owners.items()
        ]  # fmt: skip
        if one.kind == "Deployment" and self.runs:
            made["status"] = {"replicas": made["spec"]["replicas"], "availableReplicas": made["spec"]["replicas"]}
        if not dry:
            self._version += 1
            metadata["resourceVersion"] = str(self._version)
            if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
                self.objects.pop(key, None)
                return made
            self.objects[key], self.owners[key] = made, owners
            if one.kind == "CustomResourceDefinition":
                self._serve(made["spec"])
        return copy.deepcopy(made)

    def _serve(self, spec: Mapping[str, Any]) -> None:
        for version in spec["versions"]:
            names = spec["names"]
            new = Served(
                f"{spec['group']}/{version['name']}", names["kind"], names["plural"], spec["scope"] == "Namespaced", ""
            )
            if new not in self.served:
                self.served.append(new)

    def delete(self, one: Served, key: Any, options: Mapping[str, Any], *, dry: bool) -> Any:
        """Delete an object; of a namespace all that is in it."""
        found = self.objects[key]
        if options.get("propagationPolicy") not in (None, "Orphan", "Background", "Foreground"):
            raise invalid("DeleteOptions", "", "propagationPolicy", "Unsupported value")
        uid = (options.get("preconditions") or {}).get("uid", found["metadata"]["uid"])
        if uid != found["metadata"]["uid"]:
            raise Refused(409, "Conflict", f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
                          f"{found['metadata']['uid']}")  # fmt: skip
        if dry:
            return found
        if self.lingers or found["metadata"].get("finalizers"):
            found["metadata"]["deletionTimestamp"] = _now()
            if one.kind == "Namespace":
                found["status"] = {"phase": "Terminating"}
            return found
        if one.kind == "Namespace":
            for other in [each for each in self.objects if each[2] == key[3]]:
                del self.objects[other]
        del self.objects[key]
        if one.kind in ("Pod", "Service"):
            return found
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _content(found: Mapping[str, Any]) -> Any:
    kept = {key: value for key, value in found.items() if key != "status"}
    kept["metadata"] = {
        key: value
        for key, value in found["metadata"].items()
        if key not in ("managedFields", "resourceVersion", "generation")
    }
    return kept


def _value(found: Any, path: Any) -> Any:
    try:
        return lookup(found, path)
    except (KeyError, TypeError):
        return ...


def _shown(path: Any) -> str:
    return "".join(f".{step}" if kind == "f" else f"[{step}]" for kind, step in path)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def _answer(self) -> None:
        api: KubernetesApi = self.server.api  # type: ignore[attr-defined]
        parts = urlsplit(self.path)
        query = {key: values[-1] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            with api.lock:
                user = self._user()
                api.requests.append((self.command, parts.path, query.get("dryRun") == "All"))
                if user == "viewer" and self.command != "GET":
                    raise Refused(403, "Forbidden", f'User "viewer" cannot {self.command.lower()} {parts.path}')
                code, found = 201 if self.command == "POST" else 200, answer(api, self, parts.path, query, body)
        except Refused as error:
            code = error.code
            found = {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": error.message,
                "reason": error.reason, "code": code,
            }  # fmt: skip
        data = json.dumps(found).encode()
        self.send_response(code)
        self.send_header("Content-Type", _JSON)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  (names of http.server)

    def _user(self) -> str:
        subject = (self.connection.getpeercert() or {}).get("subject") or ()  # type: ignore[attr-defined]
        names = [value for one in subject for key, value in one if key == "commonName"]
        if names:
            return str(names[0])
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or token not in TOKENS:
            raise Refused(401, "Unauthorized", "Unauthorized")
        return TOKENS[token]


def answer(api: KubernetesApi, request: _Handler, path: str, query: Mapping[str, str], body: bytes) -> Any:
    """What a request gives."""
    if unknown := query.keys() - _KNOWN_QUERY:
        raise Refused(400, "BadRequest", f"unknown query: {sorted(unknown)}")
    if query.get("dryRun", "All") != "All":
        raise Refused(422, "Invalid", f'dryRun: Unsupported value: "{query["dryRun"]}"')
    steps = [unquote(step) for step in path.strip("/").split("/")]
    if (found := _discovery(api, steps)) is not None:
        return found
    version, rest = (steps[1], steps[2:]) if steps[0] == "api" else ("/".join(steps[1:3]), steps[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    one = next((each for each in api.served if (each.version, each.plural) == (version, rest[0] if rest else "")), None)
    if one is None or len(rest) > 2 or (namespace and not one.namespaced):
        raise Refused(404, "NotFound", "the server could not find the requested resource")
    if request.command == "GET" and len(rest) == 1:
        return _listed(api, one, namespace, query)
    if one.namespaced and not namespace:
        raise Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    return _of_object(api, request, one, namespace, rest, query, body)


def _of_object(
    api: KubernetesApi, request: _Handler, one: Served, namespace: str, rest: list[str], query: Mapping[str, str],
    body: bytes,
) -> Any:  # fmt: skip
    dry, manager = query.get("dryRun") == "All", query.get("fieldManager", "")
    media = request.headers.get("Content-Type", "").partition(";")[0] or _JSON  # the official Python client says none
    if media == MEDIA:
        sent, media = decoded(body), _JSON
    else:
        sent = _sent(body) if body else {}
    named = manager or request.headers.get("User-Agent", "unknown").partition("/")[0]
    if request.command == "POST" and len(rest) == 1:
        _of_media(media, _JSON)
        _validated(one, sent, query)
        return api.create(one, namespace, sent, named, dry=dry)
    if len(rest) == 1:
        raise Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    key = (one.version, one.plural, namespace, rest[1])
    if request.command == "PATCH" and media == "application/apply-patch+yaml":
        _of_path(one, namespace, rest[1], sent)
        _validated(one, sent, query, whole=False)
        return api.apply(one, key, sent, manager, force=query.get("force") == "true", dry=dry)
    if key not in api.objects:
        raise Refused(404, "NotFound", f'{one.resource} "{rest[1]}" not found')
    if request.command == "GET":
        return api.objects[key]
    if request.command == "DELETE":
        return api.delete(one, key, sent, dry=dry)
    if request.command == "PUT":
        _of_media(media, _JSON)
        _of_path(one, namespace, rest[1], sent)
        _validated(one, sent, query)
        return api.change(one, key, sent, named, dry=dry)
    patches = {"application/strategic-merge-patch+json": strategic, "application/merge-patch+json": merge_patch}
    _of_media(media, *patches)
    if media == "application/strategic-merge-patch+json" and not one.model:
        raise Refused(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
    new = patches[media](copy.deepcopy(api.objects[key]), sent)
    for field in ("name", "namespace"):
        if new["metadata"].get(field) != api.objects[key]["metadata"].get(field):
            raise Refused(400, "BadRequest", f"the {field} of the object does not match the {field} on the URL")
    _validated(one, new, query)
    return api.change(one, key, new, named, dry=dry)


def _sent(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        raise Refused(400, "BadRequest", "the object provided is unrecognized") from None
    if not isinstance(found, dict):
        raise Refused(400, "BadRequest", "the object provided is no object")
    return found


def _of_media(media: str, *known: str) -> None:
    if media not in known:
        raise Refused(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {media}")


def _of_path(one: Served, namespace: str, name: str, sent: Mapping[str, Any]) -> None:
    if (sent.get("apiVersion"), sent.get("kind")) != (one.version, one.kind):
        raise Refused(400, "BadRequest", "the API version in the data does not match the expected API version")
    if (sent.get("metadata") or {}).get("name") != name:
        raise Refused(400, "BadRequest", "the name of the object does not match the name on the URL")
    if one.namespaced and (sent["metadata"].get("namespace") or namespace) != namespace:
        raise Refused(400, "BadRequest", "the namespace of the object does not match the namespace on the URL")


def _validated(one: Served, sent: Mapping[str, Any], query: Mapping[str, str], *, whole: bool = True) -> None:
    """Against the published API; of a part fields may lack."""
    if whole and (sent.get("apiVersion", one.version), sent.get("kind", one.kind)) != (one.version, one.kind):
        raise Refused(400, "BadRequest", f"{sent.get('kind')} in version {sent.get('apiVersion')} is not {one.kind}")
    if not isinstance(sent.get("metadata"), dict):
        raise invalid(one.kind, "", "metadata.name", "Required value: name or generateName is required")
    if not one.model:
        return
    from kubernetes_schema import faults, model

    name = str(sent["metadata"].get("name"))
    for fault in faults(sent, model(one.model, one.kind)):
        if fault.kind == "unknown":
            if query.get("fieldValidation") == "Strict":
                raise Refused(400, "BadRequest", f'{one.kind} in version "{one.version}" cannot be handled as a '
                              f"{one.kind}: strict decoding error: {fault.why}")  # fmt: skip
        elif fault.kind == "type":
            raise Refused(400, "BadRequest", f'{one.kind} in version "{one.version}" cannot be handled as a '
                          f"{one.kind}: json: {fault}")  # fmt: skip
        elif whole:
            raise invalid(one.kind, name, fault.path, fault.why)


def _listed(api: KubernetesApi, one: Served, namespace: str, query: Mapping[str, str]) -> Any:
    labels = dict(part.split("=", 1) for part in query.get("labelSelector", "").split(",") if part)
    items = [
        found
        for key, found in sorted(api.objects.items())
        if key[:2] == (one.version, one.plural)
        and (not namespace or key[2] == namespace)
        and labels.items() <= (found["metadata"].get("labels") or {}).items()
    ]
    bare = [{key: value for key, value in found.items() if key not in ("apiVersion", "kind")} for found in items]
    return {"kind": f"{one.kind}List", "apiVersion": one.version, "metadata": {}, "items": bare}


def _discovery(api: KubernetesApi, steps: list[str]) -> Any:
    groups: dict[str, list[str]] = {}
    for version in dict.fromkeys(each.version for each in api.served if "/" in each.version):
        groups.setdefault(version.partition("/")[0], []).append(version)
    if steps == ["version"]:
        return {"major": "1", "minor": "37", "gitVersion": "v1.37.0", "platform": "linux/amd64"}
    if steps == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"]}
    if steps == ["apis"]:
        listed = [
            {"name": group, "versions": [{"groupVersion": one, "version": one.partition("/")[2]} for one in versions],
             "preferredVersion": {"groupVersion": versions[0], "version": versions[0].partition("/")[2]}}
            for group, versions in groups.items()
        ]  # fmt: skip
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
    if (steps[0], len(steps)) not in (("api", 2), ("apis", 3)):
        return None
    version = "/".join(steps[1:])
    resources = [
        {"name": one.plural, "singularName": one.kind.lower(), "namespaced": one.namespaced, "kind": one.kind,
         "verbs": ["create", "delete", "get", "list", "patch", "update"]}
        for one in api.served if one.version == version
    ]  # fmt: skip
    if not resources:
        raise Refused(404, "NotFound", "the server could not find the requested resource")
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}


def serve(place: Path, objects: str) -> None:
    """Have a kubeconfig at this place, and serve until killed. `objects`: JSON of plural names and what there is."""
    api = KubernetesApi()
    for plural, given in json.loads(objects):
        api.put(next(one.version for one in SERVED if one.plural == plural), plural, given)
    (place.parent / "ca.crt").write_bytes((api.folder / "ca.crt").read_bytes())
    place.write_bytes(api.kubeconfig().read_bytes())
    threading.Event().wait()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2])
