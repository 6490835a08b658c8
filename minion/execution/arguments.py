"""Types of parameters that only Salt's functions give a meaning: refused here, or accepted without effect.

Used in signatures of execution functions, where each stands in the place that it has in Salt's.
"""

from __future__ import annotations

from typing import Annotated, Any

from minion.arguments.types import Ignored, Unsupported

NotSupported = Annotated[Any, Unsupported("leave it out, or use cmd.run")]
OtherRoot = Annotated[Any, Unsupported("accounts are those of this system")]

AlwaysDone = Annotated[Any, Ignored("it is what is done in any case")]
Announced = Annotated[Any, Ignored("the option `state_events` of the minion says it")]
AnyTime = Annotated[Any, Ignored("a job is found by its command or identifier")]
BufferSize = Annotated[Any, Ignored("files are read whole")]
CompiledPillar = Annotated[Any, Ignored("the pillar is the one that was compiled for this minion")]
InnerArgument = Annotated[Any, Ignored("Salt's functions pass it to each other")]
KeptOrder = Annotated[Any, Ignored("order is kept in any case")]
LocalAccounts = Annotated[Any, Ignored("useradd and groupadd know the local files alone")]
NoCache = Annotated[Any, Ignored("nothing is cached that this would refresh")]
NoCommandLog = Annotated[Any, Ignored("commands are not logged")]
NoExitCodeLog = Annotated[Any, Ignored("exit codes are not logged")]
NoLocale = Annotated[Any, Ignored("a command has the locale of the minion")]
NoLoginClass = Annotated[Any, Ignored("Linux has no login classes")]
NoModules = Annotated[Any, Ignored("a minion loads no modules of this kind")]
NoPassword = Annotated[Any, Ignored("it is for Windows")]
NoRun = Annotated[Any, Ignored("no state is run")]
NoSync = Annotated[Any, Ignored("modules of the tree are synced before each run")]
NoTerminal = Annotated[Any, Ignored("no terminal is needed")]
NoTreeFile = Annotated[Any, Ignored("no file of a tree is read")]
OwnConfiguration = Annotated[Any, Ignored("a run has the minion's configuration")]
Utf8Output = Annotated[Any, Ignored("output is read as UTF-8")]
