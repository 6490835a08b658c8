"""The limits of every border: what comes from outside may cost so much, and what is over it is refused and counted.

One table, made of the parts that the rooms state (`wire.limits`, `gitfs.limits`, `highstate.limits`) and of the
controller's own. The option `limits` sets single values; the composition root hands each part to the code that enforces
it, with a callback that counts refusals by border and limit (`Metrics.limit_refused`). docs/security.md has
the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

from controller.forges.limits import ForgeLimits
from gitfs.limits import GitLimits
from matching.limits import PatternLimits
from options.convert import Unwanted, convert_value
from options.document import Fault, Option
from options.limits import LimitCount, LimitSeconds
from options.near_names import did_you_mean
from wire.limits import MinionLimits, RelayLimits, StrangerLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookLimits:
    """Clients of the HTTP port."""

    body_bytes: LimitCount = 1024 * 1024
    """Bytes of the body of a webhook."""
    connections: LimitCount = 512
    """Connections to the HTTP port at the same time."""
    request_seconds: LimitSeconds = 10.0
    """Seconds until a request must have arrived completely."""
    event_readers: LimitCount = 20
    """Readers of `/events` on the HTTP port at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiLimits:
    """People and scripts on the controller's unix socket."""

    body_bytes: LimitCount = 16 * 1024 * 1024
    """Bytes of the body of a request."""
    connections: LimitCount = 512
    """Connections to the socket at the same time."""
    request_seconds: LimitSeconds = 10.0
    """Seconds until a request must have arrived completely."""
    batches_at_once: LimitCount = 50
    """Calls in batches that go on at the same time; more are refused."""
    lookups_at_once: LimitCount = 2
    """Questions that look through the store (search, revisions, history, jobs, reactions) and are answered at the same
    time; the next ones wait. One that takes 5 s is given up."""
    lookups: LimitCount = 50
    """Such questions that are answered or wait; more are refused (429)."""
    stream_events: LimitCount = 10_000
    """Events that wait for one reader (`saltern events`, the event log); then the oldest of who has most are lost."""
    stream_bytes: LimitCount = 16 * 1024 * 1024
    """Bytes of the data of these events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPortLimits:
    """Whoever reaches the port of the API (`api: port`)."""

    connections: LimitCount = 512
    """Connections to the port at the same time; TLS has been agreed on."""
    address_connections: LimitCount = 100
    """Connections of an IPv4 address or IPv6 /64 network; more are closed."""
    handshakes: LimitCount = 100
    """Handshakes of TLS that go on at the same time; more are closed."""
    address_handshakes: LimitCount = 25
    """Such handshakes of an IPv4 address or IPv6 /64 network; more are closed."""
    handshake_seconds: LimitSeconds = 5.0
    """Seconds that a handshake may take."""
    request_seconds: LimitSeconds = 10.0
    """Seconds until a request must have arrived completely."""
    credentials_bytes: LimitCount = 64 * 1024
    """Bytes of the body of a request that anybody may send (`/login`, `/session`, `/salt/run`)."""
    addresses: LimitCount = 10_000
    """Addresses, and as many principals, whose requests are counted; of more, those who asked longest ago are
    forgotten."""
    address_requests_per_second: LimitCount = 50
    """Requests of an address in a second, over some time; more are refused (429)."""
    address_burst: LimitCount = 400
    """Requests that an address may make at once, after a pause."""
    principal_requests_per_second: LimitCount = 50
    """Requests of a principal in a second, over some time, from wherever it asks; more are refused (429)."""
    principal_burst: LimitCount = 400
    """Requests that a principal may make at once, after a pause."""
    failures_per_minute: LimitCount = 30
    """Tokens, passwords and sessions of an address that are refused in a minute; after that everything is (429)."""
    event_readers: LimitCount = 250
    """Readers of events on the port at the same time."""
    principal_event_readers: LimitCount = 60
    """Of them, those of one principal; more are refused (429)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaltApiLimits:
    """Who asks in the shapes of salt-api, at `/salt` on the port of the API."""

    body_bytes: LimitCount = 1024 * 1024
    """Bytes of the body of a request of somebody who is known (others: `api-port` `credentials-bytes`)."""
    chunks: LimitCount = 100
    """Chunks of lowstate of a request."""
    requests_at_once: LimitCount = 50
    """Requests that wait for minions, runners or wheels at the same time; more are refused (429)."""
    principal_requests: LimitCount = 12
    """Of them, those of one principal; more are refused (429)."""
    answer_bytes: LimitCount = 32 * 1024 * 1024
    """Bytes of what minions, runners and wheels return for a request; with more, it is refused."""
    wait_seconds: LimitSeconds = 3600.0
    """Seconds that a request waits for returns; the job goes on after that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcLimits:
    """The issuer of OpenID Connect tokens, and those who show some."""

    token_bytes: LimitCount = 16 * 1024
    """Bytes of a token; a longer one is refused."""
    document_bytes: LimitCount = 256 * 1024
    """Bytes of the discovery document and of the keys of the issuer."""
    keys: LimitCount = 50
    """Keys of the issuer; with more, none is taken."""
    seconds: LimitSeconds = 5.0
    """Seconds that the issuer may take for an answer."""
    kept_seconds: LimitSeconds = 3600.0
    """Seconds until the keys are asked for again."""
    stale_seconds: LimitSeconds = 86400.0
    """Seconds that keys are used which the issuer told last, while it does not answer."""
    refresh_seconds: LimitSeconds = 30.0
    """Seconds between two questions to the issuer, however many tokens name keys that it has not told."""
    leeway_seconds: LimitSeconds = 30.0
    """Seconds by which the clocks of issuer and controller may differ."""
    groups: LimitCount = 500
    """Groups of a token; one with more is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLimits:
    """Users of the machine who ask for what they may not, and holders of tokens."""

    audit_rows: LimitCount = 1_000_000
    """Decisions that the audit log keeps; of more, the oldest are forgotten."""
    refusals_per_minute: LimitCount = 60
    """Refusals of one user that the audit log keeps in a minute; more are counted alone."""
    logins_per_minute: LimitCount = 10
    """Passwords that one user of the machine, or one address, may try in a minute; whose they are said to be does not
    matter, so that nobody keeps another from logging in."""
    logins_at_once: LimitCount = 4
    """Passwords that PAM is asked about at the same time; more wait."""
    login_seconds: LimitSeconds = 15.0
    """Seconds that PAM may take for one."""
    tokens: LimitCount = 100
    """Tokens of one user that are good at the same time."""
    sessions: LimitCount = 20
    """Sessions of one user at the same time; of more, the oldest ends."""
    token_seconds: LimitSeconds = 10 * 365 * 86400.0
    """Seconds that a token may live for which an administrator says how long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLimits:
    """Whoever reaches the ports of a controller that waits, and `cluster_pool_port` of the one that leads."""

    connections: LimitCount = 20_000
    """Connections of minions that a controller which waits passes on; of more, the newest of the address with the most
    of them makes room, or the new one is refused."""
    address_connections: LimitCount = 500
    """Such connections of an IPv4 address or IPv6 /64 network; more are refused."""
    dials: LimitCount = 100
    """Connections that are being passed on and have not reached the leader yet; more wait to be accepted."""
    dial_seconds: LimitSeconds = 5.0
    """Seconds that reaching the leader may take."""
    silence_seconds: LimitSeconds = 120.0
    """Seconds without a byte in either direction until such a connection is ended; until the leader has sent something,
    an eighth of it."""
    waiting_bytes: LimitCount = 64 * 1024 * 1024
    """Bytes that wait for those who read slowly, 64 KiB of each connection and direction at most; one for which there
    is no room is ended."""
    controllers: LimitCount = 512
    """Connections of controllers that wait to the port for them (`cluster_pool_port`)."""
    strangers: LimitCount = 8
    """Connections to that port from addresses that are those of no controller; more are refused."""
    handshake_seconds: LimitSeconds = 5.0
    """Seconds until whoever connects to that port has shown the controllers' key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewLimits:
    """Branches that nobody has approved, which somebody wants to see the effect of."""

    at_once: LimitCount = 8
    """Previews that are made at the same time."""
    timeouts: LimitCount = 2
    """Minions whose compile takes longer than `compile_timeout`; then the others are not compiled."""
    memory_bytes: LimitCount = 130 * 1024 * 1024
    """Bytes of memory of a process that compiles previews; there are two where many minions are concerned."""
    idle_seconds: LimitSeconds = 60.0
    """Seconds until that process ends when nothing is previewed."""
    waiting_bytes: LimitCount = 256 * 1024 * 1024
    """Bytes of the documents that are compiled and not compared yet; minions with further ones are not compared."""
    document_bytes: LimitCount = 64 * 1024 * 1024
    """Bytes of the documents that one preview holds for test runs; the minions of the others are not tested."""
    change_bytes: LimitCount = 32 * 1024 * 1024
    """Bytes of what changes on all minions, equal changes counted once; of the others the states alone are named."""
    minion_change_bytes: LimitCount = 1024 * 1024
    """Bytes of what changes on one minion; of further states the names are shown, and beyond twice as much nothing."""
    rendered: LimitCount = 2_000
    """States of each side whose templates are rendered to show what changes in their files."""
    policy_bytes: LimitCount = 64 * 1024
    """Bytes of the `saltern.yaml` of a tree that is previewed; instead of a larger one, the live policy holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionLimits:
    """People who have what a machine has written to git (`saltern adopt`)."""

    at_once: LimitCount = 2
    """Adoptions that are under way at the same time; more are refused."""
    states: LimitCount = 20
    """States of one adoption."""
    file_bytes: LimitCount = 48 * 1024
    """Bytes of a file of a machine that is adopted; 60,000 are what a minion answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacementLimits:
    """Agents that are replaced (`saltern migrate agent`)."""

    at_once: LimitCount = 50
    """Agents that are replaced at the same time; of a greater batch the others wait. As many may have asked; more are
    refused."""
    come_seconds: LimitSeconds = 120.0
    """Seconds that an agent has to show its key, and then to connect and hold its document, before the old one has the
    id again; also those that the agent which does a step may be away meanwhile."""
    step_seconds: LimitSeconds = 900.0
    """Seconds that the machine has for a step: to install the new agent, or to stop the old one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestLimits:
    """Pull requests of forges, which whoever may open them opens."""

    at_once: LimitCount = 1
    """Previews of pull requests that are made at the same time; the others wait."""
    preview_seconds: LimitSeconds = 1800.0
    """Seconds until such a preview is ended."""
    report_bytes: LimitCount = 32 * 1024 * 1024
    """Bytes of the report of one pull request; a larger one is not kept, and the preview counts as failed."""
    hints: LimitCount = 1000
    """Pull requests of one forge that webhooks say something of and that are not looked at yet; a poll finds others."""
    look_seconds: LimitSeconds = 300.0
    """Seconds that a look at one pull request may take; then it begins again later."""
    again_seconds: LimitSeconds = 600.0
    """Seconds between two previews of one pull request whose base moves; a push to its head does not wait for it."""
    merged_together: LimitCount = 10
    """Pull requests merged together with one of which is told what they foretold."""
    merged_candidates: LimitCount = 50
    """Those of which git is asked whether they were merged together with one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLimits:
    """Whole reports of previews, which are kept for who has a link, and who asks for them."""

    report_bytes: LimitCount = 32 * 1024 * 1024
    """Bytes of one report; a larger one has no link."""
    kept: LimitCount = 500
    """Reports; the oldest go."""
    kept_bytes: LimitCount = 256 * 1024 * 1024
    """Bytes of these reports together, packed."""
    kept_seconds: LimitSeconds = 30 * 86400.0
    """Seconds until a link expires and its report goes."""
    at_once: LimitCount = 2
    """Pages that are made at the same time; who asks for more is told to come again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileWorkerLimits:
    """A compile worker, in which the Python of a tree may run."""

    frame_bytes: LimitCount = 16 * 1024 * 1024
    """Bytes of one message: an answer without its document, or a question."""
    document_bytes: LimitCount = 64 * 1024 * 1024
    """Bytes of one document."""
    states: LimitCount = 20_000
    """States of one minion."""
    questions: LimitCount = 100_000
    """Questions to the controller during the compile of one minion."""
    problems: LimitCount = 100
    """Errors of one minion that are kept, and as many warnings; of more, only their number is told."""
    problem_characters: LimitCount = 8192
    """Characters of each text of an error or warning; longer ones are cut."""
    secrets: LimitCount = 4096
    """Texts of GnuPG and vaults that one minion's compile had; with more it ends with an error."""
    secret_characters: LimitCount = 1024 * 1024
    """Characters of these texts together."""
    answers: LimitCount = 5000
    """Answers of machines, the mine and external pillars that one minion's compile stands on or asks for."""
    answer_characters: LimitCount = 1024 * 1024
    """Characters of these questions together."""
    output_bytes: LimitCount = 1024 * 1024
    """Bytes written to stdout and stderr during the compile of one minion."""
    memory_bytes: LimitCount = 8 * 1024 * 1024 * 1024
    """Bytes of memory of one process; a compile that wants more ends with an error."""
    waiting_calls: LimitCount = 64
    """Calls of pillar sources and secret servers that run at the same time, abandoned ones included."""
    template_code_bytes: LimitCount = 32 * 1024 * 1024
    """Bytes of code of templates that are kept for other compile workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerLimits:
    """Calls of runners and wheels, by people and by what reacts to events."""

    at_once: LimitCount = 100
    """Calls that go on at the same time; more are refused."""
    of_minion: LimitCount = 4
    """Of these, calls that one minion has asked for (`peer_run`): it may go on after the minion has waited for it."""
    value_bytes: LimitCount = 16 * 1024 * 1024
    """Bytes of what a call returns; more is neither kept nor published, and ends a process of its own."""
    seconds: LimitSeconds = 3600.0
    """Seconds until a runner of the tree, or a function that `salt.cmd` calls, is ended."""
    messages: LimitCount = 100_000
    """Questions and events of one such process; with more it is ended."""
    output_bytes: LimitCount = 1024 * 1024
    """Bytes that such a process may print; of more, nothing is shown."""
    memory_bytes: LimitCount = 1024 * 1024 * 1024
    """Bytes of memory of such a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshLimits:
    """Machines that are visited over ssh."""

    visits: LimitCount = 250
    """Machines of one question that are visited at the same time; more are refused."""
    start_seconds: LimitSeconds = 300.0
    """Seconds that a machine has, once it is connected, to get the worker and start the agent."""
    pre_flight_seconds: LimitSeconds = 600.0
    """Seconds that the script of `ssh_pre_flight` may take: it may install Python."""
    output_bytes: LimitCount = 1024 * 1024
    """Bytes of what a command prints there that are kept; the rest is passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLimits:
    """Engines of the administrator, each of which has a process of its own."""

    memory_bytes: LimitCount = 512 * 1024 * 1024
    """Bytes of memory of such a process."""
    events_per_second: LimitCount = 100
    """Events that an engine sends; with more it waits."""
    message_bytes: LimitCount = 1024 * 1024
    """Bytes of one event or question; with more the engine is ended, and begun again."""
    waiting_events: LimitCount = 1000
    """Events that wait for an engine which reads slowly; of more, the oldest are dropped."""
    waiting_bytes: LimitCount = 4 * 1024 * 1024
    """Bytes of these."""
    output_bytes: LimitCount = 16 * 1024 * 1024
    """Bytes that an engine may print into the log until it ends; of more, nothing is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCallLimits:
    """Calls whose states are compiled on the controller: `state.sls`, `state.show_sls`, `pillar=`."""

    minions_at_once: LimitCount = 50
    """Minions of a call that are compiled at a time; compiles of a push come between."""
    calls_at_once: LimitCount = 8
    """Such calls that are compiled at a time; more wait."""
    waiting_calls: LimitCount = 1000
    """Such calls that wait; more are refused."""
    pillar_bytes: LimitCount = 1024 * 1024
    """Bytes of a `pillar=`."""
    pillar_depth: LimitCount = 40
    """Mappings and lists inside each other in it."""
    names: LimitCount = 1000
    """SLS or IDs that a call names."""
    name_characters: LimitCount = 1000
    """Characters of such a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrchestrationLimits:
    """Orchestrations, by people and by what reacts to events."""

    at_once: LimitCount = 20
    """Orchestrations that go on at the same time; more are refused."""
    steps: LimitCount = 1000
    """Steps of one."""
    parallel: LimitCount = 20
    """Steps of one with `parallel: True` that go on at the same time."""
    minions: LimitCount = 50_000
    """Minions that one step asks."""
    step_seconds: LimitSeconds = 24 * 3600.0
    """Seconds that a step waits for minions or events, where it says nothing shorter."""
    reconnect_seconds: LimitSeconds = 60.0
    """Seconds that a step waits, after a restart of the controller, for minions to connect again."""
    event_history: LimitCount = 10_000
    """Kept events that `salt.wait_for_event` looks at before it waits for new ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorLimits:
    """Events that reactors answer, which minions and strangers cause."""

    durable_events: LimitCount = 200_000
    """Durable events that are kept for 14 days; of more, the oldest are forgotten, which is an event."""
    waiting_events: LimitCount = 10_000
    """Events that wait for their reactions; then the oldest of who has most are dropped, and the drop is an event."""
    waiting_bytes: LimitCount = 16 * 1024 * 1024
    """Bytes of the data of these events."""
    sls_seconds: LimitSeconds = 10.0
    """Seconds that the SLS which answer one event may take."""
    chain: LimitCount = 10
    """Reactions in one chain of causes; more count as a loop, and are refused."""
    firings_per_minute: LimitCount = 60
    """Events of one entry of `reactor` about one minion in a minute; more are refused."""
    minions: LimitCount = 10_000
    """Minions that one reaction calls a function on."""
    message_bytes: LimitCount = 16 * 1024
    """Bytes of a message that `notify` sends; a longer one is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnerLimits:
    """A returner, which may be dead or slow, and what waits for it on disk."""

    entries: LimitCount = 100_000
    """Returns and events that wait for all returners; then the oldest are dropped, and the drop is an event."""
    size: LimitCount = 256 * 1024 * 1024
    """Bytes of these."""
    seconds: LimitSeconds = 60.0
    """Seconds that a returner may take for one return, or for 100 events; then its process is started again."""
    options: LimitCount = 16 * 1024
    """Bytes of what one job says of its returners: `ret`, `ret_config` and `ret_kwargs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeLimits:
    """The range server (`range_server`), whose answers say which minions a target means."""

    seconds: LimitSeconds = 10.0
    """Seconds that the ranges of one target may take; then the target is an error."""
    answer_bytes: LimitCount = 4 * 1024 * 1024
    """Bytes of one answer; a larger one is an error, and nobody is reached."""
    hosts: LimitCount = 50_000
    """Hosts of one answer; more are an error."""
    expression_characters: LimitCount = 2_000
    """Characters of one range; a longer one is not asked for."""
    ranges: LimitCount = 16
    """Ranges of one target; with more it is refused."""
    at_once: LimitCount = 8
    """Targets for which the server is asked at the same time; more are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationLimits:
    """Receivers of notifications, and what is kept for them."""

    notices: LimitCount = 20_000
    """Conditions and events that all groups hold together; of more nobody is told."""
    shown: LimitCount = 20
    """Of them that one message names; of the others their number is told."""
    text_characters: LimitCount = 8_000
    """Characters of the text of a message; a longer one is cut."""
    entries: LimitCount = 1_000
    """Messages that wait for one receiver; of more, the oldest are dropped."""
    waiting_bytes: LimitCount = 16 * 1024 * 1024
    """Bytes of these messages."""
    waiting_seconds: LimitSeconds = 86400.0
    """Seconds that a message waits for its receiver; then it is given up."""
    given_up: LimitCount = 500
    """Messages that were given up and are still shown; of more, the oldest are forgotten."""
    call_seconds: LimitSeconds = 15.0
    """Seconds until a receiver has answered completely."""
    answer_bytes: LimitCount = 64 * 1024
    """Bytes of its answer that are read."""
    at_once: LimitCount = 8
    """Receivers that are sent to at the same time; one receiver gets one message at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BorderLimits:
    """The limits by border. A field is a border; the fields of its value are the limits."""

    webhook: WebhookLimits = field(default_factory=WebhookLimits)
    api: ApiLimits = field(default_factory=ApiLimits)
    api_port: ApiPortLimits = field(default_factory=ApiPortLimits)
    salt_api: SaltApiLimits = field(default_factory=SaltApiLimits)
    oidc: OidcLimits = field(default_factory=OidcLimits)
    access: AccessLimits = field(default_factory=AccessLimits)
    cluster: ClusterLimits = field(default_factory=ClusterLimits)
    preview: PreviewLimits = field(default_factory=PreviewLimits)
    adoption: AdoptionLimits = field(default_factory=AdoptionLimits)
    replacement: ReplacementLimits = field(default_factory=ReplacementLimits)
    pull_request: PullRequestLimits = field(default_factory=PullRequestLimits)
    report: ReportLimits = field(default_factory=ReportLimits)
    compile_worker: CompileWorkerLimits = field(default_factory=CompileWorkerLimits)
    stranger: StrangerLimits = field(default_factory=StrangerLimits)
    minion: MinionLimits = field(default_factory=MinionLimits)
    relay: RelayLimits = field(default_factory=RelayLimits)
    pattern: PatternLimits = field(default_factory=PatternLimits)
    git: GitLimits = field(default_factory=GitLimits)
    runner: RunnerLimits = field(default_factory=RunnerLimits)
    forge: ForgeLimits = field(default_factory=ForgeLimits)
    reactor: ReactorLimits = field(default_factory=ReactorLimits)
    state_call: StateCallLimits = field(default_factory=StateCallLimits)
    orchestration: OrchestrationLimits = field(default_factory=OrchestrationLimits)
    returner: ReturnerLimits = field(default_factory=ReturnerLimits)
    engine: EngineLimits = field(default_factory=EngineLimits)
    ssh: SshLimits = field(default_factory=SshLimits)
    range: RangeLimits = field(default_factory=RangeLimits)
    notification: NotificationLimits = field(default_factory=NotificationLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRow:
    """One row of the table."""

    border: str
    limit: str
    """As the metric has it."""
    value: int | float


def limit_rows(limits: BorderLimits) -> Iterator[LimitRow]:
    """All limits, in the order of the borders."""
    for border in fields(limits):
        group = getattr(limits, border.name)
        for one in fields(group):
            yield LimitRow(border=label_of(border.name), limit=label_of(one.name), value=getattr(group, one.name))


def label_of(name: str) -> str:
    """The value of a label of the metric for the name of a field."""
    return name.replace("_", "-")


def read_limits(option: Option | None, faults: list[Fault]) -> BorderLimits:
    """The limits with what the option `limits` sets: a mapping of borders to mappings of limits to numbers.

    Args:
        option: as it was written; None when it was not.
        faults: what is wrong is appended here.
    """
    if option is None:
        return BorderLimits()
    borders = get_type_hints(BorderLimits)
    given = _mapping(option, (), borders, faults)
    return BorderLimits(**{name: _group(option, name, borders[name], faults) for name in given})


def _group(option: Option, border: str, kind: Any, faults: list[Fault]) -> Any:
    kinds = get_type_hints(kind, include_extras=True)
    values = {}
    for name, value in _mapping(option, (border,), kinds, faults).items():
        try:
            values[name] = _above_zero(convert_value(value, kinds[name]))
        except Unwanted as error:
            message = f"limits: {border}: {name} must be {error.wanted}, not {value!r}"
            faults.append(Fault(option.at((border, name)), message))
    return kind(**values)


def _above_zero(number: float) -> float:
    if number <= 0:
        raise Unwanted("a number above 0")
    return number


def _mapping(option: Option, inside: tuple[str, ...], known: Mapping[str, Any], faults: list[Fault]) -> dict[str, Any]:
    """The entries of a mapping in the option whose names are known."""
    value = option.value
    for step in inside:
        value = value[step]
    where = ": ".join(("limits", *inside))
    if not isinstance(value, Mapping):
        wanted = "borders" if not inside else "limits"
        faults.append(Fault(option.at(inside), f"{where} must be a mapping of {wanted} ({', '.join(known)})"))
        return {}
    for name in value:
        if name not in known:
            hint = did_you_mean(str(name), known) or f"there are {', '.join(known)}"
            faults.append(Fault(option.at((*inside, str(name))), f"{where}: there is no {name!r}", hint))
    return {name: each for name, each in value.items() if name in known}
