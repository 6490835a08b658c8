"""All controllers of the minion: connected to each at once, or to one of them and to the next when that one is gone.

Part of the agent, which polls here, passes what comes to `ControllerLink.take`, and calls `look` at `due_at`. Which
controller may say what the minion shall have is decided here (`authority`): docs/adr/0024.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from minion.agent.controllers.failover import FailoverChoice
from minion.agent.controllers.link import ControllerLink
from minion.config.settings import MinionSettings
from wire.client import ConnectionEvent, receive_any
from wire.messages import ToController, ToMinion

log = logging.getLogger(__name__)

ADMISSION_SECONDS = 30.0
"""That a controller of several has to let the minion in: to be connected, to accept its key, to answer its Hello."""

FAILBACK_SECONDS = 60.0
"""Between two tries of the first controller, where neither option says it."""

BUSY_SECONDS = 2.0
"""Until it is looked again whether the minion, that would go back, still runs something."""


class ControllerLinks:
    """The controllers.

    Args:
        links: in the order of `master`, or that which `failover.order_of` made of it.
        settings: of the minion.
        busy: whether something runs that the controller of now asked for.
    """

    def __init__(self, links: Sequence[ControllerLink], settings: MinionSettings, busy: Callable[[], bool]) -> None:
        self.links = tuple(links)
        self._by_name = {link.name: link for link in self.links}
        self._id = settings.id
        self._busy = busy
        self._tries, self._retry_dns = settings.master_tries, settings.retry_dns
        self._most_looks = settings.retry_dns_count
        self._choice: FailoverChoice | None = None
        if settings.master_type in ("failover", "distributed") and self.links:
            self._choice = FailoverChoice([link.name for link in self.links], self._tries)
        self._failback = settings.master_failback_interval or settings.master_alive_interval or FAILBACK_SECONDS
        self._failback_from = 0.0 if settings.master_failback and len(self.links) > 1 else float("inf")
        self._dial_at = 0.0
        self._candidate: ControllerLink | None = None
        """The first of the list, while it is tried beside the one that is used."""
        self._failed: set[str] = set()
        """Names of those whose failure was told."""
        self._used = ""
        self.due_at = 0.0

    @property
    def online(self) -> list[ControllerLink]:
        """Those that have acknowledged a Hello."""
        return [link for link in self.links if link.online]

    @property
    def authority(self) -> ControllerLink | None:
        """The one whose documents and runs of states count: the first of the list that is online."""
        if self._choice is not None:
            link = self._by_name[self._choice.current]
            return link if link.online else None
        return next((link for link in self.links if link.online), None)

    @property
    def reached(self) -> bool:
        """Whether any of them is there, even one that does not let the minion in."""
        return any(link.reached for link in self.links)

    def named(self, name: str) -> ControllerLink | None:
        """The link of a name."""
        return self._by_name.get(name)

    @property
    def names(self) -> frozenset[str]:
        """By which what waits on disk belongs to a controller; none where there are not several."""
        return frozenset(self._by_name) if len(self.links) > 1 else frozenset()

    def name_of(self, link: ControllerLink) -> str:
        """The name for what waits on disk."""
        return self.origin(link.name)

    def origin(self, name: str) -> str:
        """The name for what is on disk, of a controller."""
        return name if len(self.links) > 1 else ""

    def cluster_of(self, link: ControllerLink) -> frozenset[str]:
        """Names of the other controllers that share the store of this one."""
        if not link.clustered:
            return frozenset()
        return frozenset(
            each.name for each in self.links if each is not link and each.configured_key == link.configured_key
        )

    def may_follow(self, name: str) -> bool:
        """Whether this controller is the authority once it is online."""
        if self._choice is not None:
            return True  # it is the only one by then
        first = next((link for link in self.links if link.online or link.name == name), None)
        return first is not None and first.name == name

    def gave_up(self) -> str:
        """Why it makes no sense to go on, as the options say; empty: it does."""
        if self.online:
            return ""
        if self._choice is not None:
            return f"no controller in {self._tries} rounds (master_tries)" if self._choice.given_up else ""
        if self._tries > 0 and self.links and all(link.failed_dials >= self._tries for link in self.links):
            return f"no controller in {self._tries} tries (master_tries)"
        most = 1 if self._retry_dns == 0 else self._most_looks
        if most is not None and self.links and all(link.unresolved >= max(1, most) for link in self.links):
            return "the names in `master` have no address (retry_dns, retry_dns_count)"
        return ""

    def start(self, now: float) -> None:
        """Begin to dial. Raises BadKey."""
        for link in self.links if self._choice is None else self.links[:1]:
            own = link.open(now)
            log.info("event=started minion=%s master=%s fingerprint=%s", self._id, link.name, own)
        if not self.links:
            log.info("event=started minion=%s master=none", self._id)

    def stop(self) -> None:
        """Say Bye to all."""
        for link in self.links:
            link.close()

    def send(self, message: ToController, name: str = "") -> bool:
        """Send to a controller, or without a name to the authority; only while it is online.

        What is queued for later would be out of date when it arrives.
        """
        link = self._by_name.get(name) if name else self.authority
        return link is not None and link.online and link.send(message)

    def broadcast(self, message: ToController) -> bool:
        """Send to all that are online; False when one of them did not take it."""
        taken = [link.send(message) for link in self.online]
        return all(taken)

    def receive(
        self, timeout: float, readers: Sequence[int]
    ) -> tuple[list[tuple[ControllerLink, ToMinion | ConnectionEvent]], list[int]]:
        """What has come, and which of `readers` are readable."""
        opened = {link.connection: link for link in self.links if link.connection is not None}
        found, ready = receive_any(list(opened), timeout, readers)
        return [(opened[connection], event) for connection, event in found], ready

    def readers(self) -> list[int]:
        """Sockets of the children that look for the cause of a trouble."""
        return [fd for link in self.links for fd in link.trouble.readers()]

    def read(self, fd: int) -> None:
        """One of them is readable."""
        for link in self.links:
            if fd in link.trouble.readers():
                link.trouble.receive(time.monotonic())

    def look(self, now: float) -> None:
        """Do what is due."""
        for link in self.links:
            link.session.tick(now)
            link.trouble.look(now)
        due = [link.session.deadline for link in self.links] + [link.trouble.due_at for link in self.links]
        if self._choice is not None:
            due.append(self._look_for_failover(self._choice, now))
        self.due_at = min(due, default=float("inf"))

    def came_online(self, link: ControllerLink, now: float) -> bool:
        """A controller has acknowledged a Hello; False when it is left again, because something runs for another."""
        self._failed.clear()
        if self._choice is None:
            return True
        if link is self._candidate and self._busy():
            link.close()
            self._candidate = None
            self._failback_from = self.due_at = now + BUSY_SECONDS
            return False
        for other in self.links:
            if other is not link:
                other.close()
        self._candidate = None
        self._choice.reached(link.name)
        if link is not self.links[0] and self._failback_from < float("inf"):
            self._failback_from = now + self._failback
        if self._used not in ("", link.name):
            log.warning("event=controller_changed minion=%s controller=%s before=%s", self._id, link.name, self._used)
        self._used = link.name
        self.due_at = now
        return True

    # --- one at a time

    def _look_for_failover(self, choice: FailoverChoice, now: float) -> float:
        """Go to the next controller, or back to the first; when to look again."""
        link = self._by_name[choice.current]
        if link.online:
            return self._look_for_failback(link, now)
        if self._candidate is not None and self._candidate is not link:
            self._candidate.close()  # the one that is used is gone: one at a time
            self._candidate = None
        if link.connection is None:
            if now < self._dial_at:
                return self._dial_at
            link.open(now)
            return now + ADMISSION_SECONDS
        why = link.failure
        if not why and len(self.links) > 1 and now >= link.since + ADMISSION_SECONDS:
            why = f"it did not let this minion in within {ADMISSION_SECONDS:g} s"
        if not why:
            return link.since + ADMISSION_SECONDS if len(self.links) > 1 else float("inf")
        link.close()
        self._dial_at = now + choice.failed()
        self._tell_failure(link, choice, why)
        return self._dial_at

    def _tell_failure(self, link: ControllerLink, choice: FailoverChoice, why: str) -> None:
        """Once for each controller, and once when all have failed, until one is reached again."""
        told = link.name in self._failed
        self._failed.add(link.name)
        level = logging.DEBUG if told else logging.WARNING
        log.log(level, "event=controller_failed minion=%s controller=%s cause=%s next=%s",
                self._id, link.name, why, choice.current)  # fmt: skip
        if choice.rounds == 1 and len(self._failed) == len(self.links) and not told:
            log.warning(
                "event=no_controller_reached minion=%s tried=%s do=%s",
                self._id,
                ",".join(choice.order),
                "see that a controller runs at one of them, and check `master`, `master_port`, `controller_key` and "
                "firewalls; still trying",
            )

    def _look_for_failback(self, used: ControllerLink, now: float) -> float:
        """Try the first of the list beside the one that is used, which is left when the first has let the minion in."""
        first, candidate = self.links[0], self._candidate
        if used is first or self._failback_from == float("inf"):
            return float("inf")
        if candidate is not None:
            if not candidate.failure and now < candidate.since + ADMISSION_SECONDS:
                return candidate.since + ADMISSION_SECONDS
            log.debug("event=failback_failed minion=%s controller=%s cause=%s", self._id, first.name, candidate.failure)
            candidate.close()
            self._candidate = None
            self._failback_from = now + self._failback
        elif now >= self._failback_from:
            if self._busy():
                self._failback_from = now + BUSY_SECONDS
            else:
                self._candidate = first
                first.open(now)
                return now + ADMISSION_SECONDS
        return self._failback_from
