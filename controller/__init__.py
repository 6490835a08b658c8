"""The top floor: reconcile, plan, publish, preview, store, metrics, API, CLI. Nothing imports it."""
