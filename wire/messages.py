"""Every message there is, both ways. Who may send what is decided by `wire.server.server`, never here.

All are tagged, frozen structs; `wire.codec` packs them. A field added later gets a default, so that
an older peer can be read; a change of meaning raises `PROTOCOL`. The sender of a message to the controller is
the CURVE key of its connection: no message needs to say who sends it, and where an id is given it is only checked.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

PROTOCOL = 1
"""Version of the messages; a peer that speaks a lower one is refused."""

BLOB_CHUNK = 1024 * 1024
"""Bytes of file content in one `Blob`."""
PUSHED_NAMES = 64
"""Folders of a file that a minion sends, and the file."""
PUSHED_NAME = 255
"""Bytes of the name of each."""

STATES_OF_CALL = "states-of-call"
"""Says in `Hello.takes` that the minion runs the document of a `Call`; an older one would run its own instead."""
ROTATE_KEY = "rotate-key"
"""Says in `Hello.takes` that the minion knows `RotateKey`."""
RETURNERS_OF_CALL = "returners-of-call"
"""Says in `Hello.takes` that the minion gives what a `Call` returns to its `returners`; an older one would not."""
CHECKS_CALLS = "checks-calls"
"""Says in `Hello.takes` that the minion knows `CheckCalls`."""
CHECKS_RUNS = "checks-runs"
"""Says in `Hello.takes` that the minion answers `CheckCalls` for any run, and begins none that it was asked about."""
SETS_INTERVAL = "sets-interval"
"""Says in `Hello.takes` that the minion knows `AliveInterval`."""
HEALS_ALONE = "heals-alone"
"""Says in `Hello.takes` that the minion knows `Autonomy`."""
GOES_BACK = "goes-back"
"""Says in `Hello.takes` that the minion knows `Confirmed`."""
MOST_CHECKED = 1000
"""Calls in one `CheckCalls`."""
NOT_APPLIED = "none"
"""Says in `Hello.applied` that the last run of a document, for another controller, did not come to a good end."""
APPLIES_NOW = "running"
"""Says there that such a run goes on, or waits for its turn; of what the minion ran by itself also that its result is
not acknowledged yet."""
MOST_METADATA = 16 * 1024
"""Bytes of the metadata of a job of the minion's schedule."""

MOST_RUN_EVENTS = 500
"""Events that a run may send, and that one message may hold."""

MOST_START_GRAINS = 100
"""Grains in the event of a minion's start."""

MOST_UNNAMED = 1000
"""Resources in one `PruneReport`."""

KeyRole: TypeAlias = Literal["minion", "relay", "gateway"]
"""What a key is for. A relay carries frames of minions, and may do nothing else; a gateway vouches for keys of stock
salt-minions (`SaltKey`), which have connections of their own."""
MOST_RELAYED = 256
"""Frames of minions in one message of a relay or to one."""

RunKind: TypeAlias = Literal["apply", "remediate", "drift", "preview", "call"]
"""apply: a push; remediate: the whole highstate after drift; drift and preview: test=True; call: a function."""


Name: TypeAlias = Annotated[str, Meta(max_length=256)]
"""An id, digest, session or tag of a program."""
ChunkKey: TypeAlias = Annotated[str, Meta(max_length=64 * 1024)]
"""A chunk key has the chunk's name in it, which may be a script."""
PathText: TypeAlias = Annotated[str, Meta(max_length=8192)]
"""A path or saltenv."""
Whole: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
"""A number of a request, generation or offset."""
ExitCode: TypeAlias = Annotated[int, Meta(ge=-(2**31), lt=2**31)]
"""Of a process; negative ones are signals."""
MessageSeconds: TypeAlias = Annotated[float, Meta(ge=0.0, le=1e11)]
"""A time or a duration."""


AutosignGrains: TypeAlias = Annotated[dict[Name, Annotated[str, Meta(max_length=1024)]], Meta(max_length=20)]
"""Grains as text, by name."""


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="t"):
    pass


# --- minion -> controller -------------------------------------------------------------------------------------------


class SaltKey(msgspec.Struct, frozen=True, kw_only=True):
    """The RSA key that a stock salt-minion has shown to its gateway, as the gateway vouches (`wire.salt_keys`)."""

    gateway: Name
    """The gateway's public key."""
    fingerprint: Annotated[str, Meta(max_length=64)]
    """SHA-256 as Salt makes it, in hex digits."""
    proof: Annotated[bytes, Meta(max_length=32)]


class KeyRequest(_Message, tag="key", frozen=True, kw_only=True):
    """The only message that an unaccepted key may send: asks to be accepted under this id. Answer: `KeyState`."""

    id: str
    protocol: int = PROTOCOL
    token: Name = ""
    """An enrolment token that accepts the key."""
    autosign_grains: AutosignGrains = {}
    """Grains as text, by which the controller may accept the key."""
    role: KeyRole = "minion"
    salt_key: SaltKey | None = None
    """Of a stock minion behind a gateway."""


class Hello(_Message, tag="hello", frozen=True, kw_only=True):
    """First message of an accepted minion on each connection, and again after a new controller epoch."""

    id: str
    grains: dict[str, Any]
    held: Name = ""
    """Digest of the desired document that it holds, empty when none."""
    session: Name = ""
    """Changes with every start of the agent."""
    agent: Name = ""
    protocol: int = PROTOCOL
    applied: Name = ""
    """Where another controller asked for the last run of a document, or nobody did: the digest of that document,
    `NOT_APPLIED` or `APPLIES_NOW`."""
    follows: bool = True
    """Whether documents and runs of this controller count: of several controllers at once, one's do."""
    takes: Annotated[tuple[Name, ...], Meta(max_length=100)] = ()
    """What it understands beside what all minions of its protocol do: `STATES_OF_CALL`, `RETURNERS_OF_CALL`,
    `ROTATE_KEY`, `CHECKS_CALLS`, `CHECKS_RUNS`, `SETS_INTERVAL`, `HEALS_ALONE`, `GOES_BACK`."""
    autonomy: Name = ""
    """`Autonomy.digest` of the rules that it has; empty: it has none."""
    confirmed: Name = ""
    """`Confirmed.digest` of the rules that it has; empty: it has none."""
    starts: bool = True
    """Whether its start may be told now; False: it says Hello again, when it knows what belongs to that."""
    start_grains: Annotated[tuple[Name, ...], Meta(max_length=MOST_START_GRAINS)] = ()
    """Names of the grains that the event of its start has (`start_event_grains`)."""


class Grains(_Message, tag="grains", frozen=True, kw_only=True):
    """The grains have changed."""

    grains: dict[str, Any]


class KeepAlive(_Message, tag="alive", frozen=True, kw_only=True):
    """Sent at the interval that `HelloAck` and `AliveInterval` ask for."""

    held: Name = ""
    applied: Name = ""
    """As in `Hello`."""
    running: Annotated[tuple[Name, ...], Meta(max_length=10000)] = ()
    """Run ids in progress or waiting."""
    pending_triggers: Annotated[tuple[ChunkKey, ...], Meta(max_length=1000)] = ()
    """Keys of the chunks that still have to act on a change that an earlier run made."""
    problems: Annotated[tuple[PathText, ...], Meta(max_length=100)] = ()
    """What is wrong with the minion's own configuration, each with its place: beacons that cannot run, returners that
    fail."""


class Held(_Message, tag="held", frozen=True, kw_only=True):
    """The desired document with this digest is on disk."""

    generation: Whole
    digest: Name


class ResyncRequired(_Message, tag="need-whole", frozen=True, kw_only=True):
    """The patch did not fit what is held (`held`): send the whole document."""

    generation: Whole
    held: Name


class RunStarted(_Message, tag="run-started", frozen=True, kw_only=True):
    """A run has begun on the minion. Not said of a function that is over within half a second."""

    run_id: Name


class RunProgress(_Message, tag="run-progress", frozen=True, kw_only=True):
    """How far a run is: sent now and then while it goes on, never again, and missed by nobody when it is lost."""

    run_id: Name
    done: Whole
    """Chunks that have a result."""
    total: Whole
    key: ChunkKey
    """Of the chunk that was begun last."""
    seconds: MessageSeconds = 0.0
    """Since the run began."""


class OwnRun(msgspec.Struct, frozen=True, kw_only=True):
    """Why the minion began a run of the kind `remediate` by itself."""

    drift_run: Name
    """The drift check that it follows from; empty where it went back."""
    alone: MessageSeconds
    """Seconds for which it had reached no controller."""
    back_from: Name = ""
    """Digest of the document that nobody confirmed, and that it went back from; empty: it put drift right."""


Ending: TypeAlias = Literal["", "compile error", "refused", "timed out", "unreachable", "cancelled"]


class UnnamedResource(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a state brought into being, that no state names any more, and that is there still."""

    resource: PathText
    """Its kind and name: `file:/etc/motd`."""
    inverse: Name = ""
    """State function that would take it away."""
    maker: PathText = ""
    """The state that made it, for people."""
    fate: Literal["reported", "left", "held", "no-inverse"] = "reported"
    """reported: the policy says to tell it alone; left: it is not as the state left it; held: all is held back."""
    why: PathText = ""


class PruneReport(msgspec.Struct, frozen=True, kw_only=True):
    """What of a minion's inventory no state names any more."""

    mode: Literal["report", "on"] = "report"
    owned: Whole = 0
    """Resources in the inventory."""
    resources: Annotated[tuple[UnnamedResource, ...], Meta(max_length=MOST_UNNAMED)] = ()
    more: Whole = 0
    """How many there are beyond those."""
    held: PathText = ""
    """Why nothing is removed; empty: it is not held back."""
    full: bool = False
    """Whether the inventory has no room, so that there is more that nobody knows of."""


class RunResult(_Message, tag="run-result", frozen=True, kw_only=True):
    """What came of a run. Sent until a `ResultAck` names it; the minion keeps it on disk till then."""

    run_id: Name
    kind: RunKind
    generation: Whole
    """Of the desired document that was run; 0 for a call."""
    digest: Name
    """Of that document; empty for a call."""
    outcome: Literal["ok", "changed", "pending", "failed", "error"]
    """pending: test=True found changes; error: it did not run to its end (`error` says why)."""
    states: dict[str, dict[str, Any]] = {}
    """Salt's running dictionary by chunk key."""
    value: Any = None
    """Return value of a call. Of a preview with `check`: what the minion would find after the run, by chunk key."""
    error: str = ""
    started: MessageSeconds = 0.0
    """Seconds since the epoch, by the minion's clock."""
    seconds: MessageSeconds = 0.0
    retcode: ExitCode = 0
    """Of a call: what its command or function left; 0 where it left none."""
    schedule: Name = ""
    """The job of the minion's schedule that it was."""
    metadata: dict[str, Any] = {}
    """Of that job."""
    fun: Name = ""
    """Of a call that nobody asked the minion for, of its schedule or by hand: the function."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    """Its arguments."""
    ending: Ending = ""
    """What ended it, where it was not the function itself."""
    prune: PruneReport | None = None
    """Of a run of the minion's document: what is named no more, and is there still."""
    own: OwnRun | None = None
    """Of a run that the minion began by itself while it reached no controller."""


class RunEvents(_Message, tag="run-events", frozen=True, kw_only=True):
    """Events that states and functions of a run have sent (`event.send`, `fire_event`), while the run goes on.

    Sent until a `RunEventsAck` names them; the minion keeps them on disk till then. The result of the run is sent
    after the last of them.
    """

    run_id: Name
    first: Whole
    """Number of the first of these: those of a run are counted from 0."""
    end: Whole
    """Number of the first that comes after these."""
    events: Annotated[tuple[tuple[PathText, dict[str, Any]], ...], Meta(max_length=MOST_RUN_EVENTS)] = ()
    """Tag and data. Fewer than `end` says: the controller has refused them, because they are over a limit."""


class MinionEvents(_Message, tag="minion-events", frozen=True, kw_only=True):
    """Events of the minion that belong to no run: of its beacons, and of `saltern call`.

    Sent until a `MinionEventsAck` names them; the minion keeps them on disk till then.
    """

    stream: Name
    """Drawn by chance; within it events are counted from 0. A new one begins after the last event of the one before."""
    first: Whole
    """Number of the first of these."""
    end: Whole
    """Number of the first that comes after these."""
    events: Annotated[tuple[tuple[PathText, dict[str, Any]], ...], Meta(max_length=MOST_RUN_EVENTS)] = ()
    """Tag and data. Fewer than `end` says: the controller has refused them, because they are over a limit."""


class FindFile(_Message, tag="find-file", frozen=True, kw_only=True):
    """Asks for a file of the revision that the minion's desired state was compiled from. Answer: `FileFound`."""

    request: Whole
    path: PathText
    saltenv: PathText = "base"


class ListFiles(_Message, tag="list-files", frozen=True, kw_only=True):
    """Asks for all files at or below a folder. Answer: `FileList`."""

    request: Whole
    prefix: PathText = ""
    saltenv: PathText = "base"
    saltenvs: bool = False
    """Ask for the names of all saltenvs, and no files."""


class GetBlob(_Message, tag="get-blob", frozen=True, kw_only=True):
    """Asks for up to `BLOB_CHUNK` bytes of a content by its id. Answer: `Blob`."""

    request: Whole
    oid: Name
    offset: Whole = 0


class FactAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a function gave, or why it gave nothing."""

    value: Any = None
    error: str = ""


class FactAnswers(_Message, tag="fact-answers", frozen=True, kw_only=True):
    """Answer to `FactRequest`: one for each question, in their order."""

    request: Whole
    answers: tuple[FactAnswer, ...]


class MineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a minion has for others."""

    value: Any = None
    allow: tuple[str, ...] | str = ()
    """Target of those who may have it; empty: everybody."""
    allow_type: str = "glob"


class Mine(_Message, tag="mine", frozen=True, kw_only=True):
    """All that the minion has for others, by name: sent when it changes, and after `HelloAck`."""

    entries: dict[str, MineEntry]


class GetMine(_Message, tag="get-mine", frozen=True, kw_only=True):
    """Asks what other minions have. Answer: `MineFound`."""

    request: Whole
    asked: str
    """Arguments of `mine.get` as in `FactQuery.asked`."""


class GetStates(_Message, tag="get-states", frozen=True, kw_only=True):
    """Asks for states of its own that are not in the desired document: `state.apply SLS`, `pillar=`.

    Answer: `StatesFound`.
    """

    request: Whole
    mods: Annotated[tuple[PathText, ...], Meta(max_length=1000)] = ()
    """Names of SLS; none: what the top file gives."""
    saltenv: PathText = ""
    """Of these SLS; empty: the default."""
    pillar: dict[str, Any] = {}
    """What templates of states see over the pillar; those of the pillar do not."""


class PublishCall(_Message, tag="publish", frozen=True, kw_only=True):
    """Asks for a function on other minions, or for a runner, where `peer` and `peer_run` allow it.

    Answer: `Published`. It is sent once: who loses the connection meanwhile cannot know whether it was done.
    """

    request: Whole
    nonce: Name
    """Chosen by chance: what comes twice is done once."""
    kind: Literal["minion", "runner"] = "minion"
    target: PathText = ""
    """Of minions; of the kind `target_kind`."""
    target_kind: Name = "glob"
    fun: Name
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    timeout: MessageSeconds = 5.0
    """Seconds to wait for returns."""


class GetOptions(_Message, tag="get-options", frozen=True, kw_only=True):
    """Asks for the options that a minion which compiles by itself shall follow. Answer: `OptionsFound`."""

    request: Whole


class PushFile(_Message, tag="push-file", frozen=True, kw_only=True):
    """A piece of a file of the minion for the controller to keep (`cp.push`), where its `file_recv` allows it.

    Answer: `FilePushed`. A piece at 0 begins the file anew; all others stand behind what was taken before.
    """

    request: Whole
    path: Annotated[tuple[PathText, ...], Meta(max_length=PUSHED_NAMES)]
    """Names of folders and of the file, below the place of the minion's files."""
    offset: Whole = 0
    data: Annotated[bytes, Meta(max_length=BLOB_CHUNK)] = b""


class NewKey(_Message, tag="new-key", frozen=True, kw_only=True):
    """Answer to `RotateKey`: from now on the minion is the owner of this key. Taken only when it was asked for."""

    public: Name


class Bye(_Message, tag="bye", frozen=True, kw_only=True):
    """The agent stops of its own will."""


# --- relay -> controller, and back ----------------------------------------------------------------------------------


class RelayedFrame(msgspec.Struct, frozen=True, array_like=True):
    """A frame of one channel, which is the connection of a minion to a relay. The relay cannot read what is in it."""

    channel: Whole
    """Numbered by the relay, each with a higher number than those before it on this connection."""
    kind: Literal["open", "data", "accepted", "end"]
    """open: the opening of a sealed session, and its answer; data: a sealed piece; accepted, to the relay: the minion's
    key is accepted, so that more of it is carried; end: the channel is over."""
    data: bytes = b""
    """Of `end`: why."""


class FromRelay(_Message, tag="from-relay", frozen=True, kw_only=True):
    """Frames of minions, folded. Only a key of the role `relay` may send it."""

    frames: Annotated[tuple[RelayedFrame, ...], Meta(max_length=MOST_RELAYED)] = ()
    taken: Whole = 0
    """Bytes of the frames in `ToRelay` that it has taken on this connection."""


class ToRelay(_Message, tag="to-relay", frozen=True, kw_only=True):
    """Frames for minions behind a relay."""

    frames: tuple[RelayedFrame, ...] = ()
    taken: Whole = 0
    """Bytes of the frames in `FromRelay` that the controller has read on this connection."""


# --- controller -> minion -------------------------------------------------------------------------------------------


class KeyState(_Message, tag="key-state", frozen=True, kw_only=True):
    """Where the key of this connection stands."""

    state: Literal["pending", "accepted", "rejected"]
    message: str = ""


class RotateKey(_Message, tag="rotate-key", frozen=True, kw_only=True):
    """Asks the minion to make a new key. Answer: `NewKey`; then `KeyState` rejected ends the old one."""


class NextControllerKey(_Message, tag="next-controller-key", frozen=True, kw_only=True):
    """The key that the controller will prove instead of its present one."""

    public: str


class HelloAck(_Message, tag="welcome", frozen=True, kw_only=True):
    """Answer to `Hello`."""

    epoch: Name
    """Changes with every start of the controller."""
    alive_interval: float
    """Seconds."""
    heartbeats: bool = True
    """Whether the minion shall hear them on the publish port. False: the end of its connection says as much."""
    time: MessageSeconds = 0.0
    """What the controller's clock says, in seconds since the epoch; 0: it does not say."""
    cluster: bool = False
    """Whether it shares its store with other controllers of its key: what is for one of them is for any."""


class AliveInterval(_Message, tag="alive-interval", frozen=True, kw_only=True):
    """Signs of life shall come at another interval than `HelloAck` asked for: the fleet has grown or shrunk."""

    seconds: MessageSeconds


class Refused(_Message, tag="refused", frozen=True, kw_only=True):
    """A message was not accepted, or a question gets no answer; the connection stays."""

    message: str
    request: Whole = 0
    """Number of the question that gets no answer; 0: the message had none."""


class DesiredUpdate(_Message, tag="desire", frozen=True, kw_only=True):
    """New desired state: `patch` turns the document with digest `base` into the one with digest `digest`.

    An empty `base` means that `patch` carries the whole document.
    """

    generation: Whole
    base: Name
    digest: Name
    patch: Any


class Run(_Message, tag="run", frozen=True, kw_only=True):
    """Run chunks of the document with this digest. Repeating a run id repeats nothing: a run that is finished
    is answered with its kept result, one in progress is let be, one that was cut off is taken up again.
    """

    run_id: Name
    kind: RunKind
    generation: Whole
    digest: Name
    keys: tuple[str, ...] | None = None
    """Chunk keys to run, in any order; None: all."""
    test: bool = False
    own: OwnRun | None = None
    """Of a run that the minion asks itself for."""
    left_out: tuple[str, ...] = ()
    """Chunk keys that are not to be run although `keys` says all."""


class Autonomy(_Message, tag="autonomy", frozen=True, kw_only=True):
    """By which rules the minion may put drift right by itself while it reaches no controller.

    They stand beside the document, and not in it: a pause and a window hold for what was applied last, too, and nothing
    is compiled or run because they are others.
    """

    digest: str
    """Of the rules; empty: there are none, and the minion does nothing by itself."""
    rules: dict[str, Any] = {}
    """`reactors.remediation.AutonomyRules` as plain values."""


class Confirmed(_Message, tag="confirmed", frozen=True, kw_only=True):
    """What is confirmed on the minion, and by which rules it goes back to that while it reaches no controller.

    `patch` turns the document with digest `base` into the confirmed one, as in `DesiredUpdate`: the minion keeps it
    beside the one that it holds. It is sent before the run that somebody has to confirm.
    """

    digest: str
    """Of the rules; empty: there are none, and the minion never goes back by itself."""
    rules: dict[str, Any] = {}
    """`reactors.confirmation.ConfirmRules` as plain values."""
    base: Name = ""
    patch: Any = None


class Preview(_Message, tag="preview", frozen=True, kw_only=True):
    """Like `DesiredUpdate` and `Run` with test=True in one, for a document that is never stored."""

    run_id: Name
    base: Name
    digest: Name
    patch: Any
    keys: tuple[str, ...] | None = None
    check: bool = False
    """Whether it is also asked what the minion would find by planning its whole highstate after such a run."""


class Call(_Message, tag="call", frozen=True, kw_only=True):
    """Run an execution function. Answer: a `RunResult` of kind `call`."""

    run_id: Name
    fun: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    timeout: float = 0.0
    """Seconds that the function may take on the minion; 0: as long as it takes. Who waits for it has no part in it."""
    digest: Name = ""
    """Of a document that was compiled for this call alone; empty: the function has what the minion holds. Such a call
    is resumed where it was cut off, as a `Run` is."""
    document: bytes = b""
    """That document, packed as it is digested. It does not become the desired state."""
    returners: tuple[str, ...] = ()
    """That the minion gives the value to, beside those of its configuration."""
    return_config: str = ""
    """The profile of their options, in the minion's configuration."""
    return_kwargs: dict[str, Any] = {}
    """Options above these."""
    job: Name = ""
    """The id of the job, which its runs on other minions have in common; empty: the run's own."""
    schedule: Name = ""
    """The job of the minion's schedule that it is."""
    metadata: dict[str, Any] = {}
    """Of that job."""
    asker: Name = ""
    """The minion that has it called, by `PublishCall`; empty: it is none."""


class CheckCalls(_Message, tag="check-calls", frozen=True, kw_only=True):
    """Asks for these runs, which have no result yet. Answer for each that goes on: `RunStarted`, once it has begun;
    for one that is over, that never came, or that still waits for its document (it is forgotten): its `RunResult`.
    """

    run_ids: tuple[Name, ...]
    """At most `MOST_CHECKED`."""


class FactQuery(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A call of a function that only looks."""

    fun: str
    asked: str
    """JSON: a list of the positional arguments and a mapping of the named ones (`highstate.ports.question`)."""


class FactRequest(_Message, tag="ask-facts", frozen=True, kw_only=True):
    """Asks what templates have to know of the machine. Nothing is kept of it on the minion. Answer: `FactAnswers`."""

    request: int
    questions: tuple[FactQuery, ...]
    allowed: tuple[str, ...] = ()
    """Functions (globs) that policy allows beside those that are known to look only."""
    timeout: float = 10.0
    """Seconds for all of them."""


class ResultAck(_Message, tag="result-ack", frozen=True, kw_only=True):
    """The result is in the controller's store."""

    run_id: Name


class RunEventsAck(_Message, tag="run-events-ack", frozen=True, kw_only=True):
    """Answer to `RunEvents`: these are in the controller's store, or were refused and never will be."""

    run_id: Name
    taken: int
    """How many events of the run: the next to send has this number, also where events before it are missing."""


class MinionEventsAck(_Message, tag="minion-events-ack", frozen=True, kw_only=True):
    """Answer to `MinionEvents`: these are in the controller's store, or were refused and never will be."""

    stream: Name
    taken: int
    """How many events of the stream: the next to send has this number."""


class ResultRefused(_Message, tag="result-refused", frozen=True, kw_only=True):
    """The result is not in the controller's store and never will be: the minion need not send it again."""

    run_id: Name
    reason: str


class FileFound(_Message, tag="file-found", frozen=True, kw_only=True):
    """Answer to `FindFile`; an empty oid says that there is no such file."""

    request: int
    oid: str = ""
    size: int = 0
    mode: int = 0
    """Permission bits, as `0o755`; 0 from a controller that does not tell."""


class FileList(_Message, tag="file-list", frozen=True, kw_only=True):
    """Answer to `ListFiles`: path -> oid."""

    request: int
    files: dict[str, str]
    modes: dict[str, int] = {}
    """Path -> permission bits, for the files that are not `0o644`."""
    links: dict[str, str] | None = None
    """Path -> target of the symlinks, what they lead to being among the files; None from a controller that does not
    tell."""
    saltenvs: tuple[str, ...] = ()
    """All of them, where they were asked for."""


class Blob(_Message, tag="blob", frozen=True, kw_only=True):
    """Answer to `GetBlob`; `total` is the whole size in bytes, -1 when there is no such content."""

    request: int
    oid: str
    offset: int
    total: int
    data: bytes


class MineFound(_Message, tag="mine-found", frozen=True, kw_only=True):
    """Answer to `GetMine`."""

    request: int
    answer: FactAnswer


class StatesFound(_Message, tag="states-found", frozen=True, kw_only=True):
    """Answer to `GetStates`."""

    request: int
    document: bytes = b""
    """Packed as that of a `Call`; empty: they do not compile."""
    errors: tuple[str, ...] = ()
    """Why not, ready to be shown."""


class OptionsFound(_Message, tag="options-found", frozen=True, kw_only=True):
    """Answer to `GetOptions`."""

    request: int
    options: dict[str, Any] = {}
    """By Salt's names; those that are not there have Salt's defaults."""
    tops: bool = False
    """Whether external sources (`master_tops`) say SLS beside the top files."""


class FilePushed(_Message, tag="file-pushed", frozen=True, kw_only=True):
    """Answer to `PushFile`: so many bytes of the file are kept now."""

    request: int
    size: int


class Published(_Message, tag="published", frozen=True, kw_only=True):
    """Answer to `PublishCall`."""

    request: int
    jid: str = ""
    """Of the job, or of the call of the runner."""
    returns: dict[str, Any] = {}
    """Minion -> what it returned, of those that did in time; `value` -> what the runner returned."""
    failed: tuple[str, ...] = ()
    """Minions among them whose function failed; `value`, where the runner did."""


# --- controller -> everyone with an accepted key, on 4505 -----------------------------------------------------------


class Heartbeat(_Message, tag="beat", frozen=True, kw_only=True):
    """The controller is there. A new epoch asks every minion for a new `Hello`. Nothing secret goes here."""

    epoch: Name
    serial: int
    """Rises with every heartbeat of an epoch; the minion drops one that does not."""
    time: float
    """Seconds since the epoch."""


ToController: TypeAlias = (
    KeyRequest
    | Hello
    | Grains
    | KeepAlive
    | Held
    | ResyncRequired
    | RunStarted
    | RunProgress
    | RunResult
    | RunEvents
    | MinionEvents
    | FindFile
    | ListFiles
    | GetBlob
    | FactAnswers
    | Mine
    | GetMine
    | GetStates
    | PublishCall
    | GetOptions
    | PushFile
    | NewKey
    | Bye
    | FromRelay
)
ToMinion: TypeAlias = (
    KeyState
    | RotateKey
    | NextControllerKey
    | HelloAck
    | AliveInterval
    | Refused
    | DesiredUpdate
    | Run
    | Autonomy
    | Confirmed
    | Preview
    | Call
    | CheckCalls
    | FactRequest
    | ResultAck
    | RunEventsAck
    | MinionEventsAck
    | ResultRefused
    | FileFound
    | FileList
    | Blob
    | MineFound
    | StatesFound
    | Published
    | OptionsFound
    | FilePushed
    | Heartbeat
    | ToRelay
)
