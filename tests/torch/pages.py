# SPDX-License-Identifier: MIT
"""The examples of documents run: pages.py DIRECTORY-OF-annex ANNEX PAGE...

Blocks that are marked python or sh run in their order, in one folder a page, by a user without
rights. ANNEX is the tool; ANNEX_LIBRARY says which library.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOOLS, TOOL, *PAGES = [os.path.abspath(path) for path in sys.argv[1:]]
sys.path.insert(0, TOOLS)
from annex import native  # noqa: E402
from claims import claim, summary  # noqa: E402

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]


def unprivileged():
    """A prefix for commands; none where this user has no rights, or others cannot read ANNEX."""
    tried = subprocess.run([*NOBODY, "test", "-x", TOOL], stderr=subprocess.DEVNULL, check=False)
    return NOBODY if tried.returncode == 0 else []


def run(language, text, folder):
    """Return: its exit status, and its words."""
    env = dict(os.environ, PYTHONPATH=TOOLS, XDG_CACHE_HOME=os.path.join(folder, "cache"),
               PATH=os.path.dirname(TOOL) + ":" + os.environ["PATH"], OMP_NUM_THREADS="1",
               PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, "-c", text] if language == "python" else ["bash", "-ec", text]
    done = subprocess.run([*unprivileged(), *command], cwd=folder, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=200)
    return done.returncode, done.stdout.decode(errors="replace")


def check(page):
    with open(page, encoding="utf-8") as file:
        blocks = re.findall(r"^```(python|sh)\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    name = os.path.basename(page)
    claim(f"{name} has examples", blocks)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        cache = os.path.join(folder, "cache", "annex")
        os.makedirs(cache)
        shutil.copy(native.built(False), cache)
        for language, text in blocks:
            code, words = run(language, text, folder)
            claim(f"{name}: {text[:200]}: {code}, {words}", code == 0)


def main():
    for page in PAGES:
        check(page)
    return summary()


sys.exit(main())
