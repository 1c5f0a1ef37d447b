"""A service of Python that the tracer cannot follow or a program cannot have.

Why: the program runs without Python. Strict mode refuses code that is made from text, frames, locks, subprocesses and
serialisation, because Dynamo does not follow them. Non-strict mode runs them once, while exporting: numbers that come
out are constants; tensors that are pickled, copied with `copy` or computed in another thread are refused there, too.

Instead: decide in `__init__` what Python has to decide. `clone()` copies a tensor; a dictionary of functions replaces
`eval`; a table that is read from disk becomes a buffer.

    self.act = {"tanh": torch.tanh, "relu": torch.relu}[name]     # in __init__, instead of eval(name)
    kept = x.clone()                                              # instead of copy.deepcopy(x)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Instead, Kind, Rule, Severity, called

if TYPE_CHECKING:
    from exportlint import Code, Value

_INIT = Instead("do it in `__init__` and keep the result", shown_in="GoodTableBuffer")
_OUT = "leave it out of the model, or put it behind `if not torch.compiler.is_compiling():`"
_BY_KEY = Instead("say what decides: `key=lambda pair: pair[0]`", shown_in="GoodSortedByKey")
_LOOP = "compute in the same thread: a plain loop, or one batched operator"
_BY_NAME = {
    "BadEval": "builtins.eval",
    "BadExec": "builtins.exec",
    "BadCompile": "builtins.compile ast.literal_eval ast.parse",
    "BadFrame": "inspect.currentframe",
    "BadStack": (
        "inspect.stack inspect.trace sys._getframe sys.exc_info traceback.extract_stack traceback.format_exc"
        " traceback.print_exc"
        " traceback.format_stack traceback.print_stack"
    ),
    "BadSource": "inspect.getsource inspect.getsourcelines inspect.getsourcefile inspect.getfile",
    "BadThread": "threading.Thread threading.Timer multiprocessing.Process _thread.start_new_thread",
    "BadPool": (
        "concurrent.futures.ThreadPoolExecutor concurrent.futures.ProcessPoolExecutor"
        " concurrent.futures.thread.ThreadPoolExecutor"
        " multiprocessing.Pool multiprocessing.pool.ThreadPool torch.multiprocessing.spawn torch.multiprocessing.Pool"
    ),
    "BadLock": "threading.Lock threading.RLock threading.Condition threading.Semaphore threading.Event",
    "BadThreadIdentity": "threading.get_ident threading.current_thread threading.main_thread threading.active_count",
    "BadQueue": "queue.Queue queue.SimpleQueue queue.LifoQueue multiprocessing.Queue",
    "BadAsync": "asyncio.run asyncio.get_event_loop asyncio.new_event_loop asyncio.gather",
    "BadPickle": "pickle.dumps pickle.loads pickle.load cloudpickle.dumps marshal.dumps",
    "BadPickledNumbers": "json.dumps json.loads yaml.safe_load yaml.load base64.b64encode base64.b64decode",
    "BadLoad": "torch.load safetensors.torch.load_file torch.hub.load_state_dict_from_url",
    "BadGlobals": "builtins.globals",
    "BadDir": "builtins.dir",
    "BadSubprocess": "subprocess.run subprocess.check_output subprocess.check_call subprocess.call subprocess.Popen",
    "BadSystem": "os.system os.popen",
    "BadCollect": "gc.collect gc.disable gc.enable gc.get_objects",
    "BadImport": "importlib.import_module builtins.__import__ importlib.reload",
    "BadHashing": "hashlib.md5 hashlib.sha1 hashlib.sha256 hashlib.sha512 hashlib.blake2b hashlib.new zlib.crc32",
    "BadObjectSize": "sys.getsizeof",
    "BadReferenceCount": "sys.getrefcount",
    "BadCtypes": "ctypes.c_int ctypes.c_float ctypes.c_void_p ctypes.CDLL ctypes.cast",
    "BadTextBuffer": "io.StringIO io.BytesIO builtins.input",
}
_CASE_OF = {name: case for case, names in _BY_NAME.items() for name in names.split()}
_COPIES = {"copy.deepcopy": "BadDeepcopy", "copy.copy": "BadCopy"}
_ORDERS = {"builtins.sorted": "BadSortedPairs", "builtins.min": "BadLargestPair", "builtins.max": "BadLargestPair"}
_POOLS = frozenset(_BY_NAME["BadPool"].split())
_LOCKS = frozenset({"threading.Lock", "threading.RLock", "threading.Condition", "threading.Semaphore"})


class UnsupportedBuiltin(Rule):
    mended_by = ("templates", "interface", "decide-in-data", "loop-in-data", "numbers-stay-tensors", "number-operator")
    graph_breaks = ("GB0059", "GB0007", "GB0142", "GB0156", "GB4198", "GB8977")
    torch_says = (r"Can't pickle local object 'WeakValueDictionary", r"Attempted to copy\.deepcopy a tensor")
    cases: ClassVar = {
        "BadEval": Case(
            "`{code}` runs Python code out of a string",
            Instead("choose from a dictionary of functions in `__init__`", shown_in="GoodTableOfFunctions"),
        ),
        "BadExec": Case(
            "`{code}` runs Python code out of a string",
            Instead("write the code out, or choose a function in `__init__`", shown_in="GoodTableOfFunctions"),
        ),
        "BadCompile": Case("`{code}` compiles Python code", _INIT),
        "BadFrame": Case("`{code}` looks at the frames of the running Python program", _OUT),
        "BadStack": Case("`{code}` looks at the frames of the running Python program", _OUT),
        "BadSource": Case("`{code}` reads Python source", _INIT),
        "BadThread": Case("`{code}` computes in another thread or process, which the tracer does not see", _LOOP),
        "BadPool": Case("`{code}` computes in other threads or processes, which the tracer does not see", _LOOP),
        "BadLock": Case("`{code}` is a lock; a program runs in one thread", "leave locking to the caller"),
        "BadThreadIdentity": Case("`{code}` asks for the thread that runs it", _OUT),
        "BadQueue": Case("`{code}` makes a thread-safe queue", "use a list"),
        "BadAsync": Case("`{code}` runs an event loop", "call the functions in their order"),
        "BadPickle": Case(
            "`{code}` serialises inside the model",
            Instead("copy a tensor with `clone()`; load and save outside of the model", shown_in="GoodClone"),
        ),
        "BadPickledNumbers": Case("`{code}` reads or writes text inside the model", _INIT),
        "BadLoad": Case(
            "`{code}` reads tensors from disk in every call",
            Instead("load in `__init__` and keep the tensor as a buffer", shown_in="GoodTableBuffer"),
        ),
        "BadGlobals": Case(
            "`{code}` looks up names at run time",
            Instead("choose from a dictionary of your own", shown_in="GoodTableOfFunctions"),
        ),
        "BadDir": Case("`{code}` lists attributes at run time", _INIT),
        "BadSubprocess": Case("`{code}` asks another program", _INIT),
        "BadSystem": Case("`{code}` runs a command", _OUT),
        "BadCollect": Case("`{code}` manages Python's memory", _OUT),
        "BadDeepcopy": Case(
            "`{code}` copies a tensor by its memory", Instead("copy a tensor with `clone()`", shown_in="GoodClone")
        ),
        "BadDeepcopyModule": Case(
            "`{code}` copies a module, and its weights by their memory",
            Instead("copy it in `__init__`", shown_in="GoodDeepcopyInInit"),
        ),
        "BadCopy": Case(
            "`{code}` copies a tensor with the `copy` module",
            Instead("copy a tensor with `clone()`", shown_in="GoodClone"),
        ),
        "BadCopyList": Case(
            "`{code}` copies with the `copy` module",
            Instead("use `items.copy()`, `items[:]` or `dict(items)`", shown_in="GoodListCopy"),
        ),
        "BadImport": Case(
            "`{code}` imports by name while the model runs",
            Instead("import at the top of the file", shown_in="GoodImportStatement"),
        ),
        "BadHashing": Case("`{code}` computes a digest in Python", _INIT),
        "BadObjectSize": Case("`{code}` asks about a Python object's memory", _OUT),
        "BadReferenceCount": Case("`{code}` counts what refers to a Python object, also in the tracer", _OUT),
        "BadCtypes": Case("`{code}` uses values of the C language", "use Python numbers or tensors"),
        "BadClassMade": Case("`{code}` makes a class while the model runs", "define the class at the top of the file"),
        "BadClassStatement": Case(
            "the class `{name}` is defined while the model runs", "define it at the top of the file"
        ),
        "BadTextBuffer": Case("`{code}` reads or writes text inside the model", _OUT),
        "BadSortedPairs": Case("`{code}` orders pairs that hold tensors", _BY_KEY),
        "BadSortedInPlace": Case("`{code}` orders pairs that hold tensors", _BY_KEY),
        "BadLargestPair": Case("`{code}` compares pairs that hold tensors", _BY_KEY),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is one of them called, a lock held, or a class made?"""
        sketch = code.sketch
        contexts = (item.context_expr for node in sketch.nodes(ast.With) for item in node.items)
        return (
            not sketch.origins.isdisjoint(_CASE_OF.keys() | _COPIES.keys())
            or any(call.origin == "builtins.type" and len(call.node.args) > 1 for call in sketch.calls)
            or any(sketch.value(node).name in _LOCKS for node in contexts)
            or any(True for _ in sketch.nodes(ast.ClassDef))
            or any(_holds_pairs(value) for value in sketch.values)
            or any(sketch.value(call.owner).name in _POOLS for call in sketch.calls if call.owner)
        )

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if case := _CASE_OF.get(name):
            if name != "builtins.eval" or not _is_literal(node):
                self.report(node, case)
        elif self._is_kept_pool(node.func):
            self.report(node, "BadPool")
        elif name in _COPIES and node.args:
            self._copy(node, name)
        elif name == "builtins.type" and len(node.args) > 1:
            self.report(node, "BadClassMade")
        elif not any(arg.keyword and arg.keyword.value == "key" for arg in node.args):
            self._order(node, name)

    def _is_kept_pool(self, node: cst.BaseExpression) -> bool:
        """A method of a pool that `__init__` made: of one that forward makes, that is reported."""
        match node:
            case cst.Attribute(value=cst.Attribute() as owner):
                return self.code.value(owner).name in _POOLS
        return False

    def _order(self, node: cst.Call, name: str) -> None:
        """Python asks the first of each pair, and a tensor beside it only where two of those are equal."""
        if name in _ORDERS and len(node.args) == 1 and _holds_pairs(self.code.value(node.args[0].value)):
            self.report(node, _ORDERS[name])
        match node.func:
            case cst.Attribute(value=owner, attr=cst.Name(value="sort")) if _holds_pairs(self.code.value(owner)):
                self.report(node, "BadSortedInPlace")

    def _copy(self, node: cst.Call, name: str) -> None:
        value = self.code.value(node.args[0].value)
        kinds = (value.kind, value.element.kind if value.element else None)
        if Kind.TENSOR in kinds and value.certain:
            self.report(
                node,
                "BadCopyList" if name == "copy.copy" and value.kind is not Kind.TENSOR else _COPIES[name],
                because=value,
            )
        elif Kind.MODULE in kinds and name == "copy.deepcopy":
            self.report(node, "BadDeepcopyModule")
        elif (
            value.kind is Kind.UNKNOWN
            and isinstance(node.args[0].value, cst.Name)
            and self._is_input(node.args[0].value.value)
        ):
            self.report(node, _COPIES[name], at_most=Severity.WARNING)
        elif name == "copy.copy" and value.kind is Kind.CONTAINER:
            self.report(node, "BadCopyList")

    def _is_input(self, name: str) -> bool:
        """An argument of forward: a tensor, as a rule."""
        function = self.code.function
        arguments = getattr(function.node, "args", None) if function and function.name == "forward" else None
        return arguments is not None and name in {argument.arg for argument in arguments.args[1:]}

    def visit_With(self, node: cst.With) -> None:
        for item in node.items:
            if self._is_lock(item.item):
                self.report(item.item, "BadLock")

    def _is_lock(self, node: cst.BaseExpression) -> bool:
        value = self.code.value(node)
        return value.name in _LOCKS and not isinstance(node, cst.Call)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        if self.code.function is not None:
            self.report(node.name, "BadClassStatement", name=node.name.value)


def _is_literal(call: cst.Call) -> bool:
    """`eval("2.0 * 3")`: both modes follow it."""
    return called(call) == "eval" and len(call.args) == 1 and isinstance(call.args[0].value, cst.SimpleString)


def _holds_pairs(value: Value) -> bool:
    """Is it a collection of tuples that hold tensors, the first of which is none?"""
    pair = value.element
    if pair is None or pair.container != "tuple" or not pair.items:
        return False
    first, *rest = pair.items
    return not first.may_be_data and any(part.is_tensor or _lists_tensors(part) for part in rest)


def _lists_tensors(value: Value) -> bool:
    return value.element is not None and value.element.is_tensor
