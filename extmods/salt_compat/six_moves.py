"""`salt.ext.six.moves`: where Python 3 has what Python 2 had elsewhere."""

from __future__ import annotations

import builtins as builtins
import configparser as configparser
import http.client as http_client
import io
import pickle as cPickle  # noqa: N812  (the name that user modules know)
import queue as queue
import shlex
import urllib as urllib
from collections import UserDict as UserDict
from functools import reduce as reduce
from itertools import filterfalse as filterfalse
from itertools import zip_longest as zip_longest
from sys import intern as intern

cStringIO = StringIO = io.StringIO  # noqa: N816
filter, input, map, range, xrange, zip = filter, input, map, range, range, zip  # noqa: A001
shlex_quote = shlex.quote

__all__ = ["builtins", "cPickle", "configparser", "http_client", "queue", "urllib"]
