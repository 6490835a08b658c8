"""GitHub: https://docs.github.com/en/webhooks/webhook-events-and-payloads"""

from controller.forges.forge import Forge, signature

FORGE = Forge(
    name="GitHub",
    proofs=(signature("x-hub-signature-256"),),
    delivery_headers=("x-github-delivery",),
    ping=("x-github-event", "ping"),
)
