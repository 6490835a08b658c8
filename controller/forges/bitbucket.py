"""Bitbucket Cloud and Data Center: https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/"""

from controller.forges.forge import Forge, SignatureHeader

FORGE = Forge(
    name="Bitbucket",
    verifiers=(SignatureHeader("x-hub-signature"),),
    delivery_headers=("x-request-uuid", "x-request-id"),
    ping=("x-event-key", "diagnostics:ping"),
)
