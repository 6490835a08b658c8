"""Gitea and Forgejo: https://forgejo.org/docs/latest/user/webhooks/"""

from controller.forges.forge import Forge, SignatureHeader

FORGE = Forge(
    name="Gitea, Forgejo",
    verifiers=(SignatureHeader("x-forgejo-signature"), SignatureHeader("x-gitea-signature")),
    delivery_headers=("x-forgejo-delivery", "x-gitea-delivery"),
)
