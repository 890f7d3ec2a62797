"""The routes of the pages about vaults: connections, keys, vaults and their members, activity."""

from starlette.routing import Route

from archivist.web.frame import HOME, Frame
from archivist.web.pages import activity, connections, keys, vault, vaults
from archivist.web.pages.approvals import approval_routes
from archivist.web.pages.listed import listed


def vault_routes(frame: Frame) -> list[Route]:
    """Each list is also there as JSON; its address comes first, for an id can be spelled like it."""
    return [*_connections(frame), *_keys(frame), *_vaults(frame), *approval_routes(frame), *_activity(frame)]


def _connections(frame: Frame) -> list[Route]:
    return [
        listed(frame, "/app/connections.json", connections.rows),
        listed(frame, "/app/connections/{id}.json", connections.one),
        frame.route("/app/connections", connections.list_page),
        frame.route("/app/connections/{id}", connections.page),
        frame.act("/app/connections/{id}/revoke", connections.revoke, HOME),
    ]


def _keys(frame: Frame) -> list[Route]:
    return [
        listed(frame, "/app/keys.json", keys.rows),
        frame.route(keys.PATH, keys.page),
        frame.route(keys.PATH, keys.make, ("POST",), proof="make this key", back=keys.PATH),
        frame.act("/app/keys/{id}/rotate", keys.rotate, keys.PATH, proof="renew this key"),
        frame.act("/app/keys/{id}/revoke", keys.revoke, keys.PATH),
    ]


def _vaults(frame: Frame) -> list[Route]:
    own, back = "/app/vaults/{id}", vaults.PATH
    return [
        listed(frame, "/app/vaults.json", vaults.rows),
        listed(frame, f"{own}.json", vault.rows),
        frame.route(back, vaults.page),
        frame.route(back, vaults.make, ("POST",)),
        frame.route(own, vault.page),
        frame.act(f"{own}/leave", vault.leave, back),
        frame.act(f"{own}/invitations", vault.invite, back, proof="invite somebody"),
        frame.act(f"{own}/invitations/{{invitation}}/withdraw", vault.withdraw, back),
        frame.act(f"{own}/members/{{member}}/role", vault.set_role, back, proof="change this role"),
        frame.act(f"{own}/members/{{member}}/remove", vault.remove, back, proof="remove this member"),
    ]


def _activity(frame: Frame) -> list[Route]:
    return [listed(frame, "/app/activity.json", activity.rows), frame.route(activity.PATH, activity.page)]
