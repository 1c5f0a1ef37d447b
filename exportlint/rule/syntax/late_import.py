"""Let an import wait until something of the imported module is used, so that code which uses nothing does not pay."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from threading import Lock
from types import ModuleType
from typing import Any

_LOADING = Lock()


def import_late(name: str) -> None:
    """From here on `import name` costs nothing: the module is loaded when an attribute of it is asked for.

    (`importlib.util.LazyLoader` does not do: the import statement itself asks for `__spec__`, and so loads.)
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is not None:
        sys.modules[name] = late = _LateModule(name)
        late.__spec__ = spec


class _LateModule(ModuleType):
    """Stands for a module. After the first use it holds what the module holds."""

    def __getattr__(self, name: str) -> Any:
        """For what it does not hold yet."""
        with _LOADING:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            module = importlib.import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)
