"""The tools that a module or a file of the user declares.

A registry is ordinary Python: every ``onceward.tools.Tool`` at module level is a tool of this
worker, whether it was declared there or imported from elsewhere. Importing it runs the user's code,
with the rights of this process; nothing else of the folder is run.

What goes wrong here is the user's to correct, so that every refusal names the file and, where there
is one, the line: never a traceback through our own code.
"""

import importlib
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import onceward
from onceward.tools import Tool

SUFFIX = ".py"
MODULE_NAME = "onceward_tools"
"""What a registry that was named as a file is called while this process lives."""

_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")
_NOT_THE_USERS = (
    Path(__file__).parent,
    Path(onceward.__file__).parent,
    *(Path(sysconfig.get_path(name)) for name in _INSTALLED),
)


class RegistryError(Exception):
    """There is nothing to run. Correct the registry, or name another."""


Tools = tuple[Tool, ...]


def load(source: str) -> Tools:
    """Return the tools of ``source``, in the order in which they stand there.

    Args:
        source: A path that ends in ``.py``, or the dotted name of a module that can be imported
            from here.

    Raises:
        RegistryError: There is no such file or module, importing it failed, it declares no tools,
            or two of one name and version.
    """
    module = _from_file(Path(source)) if source.endswith(SUFFIX) else _from_name(source)
    tools = _declared(vars(module))
    if not tools:
        raise RegistryError(
            f"no tools at module level: declare one with @ow.tool(...): source=`{source}`"
        )
    return tools


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise RegistryError(f"no such file: path=`{path}`")
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path.resolve())
    assert spec is not None, "the suffix has a loader"
    assert spec.loader is not None, "and that loader is named"
    module = importlib.util.module_from_spec(spec)
    # Both as ``python FILE`` does it: dataclasses and pickles find the module by its name, and the
    # file finds the modules beside it.
    sys.modules[MODULE_NAME] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's code may raise anything
        raise _failed(str(path), error) from None
    return module


def _from_name(name: str) -> ModuleType:
    # A program that was installed does not search the folder that it was started in; ``python -m``
    # does, and a module of the user's is more often there than anywhere else.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise RegistryError(
                f"no such module here: name=`{name}` folder=`{here}`; a file is named with its .py"
            ) from None
        raise _failed(name, error) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's code may raise anything
        raise _failed(name, error) from None


def _failed(source: str, error: BaseException) -> RegistryError:
    """Return the refusal that says where the user's code failed, and how."""
    kind, text = type(error).__name__, str(error)
    said = f"{kind}: {text}" if text else kind
    if isinstance(error, SyntaxError) and error.filename is not None:
        where, said = f"{error.filename}:{error.lineno}", f"{kind}: {error.msg}"
    else:
        where = _innermost(error) or source
    return RegistryError(f"importing it failed at {where}: {said}: source=`{source}`")


def _innermost(error: BaseException) -> str | None:
    """Return file and line of the last frame that the user may have written.

    Installed packages, Python's own and this project's are passed over: a refused declaration is
    raised in ``onceward.tools``, but it is the line that declares which has to change.
    """
    theirs = [
        f"{frame.filename}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
        and not any(Path(frame.filename).is_relative_to(folder) for folder in _NOT_THE_USERS)
    ]
    return theirs[-1] if theirs else None


def _declared(names: Mapping[str, object]) -> Tools:
    found: dict[tuple[str, str], tuple[str, Tool]] = {}
    for variable, value in names.items():
        if not isinstance(value, Tool):
            continue
        first, tool = found.setdefault((value.name, value.version), (variable, value))
        if tool is not value:
            raise RegistryError(
                f"two tools share name and version: tool=`{value.name}` "
                f"version=`{value.version}` variables=`{first}`, `{variable}`"
            )
    return tuple(tool for _, tool in found.values())
