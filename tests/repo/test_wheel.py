"""The wheel, built from the sdist: both packages, their data, their markers, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile

from tests.repo.tree import ROOT

NEEDED = {
    "gateway/py.typed",
    "gateway/policies/default.yaml",
    "broker/py.typed",
    "broker/endpoints/static/style.css",
    "broker/endpoints/templates/consent.html",
}


def test_the_wheel_from_the_sdist_holds_what_is_needed_and_nothing_else(tmp_path):
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("counterfoil-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names >= NEEDED
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"gateway", "broker"}
    shipped = {str(path.relative_to(ROOT)) for top in tops for path in (ROOT / top).rglob("*.py")}
    assert shipped <= names
