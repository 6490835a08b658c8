"""`saltern cloud`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, USAGE, Failure

if TYPE_CHECKING:
    from types import FrameType

    from controller.cloud.configuration import CloudConfiguration, MachineProfile
    from controller.cloud.making import Making
    from controller.config.settings import ControllerSettings

_ACTIONS = ("reboot", "start", "stop", "show_instance")
_AT_ONCE = 10
_FILE = click.Path(path_type=Path)


def _profiles(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """What shells offer for --profile."""
    from controller.cloud.configuration import load_cloud
    from controller.cloud.errors import CloudFailed

    try:
        names = load_cloud(context.params.get("config_dir") or options.DEFAULT_CONFIG_DIR).profiles
    except CloudFailed:
        return []
    return [name for name in names if name.startswith(incomplete)]


@click.command("cloud")
@click.argument("names", nargs=-1)
@click.option("-p", "--profile", metavar="PROFILE", help="Make machines of these NAMES.", shell_complete=_profiles)
@click.option("--provider", metavar="PROVIDER", help="Make machines of a provider, without a profile.")
@click.option("--overrides", type=click.File("rb"), help="YAML that counts before the profile; `-`: standard input.")
@click.option("-m", "--map", "map_file", type=_FILE, help="Make what a map names and is not there.")
@click.option("-d", "--destroy", is_flag=True, help="Destroy the machines, and forget their keys.")
@click.option("-a", "--action", type=click.Choice(_ACTIONS), help="Do this to the machines.")
@click.option("-Q", "--query", "query", flag_value="query", help="List the machines of all accounts.")
@click.option("-F", "--full-query", "query", flag_value="full", help="With all that the clouds say of them.")
@click.option("-S", "--select-query", "query", flag_value="select", help="With what `query.selection` names.")
@click.option("--list-providers", is_flag=True, help="List the providers, with their profiles.")
@click.option("--list-profiles", metavar="PROVIDER", help="List the profiles of a provider, or of all.")
@click.option("--list-images", metavar="PROVIDER", help="List the images of a provider, or of all.")
@click.option("--list-sizes", metavar="PROVIDER", help="List the sizes.")
@click.option("--list-locations", metavar="PROVIDER", help="List the locations.")
@click.option("-P", "--parallel", is_flag=True, help="Make machines at the same time.")
@click.option("-H", "--hard", is_flag=True, help="Destroy what the map does not name; needs `enable_hard_maps`.")
@click.option("--no-deploy", is_flag=True, help="Make no minions of the machines.")
@click.option("--for-minion", is_flag=True, hidden=True)
@click.option("-y", "--assume-yes", is_flag=True, help="Do not ask.")
@options.out
@options.config_dir
def cloud_command(names: tuple[str, ...], out: str, config_dir: Path, **given: Any) -> int:
    """Make, list and destroy machines of clouds, by Salt's files of providers, profiles and maps.

    A new machine becomes a minion over ssh, with a key that is accepted beforehand: docs/cloud.md.
    """
    from controller.cloud.configuration import load_cloud
    from controller.cloud.errors import CloudFailed

    try:
        verb = _Verb(config_dir, load_cloud(config_dir), given, out)
        return verb.answer(names)
    except CloudFailed as error:
        raise Failure(str(error)) from error


@contextmanager
def _interrupted(stopped: threading.Event) -> Iterator[None]:
    """Have Ctrl-C, and SIGTERM of the runner, tell those who make machines; they are waited for after that."""

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except BaseException:
        stopped.set()
        output.remark("interrupted: what is being made is left as it is")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass
class _Verb:
    """One call."""

    config_dir: Path
    configuration: CloudConfiguration
    given: Mapping[str, Any]
    out: str

    def answer(self, names: tuple[str, ...]) -> int:
        """Do what is asked; the exit code."""
        given = self.given
        asked = [name for name in ("profile", "provider", "map_file", "destroy", "action") if given[name]]
        if len(asked) > 1 and set(asked) != {"map_file", "destroy"}:
            raise click.UsageError(f"{' and '.join(asked)} do not go together")
        listed = self._listed()
        if listed is not None:
            return self._show(listed)
        if given["destroy"]:
            return self._destroy(names)
        if given["action"]:
            return self._act(names)
        if given["map_file"]:
            return self._map()
        if (given["profile"] or given["provider"]) and names:
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise click.UsageError(f"{twice[0]} is named twice")
            profile = self._deploying(self._profile())
            return self._show(self._create([[(name, profile) for name in names]]))
        if given["profile"] or given["provider"]:
            raise click.UsageError("the names of the machines are missing: saltern cloud -p PROFILE NAME ...")
        raise click.UsageError("say what to do: -p PROFILE NAME, -m MAP, -d NAME, -Q, or a list")

    def _profile(self) -> MachineProfile:
        from controller.cloud.configuration import overrides_of

        given = self.given
        of = self.configuration.profile if given["profile"] else self.configuration.of_provider
        profile = of(given["profile"] or given["provider"])
        return profile.with_given(overrides_of(given["overrides"].read())) if given["overrides"] else profile

    def _listed(self) -> dict[str, Any] | None:
        """What the lists and queries say; None: there is none."""
        from controller.cloud import queries

        given, configuration = self.given, self.configuration
        if given["list_providers"]:
            return queries.list_providers(configuration)
        if given["list_profiles"]:
            return queries.list_profiles(configuration, given["list_profiles"])
        for what in ("images", "sizes", "locations"):
            if given[f"list_{what}"]:
                return queries.list_offers(configuration, what, given[f"list_{what}"])
        if not given["query"]:
            return None
        return queries.list_machines(configuration, given["query"], self._names_of_map())

    def _names_of_map(self) -> frozenset[str] | None:
        from controller.cloud.maps import read_map

        return frozenset(read_map(self.given["map_file"], self.configuration)) if self.given["map_file"] else None

    def _destroy(self, names: tuple[str, ...]) -> int:
        from controller.cloud.queries import find_machines, found_none

        of_map = self._names_of_map()
        if (of_map is None) == (not names):
            raise click.UsageError("-d takes the names of machines, or -m with a map")
        wanted = frozenset(names) if of_map is None else of_map
        found = find_machines(self.configuration, wanted)
        if not found:
            raise found_none(wanted)
        self._confirm("destroyed", [each.machine.name for each in found])
        shown: dict[str, Any] = {}
        with Client(self.config_dir) as client:
            making = self._making(client)
            for each in found:
                making.destroy(each.provider, each.account, each.machine)
                of_provider = shown.setdefault(each.provider.alias, {}).setdefault(each.provider.driver, {})
                of_provider[each.machine.name] = True
        return self._show(shown)

    def _act(self, names: tuple[str, ...]) -> int:
        from controller.cloud.queries import find_machines, found_none

        if not names:
            raise click.UsageError("-a takes the names of machines")
        found, action = find_machines(self.configuration, names), self.given["action"]
        if not found:
            raise found_none(names)
        if action != "show_instance":
            self._confirm(f"asked to {action}", [each.machine.name for each in found])
        shown: dict[str, Any] = {}
        for each in found:
            looks = action == "show_instance"
            said = each.machine.shown(full=True) if looks else each.account.act(each.machine, action)
            shown.setdefault(each.provider.alias, {}).setdefault(each.provider.driver, {})[each.machine.name] = said
        return self._show(shown)

    def _map(self) -> int:
        from controller.cloud.maps import plan_map, read_map
        from controller.cloud.queries import find_machines

        if self.given["hard"] and self.configuration.options.get("enable_hard_maps") is not True:
            raise Failure(
                "--hard destroys every machine of the accounts that the map does not name",
                USAGE,
                hint=f"permit it by `enable_hard_maps: True` in {self.config_dir / 'cloud'}",
            )
        wanted = {
            name: self._deploying(profile)
            for name, profile in read_map(self.given["map_file"], self.configuration).items()
        }
        machines = find_machines(self.configuration)
        present = {(each.provider.alias, each.machine.name) for each in machines}
        plan = plan_map(wanted, present, hard=self.given["hard"])
        shown: dict[str, Any] = {name: {"Message": "Already running."} for name in plan.existing}
        if not plan.create and not plan.destroy:
            return self._show(shown)
        gone = [each for each in machines if (each.provider.alias, each.machine.name) in plan.destroy]
        self._confirm("created", plan.create, and_destroyed=[each.machine.name for each in gone])
        with Client(self.config_dir) as client:
            for each in gone:
                self._making(client).destroy(each.provider, each.account, each.machine)
                shown[each.machine.name] = {"Message": "Destroyed."}
        shown |= self._create([[(name, plan.create[name]) for name in level] for level in plan.levels])
        return self._show(shown)

    def _create(self, levels: Iterable[Iterable[tuple[str, MachineProfile]]]) -> dict[str, Any]:
        """Make machines, those of a level after all of the levels before; what is shown of each."""
        from controller.cloud.errors import CloudFailed
        from controller.cloud.queries import find_machines

        levels = [list(level) for level in levels]
        wanted = {name for level in levels for name, _ in level}
        there = {each.machine.name for each in find_machines(self.configuration, wanted)}
        shown: dict[str, Any] = {}
        with Client(self.config_dir) as client:
            making = self._making(client)

            def made(name: str, profile: MachineProfile) -> dict[str, Any]:
                if name in there:
                    return {"Error": f"{name} already exists"}
                try:
                    return making.create(name, profile)
                except CloudFailed as error:
                    if making.stopped.is_set():
                        output.remark(output.printable(f"{name}: {error}"))
                    return {"Error": str(error)}

            with (
                ThreadPoolExecutor(_AT_ONCE if self.given["parallel"] else 1) as pool,
                _interrupted(making.stopped),
            ):
                for level in levels:
                    shown |= zip([name for name, _ in level], pool.map(lambda each: made(*each), level), strict=True)
        return shown

    def _making(self, client: Client) -> Making:
        from controller.cli.verbs.cloud.api_controller import ApiController
        from controller.cloud.making import Making

        return Making(
            controller=ApiController(client),
            own_key=self._own_key,
            folder=self.config_dir,
            locks=self._settings.cachedir / "cloud",
            say=lambda text: output.remark(output.printable(text)),
            for_minion=self.given["for_minion"],
        )

    def _own_key(self) -> Path:
        return self._key

    @cached_property
    def _key(self) -> Path:
        """The controller's own key for ssh, which `saltern ssh` uses, too."""
        from controller.cloud.errors import CloudFailed
        from controller.ssh.own_key import own_key
        from controller.ssh.target import BadRoster

        try:
            return own_key(self._settings.pki_dir / "ssh")
        except BadRoster as error:
            raise CloudFailed(str(error)) from error

    @cached_property
    def _settings(self) -> ControllerSettings:
        from controller.cli.configuration import settings_of

        return settings_of(self.config_dir)

    def _deploying(self, profile: MachineProfile) -> MachineProfile:
        return profile.with_given({"deploy": False}) if self.given["no_deploy"] else profile

    def _confirm(self, done: str, names: Iterable[str], *, and_destroyed: Iterable[str] = ()) -> None:
        for what, some in ((done, list(names)), ("destroyed", list(and_destroyed))):
            if some:
                output.remark(f"The following machines are going to be {what}:")
                output.remark("\n".join(f"  {output.printable(name)}" for name in sorted(some)))
        if not self.given["assume_yes"] and not click.confirm("Proceed?", default=False, err=True):
            raise Failure("nothing was done")

    def _show(self, shown: Mapping[str, Any]) -> int:
        if self.out == "text":
            click.echo("\n".join(output.nested(shown)))
        else:
            output.salt_document(shown, self.out)
        failed = [each for each in shown.values() if isinstance(each, Mapping) and "Error" in each]
        return FAILED if failed else OK
