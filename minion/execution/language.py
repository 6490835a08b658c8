"""Execution functions of the language: they read grains, pillar, options and the tree only.

Called by the loader for functions that no module of `minion.modules` has. The code is that of `highstate.functions`,
which templates call, so that both give the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_TABLE = """
config.dot_vals: Options of the minion whose name begins with this word and a dot.
cp.get_file_str: Content of a file of the tree as text; false when there is none.
cp.list_master: Paths of the tree, sorted; `prefix` chooses those below a folder.
cp.list_master_dirs: Folders of the tree, sorted.
cp.list_states: Names of all SLS of the tree.
defaults.deepcopy: A copy of a value that shares nothing with it.
defaults.get: A value of the formula's `defaults.yaml` or `defaults.json`, with pillar over it.
defaults.merge: One mapping merged into another.
defaults.update: Defaults put below each mapping of a mapping.
file.basename: The last part of a path.
file.dirname: A path without its last part.
file.join: Parts of a path put together.
file.normpath: A path without `.`, `..` and doubled slashes.
grains.equals: Whether a grain has this value.
grains.filter_by: The entry of a mapping whose key fits a grain, merged over `base` and under `merge`.
hashutil.base64_b64decode: Text out of base64.
hashutil.base64_b64encode: Text as base64 in one line.
hashutil.base64_decodestring: Text out of base64.
hashutil.base64_encodestring: Text as base64, with newlines.
hashutil.digest: Digest of a text; `checksum` names the algorithm.
hashutil.hmac_compute: HMAC-SHA256 of a text in hexadecimal digits.
hashutil.hmac_signature: Whether a signature (HMAC-SHA256, base64) fits text and secret.
hashutil.md5_digest: MD5 of a text.
hashutil.sha256_digest: SHA-256 of a text.
hashutil.sha512_digest: SHA-512 of a text.
jinja.import_json: What `import_json` of a template gives for a file.
jinja.import_yaml: What `import_yaml` of a template gives for a file.
jinja.load_map: A variable of a template, such as `mymap` of `nginx/map.jinja`.
match.compound: Whether a compound target means this minion.
match.filter_by: The first entry of a mapping whose target means this minion.
match.glob: Whether a glob fits the id of this minion.
match.grain: Whether a target such as `os:Debian` fits the grains.
match.grain_pcre: Whether a target such as `os:Deb.*` fits the grains.
match.ifelse: The value after the first target that means this minion, else the last argument.
match.ipcidr: Whether an address of this minion is in a network.
match.list: Whether a list of ids names this minion.
match.pcre: Whether a regular expression fits the id of this minion.
match.pillar: Whether a target such as `role:web` fits the pillar.
match.pillar_pcre: Whether a target such as `role:w.*` fits the pillar.
match.search_by: The keys of a mapping whose lists have a target that means this minion.
network.calc_net: The network of an address and a netmask.
network.in_subnet: Whether an address of this minion is in a network.
network.ip_in_subnet: Whether an address is in a network.
network.is_loopback: Whether an address is one of the machine itself.
network.is_private: Whether an address is one of a private network.
network.reverse_ip: The name under which DNS has an address.
pillar.fetch: A value by its path, or the default.
pillar.file_exists: Whether a file is in the tree.
pillar.filter_by: The entry of a mapping whose key fits a value of the pillar.
pillar.raw: The pillar, or a value of it.
random.hash: Digest of a text; `algorithm` is any that hashlib has.
random.seed: A number below `range`, the same for this minion each time.
slsutil.boolstr: One of two texts, for true and for false.
slsutil.deserialize: The value of a text in `json`, `yaml`, `yamlex` or `toml`.
slsutil.dir_exists: Whether a folder is in the tree.
slsutil.file_exists: Whether a file is in the tree.
slsutil.findup: The nearest file of this name in a folder of the tree or above it.
slsutil.merge: One mapping merged over another, by a strategy.
slsutil.merge_all: Several mappings merged, the later over the earlier.
slsutil.path_exists: Whether a file or folder is in the tree.
slsutil.renderer: A file of the tree or a text through a pipeline of renderers.
slsutil.serialize: A value as `json` or `yaml`.
slsutil.update: One mapping updated by another.
state.sls_exists: Whether there are files for these SLS.
"""

DOCS: Mapping[str, str] = {
    name: text for name, _, text in (line.partition(": ") for line in _TABLE.strip().splitlines())
}


def names_of(module: str) -> list[str]:
    """Names, without the module's, of the functions that the language has for a module."""
    return [name.partition(".")[2] for name in DOCS if name.startswith(f"{module}.")]


def find(fun: str) -> Callable[..., Any] | None:
    """The function, taking a `Context` first; None when the language has none."""
    if fun not in DOCS:
        return None
    from minion.execution import language_functions  # Jinja and YAML: 90 ms of a call that needs neither

    return language_functions.function_of(fun, DOCS[fun])
