"""The pages over a whole application in a temporary folder."""

from tests.faces.web.browsing_in_process import ana as ana
from tests.faces.web.browsing_in_process import bare as bare
from tests.faces.web.browsing_in_process import clock as clock
from tests.faces.web.browsing_in_process import hall as hall
