"""The execution module `mongodb`: databases, users and documents of a MongoDB server.

Behaviour: salt.modules.mongodb of saltext-mongodb. Documents are taken and given in MongoDB's Extended JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.machine.failure import StateFailed
from minion.providers.stores.mongodb import Mongodb, MongodbLogin, as_documents, mongodb_at, roles_of

_BETWEEN = re.compile(r"(?<=})\s+(?={)")
"""Between the two documents of `update_one`."""


def db_list(context: Context, login: MongodbLogin) -> list[str]:
    """Names of all databases."""
    return _server(context, login).databases()


def db_exists(context: Context, name: str, login: MongodbLogin) -> bool:
    """Whether there is a database."""
    return name in _server(context, login).databases()


def db_remove(context: Context, name: str, login: MongodbLogin) -> bool:
    """Delete a database."""
    _server(context, login).drop_database(name)
    return True


def version(context: Context, *, database: str = "admin", login: MongodbLogin) -> str:
    """Version of the server."""
    return str(_server(context, login).command(database, "buildInfo")["version"])


def user_find(context: Context, name: str, *, database: str = "admin", login: MongodbLogin) -> list[Any]:
    """What the server tells of a user; empty where there is none."""
    return [_plain(one) for one in _server(context, login).users(database, name)]


def user_list(context: Context, *, database: str = "admin", login: MongodbLogin) -> list[dict[str, Any]]:
    """The users of a database, and their roles."""
    return [{"user": one["user"], "roles": _plain(one["roles"])} for one in _server(context, login).users(database)]


def user_exists(context: Context, name: str, *, database: str = "admin", login: MongodbLogin) -> bool:
    """Whether a database has a user."""
    return bool(_server(context, login).users(database, name))


def user_create(
    context: Context, name: str, passwd: str, *, database: str = "admin", roles: AnyValue = None, login: MongodbLogin
) -> bool:
    """Make a user of a database, with its roles."""
    wanted = as_documents(roles_of(_documents(roles or []), database))
    _server(context, login).command(database, "createUser", name, pwd=passwd, roles=wanted)
    return True


def user_remove(context: Context, name: str, *, database: str = "admin", login: MongodbLogin) -> bool:
    """Delete a user of a database."""
    _server(context, login).command(database, "dropUser", name)
    return True


def user_roles_exists(context: Context, name: str, roles: AnyValue, database: str, login: MongodbLogin) -> bool:
    """Whether a user of a database has all of these roles."""
    wanted = roles_of(_documents(roles), database)
    found = _server(context, login).users(database, name)
    return bool(found) and set(wanted) <= set(roles_of(found[0]["roles"], database))


def user_grant_roles(context: Context, name: str, roles: AnyValue, database: str, login: MongodbLogin) -> bool:
    """Give a user roles."""
    wanted = as_documents(roles_of(_documents(roles), database))
    _server(context, login).command(database, "grantRolesToUser", name, roles=wanted)
    return True


def user_revoke_roles(context: Context, name: str, roles: AnyValue, database: str, login: MongodbLogin) -> bool:
    """Take roles from a user."""
    wanted = as_documents(roles_of(_documents(roles), database))
    _server(context, login).command(database, "revokeRolesFromUser", name, roles=wanted)
    return True


def collection_create(context: Context, collection: str, *, database: str = "admin", login: MongodbLogin) -> bool:
    """Make a collection."""
    with _server(context, login, database).connected() as client:
        client[database].create_collection(collection)
    return True


def collection_drop(context: Context, collection: str, *, database: str = "admin", login: MongodbLogin) -> bool:
    """Delete a collection, with its documents."""
    with _server(context, login, database).connected() as client:
        client[database].drop_collection(collection)
    return True


def collections_list(context: Context, *, database: str = "admin", login: MongodbLogin) -> list[str]:
    """Names of the collections of a database."""
    with _server(context, login, database).connected() as client:
        return client[database].list_collection_names()


def insert(
    context: Context, objects: AnyValue, collection: str, *, database: str = "admin", login: MongodbLogin
) -> bool:
    """Put documents into a collection: a list of them, or its JSON."""
    documents = _documents(objects)
    with _server(context, login, database).connected() as client:
        return client[database][collection].insert_many(documents).acknowledged


def update_one(context: Context, objects: str, collection: str, *, database: str = "admin", login: MongodbLogin) -> str:
    """Set fields of the one document that a query finds: the query and the fields, in JSON, a space between them."""
    parts = _BETWEEN.split(objects)
    if len(parts) != 2:
        raise StateFailed('Your request does not contain a valid \'{_"id": "my_id"} {"my_doc": "my_val"}\'')
    query, fields = map(_documents, parts)
    with _server(context, login, database).connected() as client:
        found = list(client[database][collection].find(query).limit(2))
        if not found:
            raise StateFailed("Did not find any result. You should try an insert before.")
        if len(found) > 1:
            raise StateFailed("Too many results. Please try to be more specific.")
        changed = client[database][collection].update_one(query, {"$set": fields}).modified_count
    return f"{changed} objects updated"


def find(
    context: Context, collection: str, query: AnyValue = None, *, database: str = "admin", login: MongodbLogin
) -> list[Any]:
    """Documents of a collection that a query finds, or a list of them."""
    queries = _documents(query)
    with _server(context, login, database).connected() as client:
        each = queries if isinstance(queries, list) else [queries]
        return [_plain(one) for asked in each for one in client[database][collection].find(asked)]


def remove(
    context: Context, collection: str, query: AnyValue = None, *, database: str = "admin", w: int = 1,
    login: MongodbLogin,
) -> str:  # fmt: skip
    """Delete documents that a query finds, or a list of them: `w` of each at most."""
    queries = _documents(query)
    deleted = 0
    with _server(context, login, database).connected() as client:
        for asked in queries if isinstance(queries, list) else [queries]:
            for _ in range(w):
                deleted += client[database][collection].delete_one(asked or {}).deleted_count
    return f"{deleted} objects removed"


def _server(context: Context, login: MongodbLogin, database: str = "admin") -> Mongodb:
    return mongodb_at(context.machine, login, database=database)


def _documents(given: Any) -> Any:
    """A document, or documents, of their JSON. StateFailed where it is none."""
    text = given if isinstance(given, str) else json.dumps(given, default=str)
    try:
        from bson import json_util

        return json_util.loads(text)
    except ImportError:
        return json.loads(text)  # the server's class says what to install
    except (ValueError, TypeError) as error:
        raise StateFailed(f"Could not parse objects: {error}") from None


def _plain(document: Mapping[str, Any] | Sequence[Any]) -> Any:
    """A document as values that JSON has."""
    from bson import json_util

    return json.loads(json_util.dumps(document, json_options=json_util.RELAXED_JSON_OPTIONS))


_ALL = (
    collection_create, collection_drop, collections_list, db_exists, db_list, db_remove, find, insert, remove,
    update_one, user_create, user_exists, user_find, user_grant_roles, user_list, user_remove, user_revoke_roles,
    user_roles_exists, version,
)  # fmt: skip

FUNCTIONS: Mapping[str, Any] = {function.__name__: function for function in _ALL}
