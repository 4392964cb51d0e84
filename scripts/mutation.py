"""Change the code that decides one small thing at a time and see whether its tests notice. What they miss is printed.

pytest collects once and runs everything once, noting which test calls which function. Each mutant is a fork of that
process: the changed code is put in place of the loaded one, in memory, and the tests that call it run, fastest first.
A test that builds its runs while it is imported builds them with unchanged code.
"""

import argparse
import ast
import os
import random
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings


class Suite(NamedTuple):
    """Modules of one package, and the tests that must notice a change in them."""

    package: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return Path("src", *self.package.split(".")).resolve()


FILES = "tests/tools/files"
SHELL = "tests/tools/shell"
SUITES = {
    "core": Suite(
        "pollux.core", ("machine", "turns", "actions", "policy", "spelling", "conditions", "canonical"), ("tests/core",)
    ),
    # Quick tests must notice: those that race, or start processes, would run for every survivor.
    "paths": Suite(
        "pollux.tools.files",
        ("names", "guard", "reach", "put", "root"),
        (
            *(f"{FILES}/test_{name}.py" for name in ("names", "reach", "put", "root", "meanwhile", "hostile_paths")),
            "-m",
            "not slow",
        ),
    ),
    "commands": Suite(
        "pollux.tools.shell",
        ("words", "parse", "judge", "launchers", "filters"),
        tuple(f"{SHELL}/test_{name}.py" for name in ("words", "parse", "judge", "launchers", "filters", "bypasses")),
    ),
    # Who may go on with which conversation.
    "seal": Suite("pollux.page", ("seal",), ("tests/page/test_seal.py", "-m", "not slow and not soak")),
}
LEAST = 85.0
BROKEN = 3
UNCHANGED = -1
OPERATORS = """Eq NotEq, NotEq Eq, Lt LtE, Lt GtE, LtE Lt, LtE Gt, Gt GtE, Gt LtE, GtE Gt, GtE Lt, Is IsNot, IsNot Is,
    In NotIn, NotIn In, And Or, Or And, Add Sub, Sub Add, Mult Add"""
SWAPS = {"any": "all", "all": "any", "min": "max", "max": "min"}
CODE = re.compile(r"[a-z]+(_[a-z]+)*")

Change = tuple[int, int, str, Callable[[], None]]


class Mutant(NamedTuple):
    """One change. `number` finds it again in a fresh tree; `function` is the line where the one around it begins."""

    module: str
    number: int = UNCHANGED
    line: int = 0
    function: int = 0
    what: str = "unchanged"


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation score of the code that decides")
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("modules", nargs="*", help="some of the suite's modules, instead of all")
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="how many mutants, instead of all")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--jobs", type=int, default=2)
    # The same examples for every mutant and no shrinking: a failure is all that is wanted.
    known: dict[str, Any] = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}
    settings.register_profile("mutation", max_examples=100, phases=(Phase.explicit, Phase.generate), **known)
    os.environ["POLLUX_HYPOTHESIS_PROFILE"] = "mutation"
    options = parser.parse_args()
    suite = SUITES[options.suite]
    options.modules = options.modules or suite.modules
    hunt = Hunt(options, suite)
    quiet = ["-q", "-s", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*suite.tests, *quiet], plugins=[hunt])) or hunt.verdict


class Hunt:
    """A pytest plugin that runs the collected tests once as they are and then once for each mutant."""

    def __init__(self, options: argparse.Namespace, suite: Suite) -> None:
        self.options = options
        self.suite = suite
        self.seconds: dict[pytest.Item, float] = {}
        self.callers: defaultdict[tuple[str, int], set[pytest.Item]] = defaultdict(set)
        self.verdict = 2

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        found = [mutant for module in self.options.modules for mutant in mutants_of(self.suite, module)]
        for item in session.items:
            self._observe(item)
        controls = self._try_all(session, [Mutant(module) for module in self.options.modules])
        if session.testsfailed or any(controls.values()):
            print("\nthe tests fail although nothing was changed")
            return True
        chosen = random.Random(self.options.seed).sample(found, min(self.options.sample, len(found)))
        began = time.monotonic()
        fates = self._try_all(session, chosen)
        print(f"\n{len(chosen)} of {len(found)} mutants in {time.monotonic() - began:.0f} s")
        self.verdict = report(self.suite, fates)
        return True

    def _observe(self, item: pytest.Item) -> None:
        seen: set[CodeType] = set()
        # What another test has asked for already would be answered without the function.
        for module in self.suite.modules:
            for value in list(vars(sys.modules[f"{self.suite.package}.{module}"]).values()):
                if not isinstance(value, type) and hasattr(value, "cache_clear"):
                    value.cache_clear()
        began = time.monotonic()
        sys.setprofile(lambda frame, _event, _arg: seen.add(frame.f_code))
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        finally:
            sys.setprofile(None)
        self.seconds[item] = time.monotonic() - began
        for code in seen:
            if Path(code.co_filename).parent == self.suite.folder:
                self.callers[Path(code.co_filename).stem, code.co_firstlineno].add(item)
                self.callers[Path(code.co_filename).stem, 0].add(item)

    def _try_all(self, session: pytest.Session, chosen: list[Mutant]) -> dict[Mutant, bool]:
        """Whether each was noticed."""
        fates: dict[Mutant, bool] = {}
        running: dict[int, Mutant] = {}
        for mutant in [*chosen, None]:
            while running and (mutant is None or len(running) >= self.options.jobs):
                pid, status = os.wait()
                done = running.pop(pid)
                assert os.waitstatus_to_exitcode(status) != BROKEN, f"{done} could not be tried"
                fates[done] = status != 0
                if status == 0 and done.number != UNCHANGED:
                    print(f"\nsurvived {done.module}.py:{done.line} {done.what}", end="", flush=True)
            if mutant and (pid := os.fork()):
                running[pid] = mutant
            elif mutant:
                self._try(session, mutant)
        return fates

    def _try(self, session: pytest.Session, mutant: Mutant) -> None:
        """In the fork. A test that fails, a module that does not load and a hang are noticed alike."""
        outcome = BROKEN
        try:
            callers = self.callers.get((mutant.module, mutant.function)) or self.callers[mutant.module, 0]
            signal.alarm(int(20 + 5 * sum(self.seconds[item] for item in callers)))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            code = changed(self.suite, mutant)
            outcome = 1
            graft(self.suite, mutant.module, code)
            for item in sorted(callers, key=self.seconds.__getitem__):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                if session.testsfailed:
                    return
            outcome = 0
        finally:
            os._exit(outcome)


def report(suite: Suite, fates: dict[Mutant, bool]) -> int:
    scores: list[float] = []
    for module in suite.modules:
        if found := [noticed for mutant, noticed in fates.items() if mutant.module == module]:
            scores.append(100 * sum(found) / len(found))
            print(f"{module:10} {scores[-1]:5.1f} %, {sum(found)} of {len(found)}, at least {LEAST:g} % wanted")
    return 0 if min(scores, default=0) >= LEAST else 1


@cache
def source(suite: Suite, module: str) -> str:
    """Read once: whoever edits the file meanwhile does not change what is tried."""
    return (suite.folder / f"{module}.py").read_text()


def mutants_of(suite: Suite, module: str) -> list[Mutant]:
    tree = ast.parse(source(suite, module))
    return [Mutant(module, n, line, function, what) for n, (line, function, what, _) in enumerate(changes(tree))]


def changed(suite: Suite, mutant: Mutant) -> CodeType:
    tree = ast.parse(source(suite, mutant.module))
    if mutant.number != UNCHANGED:
        *_, make = next(islice(changes(tree), mutant.number, None))
        make()
    return compile(ast.fix_missing_locations(tree), str(suite.folder / f"{mutant.module}.py"), "exec")


def changes(tree: ast.AST, function: int = 0) -> Iterator[Change]:
    """Every change that can be made below a node: its line, its function's line, what it is and how to make it."""
    for name, value in ast.iter_fields(tree):
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(node, ast.AST) or _is_for_others(node, tree, name):
                continue
            inner = function
            if isinstance(node, ast.FunctionDef):
                inner = min(part.lineno for part in (node, *node.decorator_list))
            for what, new in replacements(node):
                make = _put(tree, name, index, new)
                yield getattr(node, "lineno", getattr(tree, "lineno", 0)), inner, what, make
            yield from changes(node, inner)


def _put(parent: ast.AST, name: str, index: int, new: ast.AST) -> Callable[[], None]:
    value = getattr(parent, name)
    return lambda: value.__setitem__(index, new) if isinstance(value, list) else setattr(parent, name, new)


def _is_for_others(node: ast.AST, parent: ast.AST, name: str) -> bool:
    """Whether only the type checker, the speed or the reader of an error depends on it."""
    match parent, node:
        case ast.Call(func=ast.Name(id="Misfit" | "ValidationError")), _:
            return name == "args"
        case ast.Subscript(value=ast.Name(id="Literal")) | ast.Call(func=ast.Name(id="cast")), _:
            return True
        case _, ast.Expr(value=ast.Constant() | ast.Call(func=ast.Name(id="assert_never"))):
            return True
        case _:
            return name in ("annotation", "returns", "decorator_list")


def replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What could stand in a node's place, each with one small thing changed."""
    for old, new in (pair.split() for pair in OPERATORS.split(",")):
        if type(node).__name__ == old:
            yield f"{old} becomes {new}", getattr(ast, new)()
    match node:
        case ast.BoolOp(op=op, values=values):
            for part, rest in _without_one(values):
                yield f"without `{part}`", ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.MatchOr(patterns=patterns):
            for part, rest in _without_one(patterns):
                yield f"without case `{part}`", ast.MatchOr(rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "without not", operand
        case ast.If(test=test, body=body, orelse=orelse) if not isinstance(test, ast.Compare):
            yield "branches swapped", ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "branches swapped", ast.IfExp(test, orelse, body)
        case ast.comprehension(target=target, iter=items, ifs=[_]):
            yield "without its condition", ast.comprehension(target, items, [], 0)
        case ast.match_case(pattern=pattern, guard=ast.expr(), body=body):
            yield "without its guard", ast.match_case(pattern, ast.Constant(True), body)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in SWAPS:
            yield f"{name} becomes {SWAPS[name]}", ast.Call(ast.Name(SWAPS[name], ast.Load()), args, keywords)
        case ast.Call(func=func, args=args, keywords=keywords):
            for part, rest in _without_one(keywords):
                yield f"without {part}", ast.Call(func, args, rest)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) not in ("None", "False"):
            yield "returns None", ast.Return(ast.Constant(None))
        case ast.Expr() | ast.Raise() | ast.Continue() | ast.AugAssign():
            yield f"`{ast.unparse(node)[:60]}` removed", ast.Pass()
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _mentions(value, name):
            yield f"`{ast.unparse(node)[:60]}` removed", ast.Pass()
        case ast.Constant(value=bool(value)) | ast.MatchSingleton(value=bool(value)):
            yield f"{value} becomes {not value}", type(node)(not value)
        case ast.Constant(value=int(value)):
            yield from ((f"{value} becomes {near}", ast.Constant(near)) for near in (value - 1, value + 1))
        case ast.Constant(value=str(value)) if CODE.fullmatch(value):
            yield f'"{value}" becomes another', ast.Constant(f"{value}_")
        case _:
            pass


def _without_one(parts: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    return ((ast.unparse(part), [*parts[:i], *parts[i + 1 :]]) for i, part in enumerate(parts))


def _mentions(value: ast.expr, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))


def graft(suite: Suite, module: str, code: CodeType) -> None:
    """Put the changed module's code where the loaded one's is, and its values wherever they were imported to."""
    live = sys.modules[f"{suite.package}.{module}"]
    fresh: dict[str, Any] = {"__name__": live.__name__}
    exec(code, fresh)
    for name, new in fresh.items():
        old = vars(live).get(name)
        if isinstance(new, type) and new.__module__ == live.__name__:
            for part, value in vars(new).items():
                _transplant(vars(old).get(part), value)
        elif callable(new) and getattr(new, "__module__", "") == live.__name__:
            _transplant(old, new)
        elif new is not old and not name.startswith("__"):
            for other in [other for other in sys.modules.values() if vars(other).get(name) is old]:
                setattr(other, name, new)


def _transplant(old: Any, new: Any) -> None:
    if isinstance(new, property):
        old, new = old.fget, new.fget
    if isinstance(new, classmethod | staticmethod):
        old, new = old.__func__, new.__func__
    if isinstance(new, FunctionType) and hasattr(new, "__wrapped__"):
        old, new = old.__wrapped__, new.__wrapped__
    if hasattr(old, "cache_clear"):
        old.cache_clear()
        old, new = old.__wrapped__, new.__wrapped__
    if isinstance(new, FunctionType):
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__


if __name__ == "__main__":
    sys.exit(main())
