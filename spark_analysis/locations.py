"""Files and folders by path or by URL: on this machine, in an object store (`s3a://`), on HDFS.

A URL is a RemotePath, which has the part of pathlib's interface that the analysis uses; its file system is PyArrow's.
The environment variables of AWS hold for object stores: keys, AWS_REGION, and AWS_ENDPOINT_URL for one that is not of
AWS. Spark reads and writes the same by Hadoop's connector.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from spark_analysis.errors import ENVIRONMENT, USAGE, AnalysisError

S3, HDFS = ("s3a", "s3"), ("hdfs", "viewfs")
_ENDPOINT = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


class Size(NamedTuple):
    """The part of os.stat_result that is known of a remote file."""

    st_size: int


@dataclass(frozen=True)
class RemotePath:
    """A file or folder of a remote file system: `root` is its URL up to the path, `key` the path below."""

    root: str
    key: str

    def __str__(self) -> str:
        return f"{self.root}/{self.key}"

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(self.root, f"{self.key}/{name}".strip("/"))

    @property
    def name(self) -> str:
        """The last part."""
        return self.key.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part without its last ending."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> RemotePath:
        """The folder that this is in."""
        return RemotePath(self.root, self.key.rpartition("/")[0])

    @property
    def inside(self) -> str:
        """The path as PyArrow's file system has it."""
        bucket = urlsplit(self.root).netloc
        return f"{bucket}/{self.key}".rstrip("/") if urlsplit(self.root).scheme in S3 else f"/{self.key}"

    @property
    def system(self) -> fs.FileSystem:
        """The file system of PyArrow."""
        return _file_system(self.root, endpoint())

    def with_name(self, name: str) -> RemotePath:
        """Returns the path of that name in the same folder."""
        return self.parent / name

    def absolute(self) -> RemotePath:
        """This: a URL is absolute."""
        return self

    def resolve(self) -> RemotePath:
        """This: no links are followed."""
        return self

    def exists(self) -> bool:
        """Checks whether there is such a file or folder."""
        return bool(self._info().type != fs.FileType.NotFound)

    def is_dir(self) -> bool:
        """Checks whether there is such a folder; an object store has one where an object is below it."""
        return bool(self._info().type == fs.FileType.Directory)

    def stat(self) -> Size:
        """The size in bytes. Raises FileNotFoundError."""
        info = self._info()
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(2, "no such file", str(self))
        return Size(info.size or 0)

    def tag(self) -> str:
        """The entity tag that an object store has of the contents; "" where it has none."""
        with self.system.open_input_stream(self.inside, compression=None) as file:
            return bytes(file.metadata().get("ETag", b"")).decode()

    def iterdir(self) -> Iterator[RemotePath]:
        """Files and folders in this folder."""
        for info in self.system.get_file_info(fs.FileSelector(self.inside, allow_not_found=True)):
            yield self / info.base_name

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """Files and folders below this one, by a pattern with as many parts as levels."""
        first, _, rest = pattern.partition("/")
        for found in self.iterdir():
            if fnmatch(found.name, first):
                yield from found.glob(rest) if rest else (found,)

    def open(self, mode: str = "rb") -> BinaryIO:
        """The file, to be read or written; it is there in full when it is closed."""
        if mode == "rb":
            return cast(BinaryIO, self.system.open_input_file(self.inside))
        return cast(BinaryIO, self.system.open_output_stream(self.inside, compression=None))

    def read_bytes(self) -> bytes:
        """The contents."""
        with self.open() as file:
            return file.read()

    def read_text(self, encoding: str = "utf-8") -> str:
        """The contents as text."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, data: bytes) -> int:
        """Writes the contents, in place of older ones."""
        with self.open("wb") as file:
            return file.write(data)

    def write_text(self, text: str, encoding: str = "utf-8") -> int:
        """Writes text, in place of an older one."""
        return self.write_bytes(text.encode(encoding))

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Makes the folder; an object store needs none."""
        if urlsplit(self.root).scheme not in S3:
            self.system.create_dir(self.inside)

    def _info(self) -> fs.FileInfo:
        return self.system.get_file_info(self.inside)


Location = Path | RemotePath


def location(text: str) -> Location:
    """The path or URL. Raises AnalysisError (exit code 2) for a URL of a kind that is not known."""
    url = urlsplit(text)
    if not url.scheme or "://" not in text:
        return Path(text)
    if url.scheme == "file":
        return Path(url.path)
    if url.scheme not in (*S3, *HDFS) or (url.scheme in S3 and not url.netloc):
        raise AnalysisError(
            f"{text} cannot be read or written",
            observed=f"scheme {url.scheme}, {'host ' + url.netloc if url.netloc else 'no bucket'}",
            do="give a path, s3a://BUCKET/FOLDER or hdfs://HOST:PORT/FOLDER",
            code=USAGE,
        )
    scheme = "s3a" if url.scheme in S3 else url.scheme  # the name that Hadoop has for it
    return RemotePath(f"{scheme}://{url.netloc}", text.partition("://")[2].partition("/")[2].strip("/"))


def parquet(file: Location | str) -> dict[str, Any]:
    """Arguments of PyArrow's readers of Parquet for a file; pages that have a checksum are compared with it."""
    place = location(file) if isinstance(file, str) else file
    options: dict[str, Any] = {"page_checksum_verification": True}
    if isinstance(place, RemotePath):
        return {"source": place.inside, "filesystem": place.system, **options}
    return {"source": place, **options}


def files(folder: Location, pattern: str = "*") -> list[Location]:
    """Files and folders below a folder by a pattern, in order."""
    return sorted(folder.glob(pattern), key=str)


def below(file: Location, folder: Location) -> str:
    """The path of a file below a folder."""
    return str(file).removeprefix(f"{folder}/")


def sha256(file: Location) -> str:
    """The digest of a file's contents."""
    with file.open("rb") as data:
        return hashlib.file_digest(cast(Any, data), "sha256").hexdigest()


def fingerprint(file: Location) -> str:
    """A text that is equal only for equal contents: the tag that an object store has computed where the data is,
    without any of it read here; elsewhere the digest.
    """
    tag = file.tag() if isinstance(file, RemotePath) and in_object_store(file) else ""
    return tag or sha256(file)


def in_object_store(place: Location) -> bool:
    """Checks whether this is in an object store."""
    return isinstance(place, RemotePath) and urlsplit(place.root).scheme in S3


def endpoint() -> str:
    """The URL of an object store that is not of AWS; "" where none is named."""
    return next((os.environ[name] for name in _ENDPOINT if os.environ.get(name)), "")


def remove(folder: Location) -> None:
    """Removes a folder, if it is there."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    elif folder.exists():
        folder.system.delete_dir(folder.inside)


def copy_file(file: Location, to: Location) -> None:
    """Copies a file."""
    with file.open("rb") as source, to.open("wb") as target:
        shutil.copyfileobj(source, target)


def copy_files(folder: Location, to: Location) -> None:
    """Copies all files below a folder."""
    to.mkdir(parents=True, exist_ok=True)
    for found in files(folder):
        if found.is_dir():
            copy_files(found, to / found.name)
        else:
            copy_file(found, to / found.name)


@cache
def _file_system(root: str, store: str) -> fs.FileSystem:
    url = urlsplit(root)
    try:
        if url.scheme in S3:
            few = fs.AwsStandardS3RetryStrategy(max_attempts=3)
            return fs.S3FileSystem(endpoint_override=store or None, connect_timeout=10, retry_strategy=few)
        return fs.FileSystem.from_uri(f"{root}/")[0]
    except (OSError, pa.ArrowException) as e:
        raise AnalysisError(
            f"{root} cannot be read or written",
            observed=str(e).splitlines()[0],
            do="for HDFS, install Hadoop here and set HADOOP_HOME and CLASSPATH (`hadoop classpath --glob`)",
            code=ENVIRONMENT,
        ) from e
