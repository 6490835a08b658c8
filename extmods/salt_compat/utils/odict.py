"""`salt.utils.odict`: ordered mappings."""

from collections import OrderedDict, defaultdict

DefaultOrderedDict = defaultdict

__all__ = ["DefaultOrderedDict", "OrderedDict"]
