"""What a controller calls in a Dask worker, by this name: the rooms of a wheel are found first.

Dask pickles a function as a reference: a machine of workers needs `pip install 'saltern[controller,dask]'` alone.
`dask worker --preload saltern.dask_step` loads the program before the first compile.
"""

from __future__ import annotations

from saltern import find_rooms

find_rooms()

from controller.compilation.cluster.worker_step import run_step as run_step  # noqa: E402 - after the rooms are found

__all__ = ["run_step"]
