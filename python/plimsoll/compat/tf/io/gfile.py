"""tf.io.gfile: files of this machine."""

from __future__ import annotations

import glob as _glob
import os
import shutil
from typing import Any, Iterator

from .._errors import AlreadyExistsError, NotFoundError
from ._files import path_of


class GFile:
    """A file, opened like Python's; "rb" gives bytes."""

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name, self._mode = path_of(name), mode
        try:
            self._file: Any = open(self._name, mode, encoding=None if "b" in mode else "utf-8")
        except FileNotFoundError as error:
            raise NotFoundError(None, None, f"{self._name}; {error.strerror}") from None

    @property
    def name(self) -> str:
        return self._name

    @property
    def mode(self) -> str:
        return self._mode

    def size(self) -> int:
        return os.path.getsize(self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()


Open = FastGFile = GFile


def exists(path: Any) -> bool:
    return os.path.exists(path_of(path))


def isdir(path: Any) -> bool:
    return os.path.isdir(path_of(path))


def glob(pattern: Any) -> list[str]:
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return sorted(each for one in patterns for each in _glob.glob(path_of(one)))


def listdir(path: Any) -> list[str]:
    folder = path_of(path)
    if not os.path.isdir(folder):
        raise NotFoundError(None, None, f"Could not find directory {folder}")
    return sorted(os.listdir(folder))


def makedirs(path: Any) -> None:
    os.makedirs(path_of(path), exist_ok=True)


def mkdir(path: Any) -> None:
    os.mkdir(path_of(path))


def remove(path: Any) -> None:
    try:
        os.remove(path_of(path))
    except FileNotFoundError as error:
        raise NotFoundError(None, None, f"{path_of(path)}; {error.strerror}") from None


def rmtree(path: Any) -> None:
    shutil.rmtree(path_of(path))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    if os.path.exists(path_of(dst)) and not overwrite:
        raise AlreadyExistsError(None, None, f"file already exists: {path_of(dst)}")
    os.replace(path_of(src), path_of(dst))


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    if os.path.exists(path_of(dst)) and not overwrite:
        raise AlreadyExistsError(None, None, f"file already exists: {path_of(dst)}")
    shutil.copyfile(path_of(src), path_of(dst))


def join(path: Any, *paths: Any) -> str:
    return os.path.join(path_of(path), *(path_of(each) for each in paths))


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Iterator[tuple[str, list[str], list[str]]]:
    return os.walk(path_of(top), topdown, onerror)


class Stat:
    def __init__(self, length: int, mtime_nsec: int, is_directory: bool) -> None:
        self.length, self.mtime_nsec, self.is_directory = length, mtime_nsec, is_directory


def stat(path: Any) -> Stat:
    found = os.stat(path_of(path))
    return Stat(found.st_size, found.st_mtime_ns, os.path.isdir(path_of(path)))


# v1's spellings
Exists, IsDirectory, Glob, ListDirectory, MakeDirs, MkDir = exists, isdir, glob, listdir, makedirs, mkdir
Remove, DeleteRecursively, Rename, Copy, Walk = remove, rmtree, rename, copy, walk

__all__ = [
    "GFile", "copy", "exists", "glob", "isdir", "join", "listdir", "makedirs", "mkdir", "remove", "rename", "rmtree",
    "stat", "walk",
]
