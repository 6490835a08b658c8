"""Any other sender, with a script of its own: an HMAC of the body in `X-Saltern-Signature`."""

from controller.forges.forge import Forge, SignatureHeader

FORGE = Forge(
    name="any other sender",
    verifiers=(SignatureHeader("x-saltern-signature"),),
    delivery_headers=("x-saltern-delivery",),
)
