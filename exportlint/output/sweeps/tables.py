"""Rows of a store as a file for other tools: Parquet through pyarrow, or JSON lines."""

from __future__ import annotations

import itertools
import json
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMATS = (".parquet", ".jsonl")
# So many rows are in memory at a time, and are a row group of the Parquet file.
_BATCH = 10_000
# What is no text, by the name of its column; a column that is empty in the first rows has its type all the same.
_NUMBERS = {"seconds": "float64", **dict.fromkeys(("line", "times", "tried"), "int64")}


def written(file: Path, columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> int:
    """Write the rows, all of them or nothing; how many there were. The format is what the file's name ends in.

    Raises UserError where pyarrow is missing or the file cannot be written.
    """
    write = _parquet if file.suffix == ".parquet" else _json_lines
    try:
        with _whole(file) as part:
            return write(part, columns, _batches(rows))
    except OSError as error:
        raise UserError(
            f"{file} cannot be written: {error.strerror or error}; name a file in a folder that exists"
        ) from error


def _parquet(part: Path, columns: Sequence[str], batches: Iterator[list[tuple[Any, ...]]]) -> int:
    try:
        import pyarrow as pa  # noqa: PLC0415 (comes with the extra)
        from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 (as above)
    except ImportError as error:
        raise UserError(f"Parquet needs pyarrow ({error}); pip install 'exportlint[sweep]', or write .jsonl") from error
    types = {"float64": pa.float64(), "int64": pa.int64()}
    schema = pa.schema([(name, types.get(_NUMBERS.get(name, ""), pa.string())) for name in columns])
    number = 0
    with ParquetWriter(part, schema) as writer:
        for batch in batches:
            # A list of rows is a column each, turned round.
            values = [pa.array(some, field.type) for some, field in zip(zip(*batch, strict=True), schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(values, schema=schema))
            number += len(batch)
    return number


def _json_lines(part: Path, columns: Sequence[str], batches: Iterator[list[tuple[Any, ...]]]) -> int:
    number = 0
    with part.open("w", encoding="utf-8") as out:
        for batch in batches:
            out.writelines(f"{json.dumps(dict(zip(columns, row, strict=True)))}\n" for row in batch)
            number += len(batch)
    return number


def _batches(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    while batch := list(itertools.islice(rows, _BATCH)):
        yield batch


@contextmanager
def _whole(file: Path) -> Iterator[Path]:
    """A file beside it, which takes its place once it is written."""
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as folder:
        part = Path(folder, file.name)
        yield part
        part.replace(file)
