"""Gitea and Forgejo: https://forgejo.org/docs/latest/user/webhooks/"""

from controller.forges.forge import Forge, signature

FORGE = Forge(
    name="Gitea, Forgejo",
    proofs=(signature("x-forgejo-signature"), signature("x-gitea-signature")),
    delivery_headers=("x-forgejo-delivery", "x-gitea-delivery"),
)
