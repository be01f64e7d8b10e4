"""One self-contained HTML page: a widget's state and the same bundle, opened from a file with no network.

The host that reads it is `js/src/host/static_page.ts`. Text from rollouts stands in the page only inside JSON blocks
that no HTML parser can leave; a content security policy allows no outside source.
"""

from __future__ import annotations

import base64
import hashlib
import html
import warnings
from pathlib import Path
from typing import Any

from opd_widgets.data.plain import json_text
from opd_widgets.data.whole_file import whole_file
from opd_widgets.errors import InvalidInputError, MissingDependencyError
from opd_widgets.widgets._base import STATIC, OpdWidget
from opd_widgets.widgets._scores_widget import ScoresWidget

# Runs and styles only what this package wrote, by its hash; the bundle is imported from a blob that the host makes.
_POLICY = "default-src 'none'; script-src {host} blob:; style-src {styles}; base-uri 'none'; form-action 'none'"
_FRAME = "body{margin:0;padding:16px}"


def write_page(widget: OpdWidget, path: str | Path, title: str = "opd_widgets", *, top_k: bool | None = None) -> Path:
    """Write a widget as one HTML file that reads without Python; scoring controls are hidden there.

    Args:
        widget: what to write, with its selection and edits.
        path: where; an existing file is replaced when the page is complete, a missing folder is made.
        title: the page's title.
        top_k: whether the likeliest tokens of either side are in it; by default where they take no more than 64 MB, and
            otherwise the page and a warning say that they are left out. Of views of scores only.

    Returns:
        The path written.

    Raises:
        MissingDependencyError: the front end of this checkout has not been built.
        InvalidInputError: no file can be written there.

    """
    with whole_file(path) as file:
        file.write(page_html(widget, title, top_k=top_k))
    return Path(path).expanduser()


def page_html(widget: OpdWidget, title: str = "opd_widgets", *, top_k: bool | None = None) -> str:
    """Return the page as text; see `write_page`."""
    if not isinstance(widget, OpdWidget):
        kind = type(widget).__name__
        msg = f"found {kind}, expected a widget such as opd.Explorer(scores)"
        raise InvalidInputError(msg)
    stem = _stem(widget)
    css, host = _built(f"{stem}.css"), _built("static_page.js")
    page = {"widget": stem, "state": _state(widget, top_k)}
    return _TEMPLATE.format(
        policy=_POLICY.format(host=_hash(host), styles=f"{_hash(_FRAME)} {_hash(css)}"),
        title=html.escape(title.encode("utf-8", "replace").decode("utf-8")),
        frame=_FRAME,
        css=css,
        state=_embed(_packed(page)),
        bundle=_embed(_built(f"{stem}.js")),
        host=host,
    )


_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{frame}</style>
<style>{css}</style></head>
<body data-theme="light"><main><h1 class="opd-announce">{title}</h1><div id="opd-mount"></div></main>
<noscript>This page needs JavaScript.</noscript>
<script type="application/json" id="opd-state">{state}</script>
<script type="application/json" id="opd-bundle">{bundle}</script>
<script>{host}</script>
</body></html>
"""


def _state(widget: OpdWidget, top_k: bool | None) -> dict[str, Any]:  # noqa: FBT001 - as the caller said it by name
    if not isinstance(widget, ScoresWidget):
        return widget.page_state()
    state = widget.page_state(top_k=top_k)
    told = len(widget.scores.notes)
    for note in state["scores"]["meta"]["notes"][told:]:
        warnings.warn(note, stacklevel=4)
    return state


def _stem(widget: OpdWidget) -> str:
    """Return the bundle's name: the module's, one stem for class, module and bundle."""
    return type(widget).__module__.rpartition(".")[2]


def _built(name: str) -> str:
    path = STATIC / name
    if not path.exists():
        msg = f"the page needs the built front end and {name} is missing; run `make build-js` in the checkout"
        raise MissingDependencyError(msg)
    return path.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return how a content security policy names an inline script or style of this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _packed(value: Any) -> Any:
    """Return a state with every buffer as base64 and every number JSON can hold."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$buffer": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, dict):
        return {str(key): _packed(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(entry) for entry in value]
    return value


def _embed(value: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return json_text(value).replace("<", "\\u003c").replace("\u2028", "\\u2028")
