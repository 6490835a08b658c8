"""cabal and ghc-pkg, with their packages in a file. Words and texts are those of cabal 3.4 and GHC 9.0.

python fake_cabal.py STATE PROGRAM ARGUMENT ...
"""

import json
import sys
from pathlib import Path

STATE, PROGRAM, *WORDS = sys.argv[1:]


def main() -> None:
    known = json.loads(Path(STATE).read_text())
    if PROGRAM == "ghc-pkg":
        unregister(known)
    elif WORDS == ["--version"]:
        sys.stdout.write("cabal-install version 3.4.1.0\ncompiled using version 3.4.1.0 of the Cabal library \n")
    elif WORDS[:2] == ["list", "--simple-output"]:
        found = known["installed"] if "--installed" in WORDS else known["repository"]
        texts = [word for word in WORDS[2:] if not word.startswith("--")]
        for name, versions in found.items():
            if all(text in name for text in texts):
                sys.stdout.write("".join(f"{name} {version}\n" for version in versions))
    elif WORDS == ["update"]:
        sys.stdout.write("Downloading the latest package list from local\n")
    else:
        assert WORDS[0] == "v1-install"
        install(known, [word for word in WORDS[1:] if word != "--global"])
    Path(STATE).write_text(json.dumps(known))


def install(known: dict[str, dict[str, list[str]]], specs: list[str]) -> None:
    for spec in specs:
        name, _, version = spec.rpartition("-") if spec[-1].isdigit() else (spec, "", "")
        versions = known["repository"].get(name, [])
        if not versions or (version and version not in versions):
            sys.exit(
                f"cabal: There is no package named '{spec}'.\nYou may need to run 'cabal update' to get the latest."
            )
        known["installed"].setdefault(name, []).append(version or versions[-1])


def unregister(known: dict[str, dict[str, list[str]]]) -> None:
    verb, spec = WORDS
    assert verb == "unregister"
    if spec not in known["installed"]:
        sys.exit(f"ghc-pkg: cannot find package {spec}")
    del known["installed"][spec]


if __name__ == "__main__":
    main()
