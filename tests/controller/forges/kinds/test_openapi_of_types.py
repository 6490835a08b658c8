"""TypeScript types of an API back to the document that they were made of."""

from __future__ import annotations

from tools.openapi_of_types import document_of

SOURCE = """
export interface paths {
    readonly "/pulls/{id}": {
        readonly parameters: { readonly query?: never; };
        /** Get "one"; { is no brace. */
        readonly get: operations["getOne"];
        readonly put: {
            readonly parameters: { readonly query: { readonly "api-version": string; top?: number }; };
            readonly requestBody: {
                readonly content: { readonly "application/json": components["schemas"]["pull"]; };
            };
            readonly responses: {
                readonly 200: {
                    headers: { readonly [name: string]: unknown; };
                    content: { readonly "application/json": readonly components["schemas"]["pull"][]; };
                };
            };
        };
        readonly post?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        readonly pull: components["schemas"]["object"] & {
            readonly state?: "OPEN" | "MERGED";
            readonly labels: (string | null)[];
        };
        readonly object: { readonly type: "object"; readonly [key: string]: unknown };
    };
}
export interface operations {
    readonly getOne: { readonly responses: { readonly 204: { content?: never; }; }; };
}
"""


def test_paths_and_schemas():
    found = document_of(SOURCE)
    pull = {"$ref": "#/components/schemas/pull"}
    got, put = (found["paths"]["/pulls/{id}"][method] for method in ("get", "put"))
    assert list(found["paths"]["/pulls/{id}"]) == ["get", "put"]
    assert got == {"parameters": [], "responses": {"204": {"content": {}}}}
    assert put["parameters"] == [
        {"name": "api-version", "in": "query", "schema": {"type": "string"}, "required": True},
        {"name": "top", "in": "query", "schema": {"type": "number"}, "required": False},
    ]
    assert put["requestBody"]["content"] == {"application/json": {"schema": pull}}
    answered = put["responses"]["200"]["content"]["application/json"]["schema"]
    assert answered == {"type": "array", "items": pull}
    schemas = found["components"]["schemas"]
    assert schemas["object"] == {"type": "object", "properties": {"type": {"type": "string"}}}
    base, own = schemas["pull"]["allOf"]
    assert base == {"$ref": "#/components/schemas/object"}
    assert own["required"] == ["labels"]
    assert own["properties"]["state"] == {"enum": ["OPEN", "MERGED"]}
    assert own["properties"]["labels"] == {"type": "array", "items": {"anyOf": [{"type": "string"}, {}]}}
