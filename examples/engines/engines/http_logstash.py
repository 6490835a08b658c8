"""An engine that posts events to an HTTP input of logstash, as Salt's of the same name does.

engines:
- http_logstash: {url: "http://logstash.example.org:8080", tags: ["salt/job/*/ret/*", "salt/minion/*/start"]}
"""

import fnmatch
import json
import logging

import salt.utils.event
import salt.utils.http

log = logging.getLogger(__name__)


def start(url, tags=("*",)):
    """Post events until the controller stops."""
    with salt.utils.event.get_master_event(__opts__, __opts__["sock_dir"], listen=True) as events:
        for event in events.iter_events(full=True):
            if any(fnmatch.fnmatchcase(event["tag"], wanted) for wanted in tags):
                post(url, event)


def post(url, event):
    """Post one event; what does not arrive is told in the log."""
    body = json.dumps({"tag": event["tag"], **event["data"]}, default=str)
    done = salt.utils.http.query(url, method="POST", data=body, header_dict={"Content-Type": "application/json"})
    if "error" in done:
        log.warning("event %s was not posted: %s", event["tag"], done["error"])
