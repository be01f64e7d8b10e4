"""The layout's rules, each checked on this checkout, and each shown to fail on a bad one."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from tests.checkout import ROOT, project_files

PACKAGE = "opd_widgets"
# A folder imports only from its left. `__init__` is the package's own file, the public face.
LIBRARY = ["errors", "data", "measures", "models", "scoring", "diagnosis", "figures"]
ORDER = [*LIBRARY, "widgets", "demo", "__init__", "cli", "__main__"]
HEAVY = {"torch", "transformers"}
# The local model, by concern, and PyTorch's compiler.
LOCAL_MODELS = re.compile(rf"{PACKAGE}/models/(hf(_[a-z]+)?|torch_compile)\.py")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
SOURCE_SUFFIXES = {".py", ".ts", ".css", ".mjs", ".js"}
# Layer -> the layers it may import. A view may also name the types of what it is shown.
JS_LAYERS = {
    "core": {"core"},
    "view": {"core", "view"},
    "model": {"core", "model"},
    "host": {"host"},
    "widgets": {"core", "view", "model", "host", "widgets"},
}
VIEW_TYPES = {
    "model/alignment_data",
    "model/contract",
    "model/codec",
    "model/dataset",
    "model/diagnosis_contract",
    "model/places",
    "model/progress_contract",
    "model/top_windows",
}
JS_IMPORT = re.compile(
    r"""^\s*(?:import|export)\s+(?P<type>type\s)?[^;'"]*?from\s*["'](?P<of>[^"']+)["']"""
    r"""|^\s*import\s*["'](?P<bare>[^"']+)["']"""
    r"""|\bimport\s*\(\s*["'](?P<dynamic>[^"']+)["']""",
    re.MULTILINE,
)
# Spelled with a class of one letter, so that this file does not hold what it looks for.
UNFINISHED = re.compile(r"\bTOD[O]\b|\bFIXM[E]\b|\bNotImplemented[E]rror\b")
# What only a page has: numbers and data are worked out without one.
JS_DOM = re.compile(r"\bdocument\.|\bHTMLElement\b")
HTML_SINK = re.compile(r"\b(?:inner|outer)HTM[L]\b|\binsertAdjacentHTM[L]\b|\bdocument\.writ[e]\b")
# A bundle may serve several views: what one of them remembers is made with it.
JS_STATE = re.compile(r"^(?:export )?(?:let|var)\b", re.MULTILINE)
# Text that is written past dom.ts keeps what hides or turns round its neighbours.
RAW_TEXT = re.compile(
    r"""\.(?:textContent|innerText|nodeValue|title|placeholder|ariaLabel)\s*=(?!=)|\.setAttribute\(|\bcreateTextNode\("""
    r"""|\.(?:append|prepend|before|after|replaceWith|replaceChildren)\(\s*["'`]"""
)
# What makes text harmless, and the text of tokens, whose marks are made in Python and which is copied as it is.
RAW_TEXT_FILES = {"js/src/view/dom.ts", "js/src/view/text/cell.ts"}
MACHINE_PATH = re.compile(r"(?:^|[^\w.-])/(?:work|farm|root|tmp)/", re.MULTILINE)
REGISTRY_HOST = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|yarnpkg)[.](?:org|com)\b|\b(?:download[.]pytorch|deb[.]debian)\b"
)


@dataclass(frozen=True)
class Import:
    """One import statement's target, as an absolute dotted name."""

    name: str
    line: int


class Checkout:
    """The text files under a root, with the Python modules among them by dotted name."""

    def __init__(self, root: Path) -> None:
        self.texts: dict[str, str] = {}
        for name in project_files(root):
            try:
                self.texts[name] = (root / name).read_text("utf-8")
            except UnicodeDecodeError:
                continue  # weights and pictures
        self.modules = {
            _dotted(name): name for name in self.texts if name.startswith(f"{PACKAGE}/") and name.endswith(".py")
        }

    def sources(self, *suffixes: str, under: str = "") -> Iterator[tuple[str, str]]:
        wanted = set(suffixes) or SOURCE_SUFFIXES
        for name, text in self.texts.items():
            if PurePosixPath(name).suffix in wanted and name.startswith(under):
                yield name, text

    def imports(self, module: str) -> Iterator[Import]:
        path = self.modules[module]
        package = module if path.endswith("/__init__.py") else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(self.texts[path])):
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                parents = package.split(".")
                base = parents[: len(parents) - node.level + 1] if node.level else []
                start = ".".join([*base, *([node.module] if node.module else [])])
                yield from (Import(f"{start}.{a.name}", node.lineno) for a in node.names)

    def module_of(self, name: str) -> str | None:
        """The module that a dotted name comes from, or None where it is none of ours."""
        while name and name not in self.modules:
            name = name.rpartition(".")[0]
        return name or None


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _folder(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def folder_order(checkout: Checkout) -> Iterator[str]:
    for module, path in checkout.modules.items():
        folder = _folder(module)
        if folder not in ORDER:
            yield f"{path}: {folder} has no place in the order of imports"
            continue
        for found in checkout.imports(module):
            if found.name.split(".")[0] != PACKAGE:
                continue
            parts = found.name.split(".")
            target = parts[1] if parts[1:2] and parts[1] in ORDER else "__init__"
            if ORDER.index(target) > ORDER.index(folder):
                yield f"{path}:{found.line}: {folder} imports {found.name}, from its right"


def no_circles(checkout: Checkout) -> Iterator[str]:
    graph: dict[str, set[str]] = {module: set() for module in checkout.modules}
    for module, targets in graph.items():
        for found in checkout.imports(module):
            target = checkout.module_of(found.name)
            if target and target != module and _folder(target) == _folder(module):
                targets.add(target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield "a circle of imports: " + " -> ".join(error.args[1])


def one_torch_file(checkout: Checkout) -> Iterator[str]:
    for module, path in checkout.modules.items():
        trains = path.startswith(f"{PACKAGE}/demo/") and path != f"{PACKAGE}/demo/lab.py"
        if trains or LOCAL_MODELS.fullmatch(path):
            continue
        for found in checkout.imports(module):
            if found.name.split(".")[0] in HEAVY:
                yield f"{path}:{found.line}: imports {found.name}; only models/hf*.py and torch_compile.py do"


def no_catch_all_files(checkout: Checkout) -> Iterator[str]:
    for name in checkout.texts:
        if PurePosixPath(name).name.partition(".")[0].strip("_") in {"util", "utils"}:
            yield f"{name}: name a file after the concept that it holds"


def short_files(checkout: Checkout) -> Iterator[str]:
    for name, text in checkout.sources():
        lines = len(text.splitlines())
        if lines > MAX_FILE_LINES:
            yield f"{name}: {lines} lines, at most {MAX_FILE_LINES}"


def short_functions(checkout: Checkout) -> Iterator[str]:
    for name, text in checkout.sources(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = _code_lines(node)
                if lines > MAX_FUNCTION_LINES:
                    place = f"{name}:{node.lineno}: {node.name}"
                    yield f"{place} has {lines} lines, at most {MAX_FUNCTION_LINES}"


def _code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring: explaining more is not doing more."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def js_layers(checkout: Checkout) -> Iterator[str]:
    for name, text in checkout.sources(".ts", under="js/src/"):
        layer = name.split("/")[2]
        if name.endswith((".test.ts", ".d.ts")):
            continue
        if layer not in JS_LAYERS:
            yield f"{name}: {layer} is none of the layers {', '.join(JS_LAYERS)}"
            continue
        for match in JS_IMPORT.finditer(text):
            target = _js_target(name, match["of"] or match["bare"] or match["dynamic"])
            if target is None or target.split("/")[0] in JS_LAYERS[layer]:
                continue
            if layer == "view" and match["type"] and target in VIEW_TYPES:
                continue
            yield f"{name}: {layer} imports {target}"


def js_no_dom(checkout: Checkout) -> Iterator[str]:
    for layer in ("core", "model"):
        yield from _without(JS_DOM, checkout.sources(".ts", under=f"js/src/{layer}/"))


def js_wings(checkout: Checkout) -> Iterator[str]:
    """In `view`, what all use stands on top, and `text` beside the views that are made of it; no view knows another."""
    for name, text in checkout.sources(".ts", under="js/src/view/"):
        own = name.split("/")[3:-1]
        for match in JS_IMPORT.finditer(text):
            target = _js_target(name, match["of"] or match["bare"] or match["dynamic"])
            wing = target.split("/")[1:-1] if target and target.startswith("view/") else []
            if wing and wing != own and (wing != ["text"] or not own):
                yield f"{name}: {'/'.join(own) or 'what all views use'} imports {target}"


def _js_target(name: str, specifier: str) -> str | None:
    """The imported file below js/src without its ending; None where it is a package."""
    if not specifier.startswith("."):
        return None
    parts = name.split("/")[:-1]
    for part in specifier.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return re.sub(r"\.[jt]s$", "", "/".join(parts[2:]))


def _without(pattern: re.Pattern[str], sources: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in sources:
        for match in pattern.finditer(text):
            yield f"{name}:{text.count(chr(10), 0, match.end()) + 1}: {match.group().strip()}"


def no_html_from_data(checkout: Checkout) -> Iterator[str]:
    yield from _without(HTML_SINK, checkout.sources(".ts", under="js/src/"))


def js_no_module_state(checkout: Checkout) -> Iterator[str]:
    yield from _without(JS_STATE, checkout.sources(".ts", under="js/src/"))


def js_text_through_dom(checkout: Checkout) -> Iterator[str]:
    views = checkout.sources(".ts", under="js/src/view/")
    yield from _without(RAW_TEXT, (view for view in views if view[0] not in RAW_TEXT_FILES))


def nothing_unfinished(checkout: Checkout) -> Iterator[str]:
    yield from _without(UNFINISHED, checkout.sources())


def no_machine_paths(checkout: Checkout) -> Iterator[str]:
    yield from _without(MACHINE_PATH, checkout.texts.items())


def no_registry_hosts(checkout: Checkout) -> Iterator[str]:
    yield from _without(REGISTRY_HOST, checkout.texts.items())


RULES: list[Callable[[Checkout], Iterator[str]]] = [
    folder_order,
    no_circles,
    one_torch_file,
    no_catch_all_files,
    short_files,
    short_functions,
    js_layers,
    js_no_dom,
    js_wings,
    no_html_from_data,
    js_no_module_state,
    js_text_through_dom,
    nothing_unfinished,
    no_machine_paths,
    no_registry_hosts,
]


@pytest.fixture(scope="module")
def checkout() -> Checkout:
    return Checkout(ROOT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_this_checkout_keeps(rule, checkout):
    problems = list(rule(checkout))
    assert not problems, "\n".join(problems)


LONG_FUNCTION = "def f():\n" + "    pass\n" * MAX_FUNCTION_LINES
# What a rule must find. A tilde is dropped: this file is under the same rules.
BREACHES = [
    (folder_order, "opd_widgets/data/a.py", "from opd_widgets.widgets import b"),
    (folder_order, "opd_widgets/data/a.py", "from ..scoring.jobs import Job"),
    (folder_order, "opd_widgets/errors.py", "import opd_widgets.data.rollout"),
    (folder_order, "opd_widgets/errors.py", "def f():\n    from .data import rollout"),
    (folder_order, "opd_widgets/demo/a.py", "from opd_widgets import Rollout"),
    (folder_order, "opd_widgets/extra/a.py", ""),
    (no_circles, "opd_widgets/data/base.py", "from opd_widgets.data.leaf import X"),
    (no_circles, "opd_widgets/data/base.py", "from . import leaf"),
    (one_torch_file, "opd_widgets/scoring/score.py", "import torch.nn.functional as F"),
    (one_torch_file, "opd_widgets/demo/lab.py", "def f():\n    from transformers import AutoModel"),
    (no_catch_all_files, "opd_widgets/data/utils.py", ""),
    (no_catch_all_files, "js/src/core/utils.ts", ""),
    (short_files, "js/src/core/a.ts", "\n" * (MAX_FILE_LINES + 1)),
    (short_functions, "tests/test_a.py", LONG_FUNCTION),
    (js_layers, "js/src/core/a.ts", 'import { draw } from "../view/strip";'),
    (js_layers, "js/src/view/a.ts", 'import { decode } from "../model/codec";'),
    (js_layers, "js/src/view/a.ts", 'import type { Rpc } from "../model/rpc";'),
    (js_layers, "js/src/model/a.ts", 'export {\n  draw,\n} from "../view/strip.ts";'),
    (js_layers, "js/src/model/a.ts", 'const w = await import("../widgets/explorer");'),
    (js_layers, "js/src/host/a.ts", 'import "../core/colour";'),
    (js_layers, "js/src/other/a.ts", ""),
    (js_no_dom, "js/src/core/a.ts", "const width = document.body.clientWidth;"),
    (js_no_dom, "js/src/model/a.ts", "export const of = (node: HTMLElement) => 1;"),
    (js_wings, "js/src/view/tree/a.ts", 'import { b } from "../explorer/b";'),
    (js_wings, "js/src/view/a.ts", 'import { b } from "./text/b";'),
    (js_wings, "js/src/view/text/a.ts", 'import type { B } from "../tree/b";'),
    (no_html_from_data, "js/src/view/a.ts", "root.inner~HTML = text;"),
    (no_html_from_data, "js/src/view/a.ts", 'root.insertAdjacent~HTML("beforeend", text);'),
    (js_no_module_state, "js/src/view/a.ts", "const a = 1;\nlet last: Element | null = null;"),
    (js_no_module_state, "js/src/core/a.ts", "export let count = 0;"),
    (js_text_through_dom, "js/src/view/a.ts", "node.textContent = name;"),
    (js_text_through_dom, "js/src/view/a.ts", "node.title = name;"),
    (js_text_through_dom, "js/src/view/tree/a.ts", 'node.setAttribute("aria-label", name);'),
    (js_text_through_dom, "js/src/view/a.ts", "node.append(document.createTextNode(name));"),
    (js_text_through_dom, "js/src/view/a.ts", "node.replaceChildren(\n  `${name} has none`,\n);"),
    (nothing_unfinished, "opd_widgets/data/a.py", "# TO~DO: the rest"),
    (nothing_unfinished, "opd_widgets/data/a.py", "raise Not~ImplementedError"),
    (no_machine_paths, "README.md", "see `/~tmp/page.html`"),
    (no_machine_paths, "js/build.mjs", '"/~work/main/js"'),
    (no_registry_hosts, "js/package-lock.json", '"https://registry.npm~js.org/esbuild"'),
    (no_registry_hosts, "Makefile", "--index-url https://py~pi.org/simple"),
]
GOOD = {
    "opd_widgets/__init__.py": "from opd_widgets.data.base import X\n__all__ = ['X']",
    "opd_widgets/errors.py": "class OpdError(Exception): ...",
    "opd_widgets/data/__init__.py": "",
    "opd_widgets/data/base.py": "from opd_widgets.errors import OpdError\nX = 1",
    "opd_widgets/data/leaf.py": "from .base import X\nfrom .. import errors",
    "opd_widgets/models/hf.py": "import torch\nimport transformers",
    "opd_widgets/demo/train.py": "import torch",
    "opd_widgets/cli.py": "import opd_widgets\nfrom opd_widgets.demo import train",
    "js/src/core/scale.ts": 'import { clamp } from "./cell";',
    "js/src/view/strip.ts": 'import { scale } from "../core/scale";\n'
    'import type { Scores } from "../model/contract.ts";',
    "js/src/view/dom.ts": "node.textContent = harmless(text);",
    "js/src/view/made.ts": "export function made() {\n  let last = null;\n}",
    "js/src/view/names.ts": 'if (node.textContent === text) setAttribute(node, "title", text);',
    "js/src/view/tree/row.ts": 'import { h } from "../dom";\nimport { cell } from "../text/cell";\nimport "./panel";',
    "js/src/widgets/strip.ts": 'import css from "./strip.css";\nimport "../model/codec";',
    "tests/test_a.py": 'def f():\n    """' + "long\n" * 100 + '"""',
    "README.md": "see framework/work/main or https://example.org/tmp",
}


def _checkout(root: Path, texts: dict[str, str]) -> Checkout:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return Checkout(root)


@pytest.mark.parametrize(("rule", "name", "text"), BREACHES)
def test_a_breach_is_found(rule, name, text, tmp_path):
    problems = list(rule(_checkout(tmp_path, {**GOOD, name: text.replace("~", "")})))
    assert problems
    assert all(name in problem or "circle" in problem for problem in problems)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_tree_passes(rule, tmp_path):
    assert list(rule(_checkout(tmp_path, GOOD))) == []


def test_every_rule_is_shown_to_fail():
    assert {rule for rule, _, _ in BREACHES} == set(RULES)
