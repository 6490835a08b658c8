"""The routes of the API, a module a noun. `controller.api.app` puts them together."""
