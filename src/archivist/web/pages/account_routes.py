"""The routes of the pages around accounts: coming in, one-time links, one's own account, and people."""

from starlette.routing import Route

from archivist.web.frame import Frame
from archivist.web.pages.account import account_page_routes
from archivist.web.pages.invitation import invitation_routes
from archivist.web.pages.people import people_routes
from archivist.web.pages.recovery import recovery_routes
from archivist.web.pages.set_up import set_up_routes
from archivist.web.pages.sign_in import sign_in_routes
from archivist.web.pages.two_factor import two_factor_routes


def account_routes(frame: Frame) -> list[Route]:
    """Those of every page here."""
    return [
        *sign_in_routes(frame),
        *set_up_routes(frame),
        *invitation_routes(frame),
        *recovery_routes(frame),
        *account_page_routes(frame),
        *two_factor_routes(frame),
        *people_routes(frame),
    ]
