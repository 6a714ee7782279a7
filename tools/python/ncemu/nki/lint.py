"""Python that runs here and that the vendor's compiler is documented or reported to refuse (`ncemu nki --strict-python`)."""

import ast
import inspect
import textwrap

REFUSED = (
    (ast.ListComp, "a list comprehension"),
    (ast.SetComp, "a set comprehension"),
    (ast.DictComp, "a dict comprehension"),
    (ast.GeneratorExp, "a generator"),
    (ast.Lambda, "a lambda"),
    (ast.Try, "try"),
    (ast.Global, "global"),
    (ast.Nonlocal, "nonlocal"),
    (ast.Yield, "yield"),
    (ast.ClassDef, "a class"),
)


def findings(function):
    """(file, line, message) of each construct in the kernel's own body."""
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        return []
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    file = inspect.getsourcefile(function)
    out = []

    def report(node, what):
        out.append((file, first + node.lineno - 1, f"the vendor's compiler refuses {what} in a kernel"))
    if tree.args.kwonlyargs:
        report(tree, "keyword-only parameters")
    for node in ast.walk(tree):
        if node is tree:
            continue
        for kind, what in REFUSED:
            if isinstance(node, kind):
                report(node, what)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            report(node, "an inner function")
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            report(node, "'is'")
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and any(isinstance(e, ast.Subscript) for e in target.elts):
                    report(node, "unpacking into subscripts")
    return sorted(set(out), key=lambda f: f[1])
