"""Functions of Salt's runners and wheels that are not here: why, and what to do instead.

Called by the registry for the error about a function that is not there, and by `doc.runner`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

_RUNNERS = """
auth.mk_token auth.del_token: use `saltern token create` and `saltern token revoke`
batch.status batch.list_active batch.stop: a batch is a job: `saltern jobs active`, `show` and `kill`
cache.clear_git_lock: mirrors have no lock that a crash leaves behind
cache.cloud: no machines are kept in a cache; use cloud.query
cache.clear_grains: saltutil.refresh_grains on a minion renews them; `saltern key delete` drops them with it
cache.clear_pillar: a pillar is compiled whenever it may have changed
cache.clear_all: `saltern key delete` drops all that is known of a minion that is gone
cache.store cache.list cache.fetch cache.flush cache.migrate: the store has no banks; use queue or sdb
cluster.members cluster.rings cluster.routes cluster.sync_roots cluster.ring_info: see docs/several-controllers.md
cluster.ring_create cluster.ring_destroy cluster.ring_set cluster.route_set: see docs/several-controllers.md
cluster.route_clear cluster.shed_unowned cluster.shed_unowned_all: see docs/several-controllers.md
cluster.shed_status cluster.collect_from_peers cluster.migrate_jobs_to_cache: see docs/several-controllers.md
fileserver.lock: nothing has to be locked, fetches of a remote wait for each other
http.update_ca_bundle: the system's authorities are trusted; use pkg
manage.bootstrap manage.bootstrap_psexec: install minions as docs/installation.md says
manage.safe_accept: it asks by salt-ssh; compare fingerprints, and `saltern key accept FINGERPRINT`
manage.key_regen: it deletes every key; delete keys with `saltern key delete`
net.interfaces net.findarp net.findmac net.lldp net.find net.multi_find: they ask network devices through proxy minions
network.wol network.wollist network.wolmatch: use salt.execute with cmd.run and wakeonlan on a machine of that network
pillar.clear_pillar_cache pillar.show_pillar_cache: a pillar is compiled whenever it may have changed
pillar.show_top: use `saltern compile`
pki.migrate_to_mmap pki.status: keys are in the store
resource.show_grains resource.list_grains resource.refresh: there are no resources behind a minion
queue.insert_runner queue.process_runner: use queue.insert and queue.process_queue, or an orchestration
saltutil.sync_proxymodules saltutil.sync_output saltutil.sync_wheel saltutil.sync_thorium: not read from a tree
saltutil.sync_queues saltutil.sync_cache saltutil.sync_fileserver saltutil.sync_clouds: not read from a tree
saltutil.sync_roster saltutil.sync_eauth_tokens saltutil.sync_serializers: not read from a tree
saltutil.sync_executors saltutil.sync_wrapper: not read from a tree
sdb.set sdb.delete sdb.get_or_set_hash: profiles are files of the administrator, which the controller only reads
ssh.cmd: there is no salt-ssh; use salt.execute
state.graph state.graph_highstate: use state.orchestrate_show_sls
test.get_opts: it would show secrets of the configuration; use the wheel config.values
winrepo.genrepo winrepo.update_git_repos: for Windows
"""

_WHEELS = """
config.apply config.update_config: the configuration is a file of the administrator; change it and restart
file_roots.write: the trees come from git; push a commit
key.gen key.gen_accept key.gen_keys key.gen_signature: a minion makes its own key, which never leaves it
pillar_roots.write: the trees come from git; push a commit
"""


def _read(table: str) -> Iterator[tuple[str, str]]:
    for line in table.strip().splitlines():
        names, _, why = line.partition(": ")
        for name in names.split():
            yield name, why


NOT_BUILT: Mapping[Literal["runner", "wheel"], Mapping[str, str]] = {
    "runner": dict(_read(_RUNNERS)),
    "wheel": dict(_read(_WHEELS)),
}
"""Full name -> why it is not here."""
