from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gitfs.config.settings import IgnoredFiles, PerSaltenv, RemoteSettings
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.listing import Layer
from gitfs.tree.overlays import Overlays
from gitfs.tree.saltenvs import Refs, SaltenvSource

NAMES = ("main", "dev", "stage", "v1")
COMMITS = tuple(digit * 40 for digit in "abc")

refs = st.builds(
    Refs,
    heads=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(COMMITS)),
    tags=st.dictionaries(st.sampled_from(("v1", "v2", "dev")), st.sampled_from(COMMITS)),
)
moments = st.lists(st.tuples(refs, refs, st.booleans()), min_size=1, max_size=6)
REMOTES = (
    RemoteSettings(name="one", url="/one", mountpoint="m", fallback="dev", saltenv_blacklist=("stage",)),
    RemoteSettings(name="two", url="/two", saltenvs=(PerSaltenv(saltenv="dev", ref="v1", root="inner"),)),
)


def layers_of(remote: RemoteSettings, place: SaltenvSource) -> Sequence[Layer]:
    tree = f"{place.commit}/{place.root}"
    return [GitLayer(mirror="/m", remote=remote.name, commit=place.commit, tree=tree, mountpoint=place.mountpoint)]


@settings(deadline=None)
@given(moments, st.booleans())
def test_what_moved_gives_what_a_whole_look_gives(looks, git_first):
    with tempfile.TemporaryDirectory() as folder:
        roots = {"base": [Path(folder)], "local": [Path(folder)]}

        def fresh() -> Overlays:
            return Overlays(REMOTES, roots, git_first=git_first, ignored=IgnoredFiles(), layers_of=layers_of)

        kept = fresh()
        for number, (one, two, touched) in enumerate(looks):
            if touched:
                Path(folder, "file").write_text(str(number))
            now, whole = kept.live((one, two)), fresh().live((one, two))
            assert now == whole
            assert now.snapshot.digest == whole.snapshot.digest
            assert now.snapshot.saltenvs() == whole.snapshot.saltenvs()
