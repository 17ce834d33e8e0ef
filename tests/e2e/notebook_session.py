"""Runs a notebook in a kernel of this Python, as its reader would, and prints it with its outputs.

usage: notebook_session.py NOTEBOOK, in the environment of tests/oracles notebook. A JSON object on
stdin takes the place of {} in the cell that is tagged "parameters".
"""

import json
import sys
import tempfile

import jupyter_client
import nbclient
import nbformat

notebook = nbformat.read(sys.argv[1], as_version=4)
[cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
cell.source = cell.source.replace("{}", repr(json.load(sys.stdin)))
with tempfile.TemporaryDirectory() as folder:
    # Not by TCP, whose ports are chosen long before the kernel takes them.
    kernel = jupyter_client.AsyncKernelManager(
        kernel_name="python3", transport="ipc", ip=f"{folder}/kernel"
    )
    nbclient.NotebookClient(notebook, km=kernel, timeout=250).execute()
print(nbformat.writes(notebook))
