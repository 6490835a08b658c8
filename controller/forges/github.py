"""GitHub: https://docs.github.com/en/webhooks/webhook-events-and-payloads"""

from controller.forges.forge import Forge, SignatureHeader

FORGE = Forge(
    name="GitHub",
    verifiers=(SignatureHeader("x-hub-signature-256"),),
    delivery_headers=("x-github-delivery",),
    ping=("x-github-event", "ping"),
)
