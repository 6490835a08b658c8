"""Providers, profiles and accounts for the tests of `saltern cloud`: EC2 by moto, and Libcloud's own dummy."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import httpx
import yaml
from botocore.session import Session
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

KEYS = {"id": "AKIAEXAMPLE", "key": "hidden-key", "location": "eu-central-1"}


class _Quiet(WSGIRequestHandler):
    def log(self, *ignored):
        pass


class _AsEc2:
    """moto's answers with the namespace that EC2 has, which ends with a slash: Libcloud looks for that."""

    def __init__(self, app):
        self._app = app

    def __call__(self, environ, start_response):
        heads = []
        whole = b"".join(self._app(environ, lambda status, headers, *_: heads.append((status, headers))))
        whole = whole.replace(b'/doc/2016-11-15"', b'/doc/2016-11-15/"')
        status, headers = heads[0]
        start_response(
            status,
            [(name, value) for name, value in headers if name.lower() != "content-length"]
            + [("Content-Length", str(len(whole)))],
        )
        return [whole]


@contextmanager
def ec2():
    """(provider of moto's EC2, its first image); the server has nothing but what it is asked to make."""
    app = _AsEc2(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    httpx.post(f"{url}/moto-api/reset").raise_for_status()  # its state is the process'
    client = Session().create_client(
        "ec2",
        region_name=KEYS["location"],
        endpoint_url=url,
        aws_access_key_id=KEYS["id"],
        aws_secret_access_key=KEYS["key"],
    )
    image = client.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    client.create_key_pair(KeyName="deploy")
    client.create_security_group(GroupName="web", Description="web")
    client.close()
    yield {"driver": "ec2", "endpoint": url, **KEYS}, image
    server.shutdown()
    thread.join()
    server.server_close()


def write_cloud(folder, providers, profiles, **general):
    """The configuration in a folder."""
    for name, value in (("cloud", general), ("cloud.providers", providers), ("cloud.profiles", profiles)):
        (folder / name).write_text(yaml.safe_dump(value))
