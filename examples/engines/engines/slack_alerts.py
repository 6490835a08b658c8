"""An engine that tells a channel of Slack, by an incoming webhook, of events.

    engines:
    - slack_alerts: {url_file: /etc/saltern/slack.url, tags: ["saltern/reaction/loop", "saltern/engine/*/ended"]}

The URL is the credential, and so stands in a file that only the controller's user can read.
"""

import fnmatch
import json
import pathlib

import salt.utils.event
import salt.utils.http


def start(url_file, tags, most=500):
    """Post messages until the controller stops."""
    url = pathlib.Path(url_file).read_text(encoding="utf-8").strip()
    events = salt.utils.event.get_master_event(__opts__, __opts__["sock_dir"])
    while True:
        event = events.get_event(wait=30, full=True)
        if event and any(fnmatch.fnmatchcase(event["tag"], wanted) for wanted in tags):
            text = f"{event['tag']}: {json.dumps(event['data'], default=str)}"[:most]
            salt.utils.http.query(
                url, method="POST", data=json.dumps({"text": text}), header_dict={"Content-Type": "application/json"}
            )
