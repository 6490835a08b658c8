"""Any other sender of webhooks, with a script of its own: an HMAC of the body in `X-Saltern-Signature`."""

from controller.forges.forge import Webhooks
from controller.forges.verifiers import SignatureHeader

WEBHOOKS = Webhooks(
    verifiers=(SignatureHeader("x-saltern-signature"),),
    delivery_headers=("x-saltern-delivery",),
)
