"""The ledger: every story, revision, passage and keyword row, in one SQLite file.

The truth of a data directory. Vectors are a cache of it. One process writes, one
thread at a time; any thread reads, each on its own connection.

Over 250 lines because all SQL stands here, so that another database can stand
behind the same methods.
"""

import contextlib
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from storybot import text
from storybot.errors import (
    DiskFullError,
    NotFoundError,
    StoreDamagedError,
    StoreError,
    StoreGoneError,
    StoreVersionError,
)
from storybot.types import (
    Alias,
    Draft,
    Filters,
    Moment,
    Outcome,
    Passage,
    Post,
    Revision,
    Story,
    StoryCard,
)

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x53544F52
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_IDLE = 8

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE stories (
  id TEXT PRIMARY KEY, outlet TEXT NOT NULL, section TEXT NOT NULL, url TEXT NOT NULL,
  status TEXT NOT NULL
) STRICT;
CREATE TABLE aliases (
  kind TEXT NOT NULL, value TEXT NOT NULL,
  story_id TEXT NOT NULL REFERENCES stories(id) ON DELETE CASCADE,
  PRIMARY KEY (kind, value)
) STRICT;
CREATE INDEX aliases_story ON aliases(story_id);
CREATE TABLE revisions (
  story_id TEXT NOT NULL REFERENCES stories(id) ON DELETE CASCADE,
  number INTEGER NOT NULL, headline TEXT NOT NULL, body TEXT NOT NULL,
  authors TEXT NOT NULL, dateline TEXT NOT NULL, genre TEXT NOT NULL, agency TEXT NOT NULL,
  language TEXT NOT NULL, published TEXT NOT NULL, published_from INTEGER,
  modified TEXT NOT NULL, modified_from INTEGER, correction TEXT NOT NULL,
  partial INTEGER NOT NULL, posts TEXT NOT NULL, content_hash TEXT NOT NULL,
  embargoed_until INTEGER, ingested INTEGER NOT NULL, source TEXT NOT NULL,
  PRIMARY KEY (story_id, number)
) STRICT;
CREATE INDEX revisions_published ON revisions(published_from);
CREATE TABLE passages (
  id INTEGER PRIMARY KEY, story_id TEXT NOT NULL, revision INTEGER NOT NULL,
  ordinal INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
  prefix TEXT NOT NULL, vector_key TEXT NOT NULL,
  UNIQUE (story_id, revision, ordinal),
  FOREIGN KEY (story_id, revision) REFERENCES revisions(story_id, number) ON DELETE CASCADE
) STRICT;
CREATE INDEX passages_vector ON passages(vector_key);
CREATE TABLE vectors (key TEXT PRIMARY KEY) STRICT;
CREATE VIRTUAL TABLE passages_fts USING fts5(headline, text, tokenize = "unicode61");
CREATE VIRTUAL TABLE passages_vocab USING fts5vocab(passages_fts, row);
CREATE TABLE log (
  at INTEGER NOT NULL, action TEXT NOT NULL, story_id TEXT NOT NULL, detail TEXT NOT NULL
) STRICT;
"""

_CURRENT = """(SELECT max(c.number) FROM revisions c WHERE c.story_id = s.id
  AND (c.embargoed_until IS NULL OR c.embargoed_until <= :now))"""
_CARD = """s.id, s.outlet, s.section, s.url, r.number, r.headline, r.published, r.modified,
  r.authors, r.dateline, r.genre, r.language, r.correction"""
_PASSAGE = """p.id AS row, p.ordinal, p.start, p.end, p.prefix, p.vector_key,
  substr(r.body, p.start + 1, p.end - p.start) AS text"""
_LIVE = f"""FROM passages p JOIN stories s ON s.id = p.story_id
  JOIN revisions r ON r.story_id = p.story_id AND r.number = p.revision
  WHERE s.status = 'usable' AND p.revision = {_CURRENT}"""


@dataclass(frozen=True, slots=True)
class NewPassage:
    """A passage to be written: offsets, embedded prefix and vector key."""

    start: int
    end: int
    prefix: str
    vector_key: str


@dataclass(frozen=True, slots=True)
class Match:
    """Which story a draft belongs to. ``outcome`` is ``unchanged`` when nothing is to be done."""

    story_id: str | None
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """Sizes of a collection. ``pending`` passages have no vector yet."""

    stories: int
    passages: int
    pending: int


def content_hash(draft: Draft) -> str:
    """Equal for drafts that would make the same revision."""
    content = [
        draft.headline,
        draft.body,
        draft.outlet,
        draft.section,
        draft.status,
        draft.authors,
        draft.dateline,
        draft.genre,
        draft.agency,
        draft.language,
        draft.published.raw,
        draft.modified.raw,
        draft.correction,
        draft.partial,
        _epoch(draft.embargoed_until),
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class Ledger:
    """An open ledger. ``zone`` places dates that name no zone."""

    def __init__(self, path: Path, *, zone: ZoneInfo | None = None) -> None:
        """Open or make the file. Raises StoreDamagedError or StoreVersionError."""
        self.path = path
        self._zone = zone or ZoneInfo("UTC")
        self._lock = threading.RLock()
        self._closed = False
        self._idle: list[sqlite3.Connection] = []
        with self._errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = self._connect()
            try:
                self._prepare()
            except BaseException:
                self._writer.close()
                raise
            self._inode = path.stat().st_ino

    def close(self) -> None:
        """End the ledger; a connection that reads still is closed when it has done."""
        with self._lock:
            self._closed = True
            for connection in (self._writer, *self._idle):
                connection.close()
            self._idle.clear()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, check_same_thread=False, isolation_level=None, timeout=30
        )
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self) -> None:
        version = int(self._writer.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            raise StoreVersionError(
                f"{self.path} was made by a newer storybot (schema {version}, "
                f"this one knows {SCHEMA_VERSION}).",
                hint="Upgrade storybot, or point STORYBOT_DATA_DIR at another folder.",
            )
        tables = self._writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if version == 0 and tables:
            raise StoreDamagedError(
                f"{self.path} is a database, but not storybot's.",
                hint="Point STORYBOT_DATA_DIR at another folder.",
            )
        if version == 0:
            self._writer.executescript(
                f"BEGIN;{_SCHEMA}PRAGMA application_id = {_APPLICATION_ID};"
                f"PRAGMA user_version = {SCHEMA_VERSION};COMMIT;"
            )

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._full() from error
        except sqlite3.Error as error:
            said = str(error).lower()
            if "full" in said or "readonly" in said or "unable to open" in said:
                raise self._full() from error
            if isinstance(error, sqlite3.OperationalError) and "locked" in said:
                raise StoreError(
                    f"{self.path} is locked by another program.", hint="Close it and try again."
                ) from error
            raise StoreDamagedError(
                f"{self.path} is damaged ({error}).",
                hint="Restore the file from a backup, or remove it and ingest the stories again.",
            ) from error

    def _full(self) -> DiskFullError:
        return DiskFullError(
            f"{self.path} cannot be written: the disk is full or the folder read-only.",
            hint="Free some room or allow writing, then run the command again; it resumes.",
        )

    def _present(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} was closed.", hint="Start storybot again.")
        try:
            same = self.path.stat().st_ino == self._inode
        except FileNotFoundError:
            same = False
        if not same:
            raise StoreGoneError(
                f"{self.path} is gone: the data directory was removed or replaced.",
                hint="Restart storybot, then ingest the stories again.",
            )

    @contextlib.contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        self._present()
        with self._errors():
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            connection = connection or self._connect()
            try:
                yield connection
            finally:
                with self._lock:
                    keep = not self._closed and len(self._idle) < _IDLE
                    if keep:
                        self._idle.append(connection)
                if not keep:
                    connection.close()

    @contextlib.contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._errors():
            self._present()
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
                raise

    # Facts about the whole collection

    def meta(self, key: str) -> str | None:
        with self._read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        with self._write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def counts(self, *, now: datetime) -> Counts:
        """How much can be asked about at ``now``."""
        with self._read() as connection:
            stories, passages = connection.execute(
                f"SELECT count(DISTINCT p.story_id), count(*) {_LIVE}", {"now": _epoch(now)}
            ).fetchone()
            pending = connection.execute(
                "SELECT count(*) FROM passages WHERE vector_key NOT IN (SELECT key FROM vectors)"
            ).fetchone()[0]
        return Counts(int(stories), int(passages), int(pending))

    def integrity(self) -> list[str]:
        """What SQLite's own checks complain of; empty when sound."""
        with self._lock, self._errors():
            self._present()
            found = [str(row[0]) for row in self._writer.execute("PRAGMA integrity_check")]
            complaints = [line for line in found if line != "ok"]
            try:
                self._writer.execute(
                    "INSERT INTO passages_fts(passages_fts) VALUES ('integrity-check')"
                )
            except sqlite3.DatabaseError as error:
                complaints.append(f"keyword index: {error}")
            orphans = self._writer.execute(
                "SELECT count(*) FROM passages_fts WHERE rowid NOT IN (SELECT id FROM passages)"
            ).fetchone()[0]
            missing = self._writer.execute(
                "SELECT count(*) FROM passages WHERE id NOT IN (SELECT rowid FROM passages_fts)"
            ).fetchone()[0]
        if orphans or missing:
            complaints.append(f"keyword index: {missing} passages missing, {orphans} too many")
        return complaints

    def rebuild_keywords(self) -> None:
        """Write the keyword index anew from the passages."""
        with self._write() as connection:
            connection.execute("DELETE FROM passages_fts")
            rows = connection.execute(
                """SELECT p.id, r.headline, substr(r.body, p.start + 1, p.end - p.start)
                FROM passages p JOIN revisions r
                ON r.story_id = p.story_id AND r.number = p.revision"""
            ).fetchall()
            connection.executemany(
                "INSERT INTO passages_fts(rowid, headline, text) VALUES (?, ?, ?)",
                [(row[0], _terms(row[1]), _terms(row[2])) for row in rows],
            )

    # Stories going in and out

    def match(self, draft: Draft) -> Match:
        """Find the story a draft is a version of, by its aliases, strongest first."""
        with self._read() as connection:
            return self._matched(connection, draft)

    def _matched(self, connection: sqlite3.Connection, draft: Draft) -> Match:
        story_id = self._by_alias(connection, draft.aliases)
        rows = connection.execute(
            """SELECT content_hash, modified_from, number FROM revisions
            WHERE story_id = ? ORDER BY number DESC""",
            (story_id,),
        ).fetchall()
        if story_id is None or not rows:
            return Match(None, "added")
        made = content_hash(draft)
        if rows[0]["content_hash"] == made:
            return Match(story_id, "unchanged")
        named = any(alias.kind != "path" for alias in draft.aliases)
        modified, held = self._from(draft.modified), rows[0]["modified_from"]
        older = modified is not None and held is not None and modified < held
        if older or (named and any(row["content_hash"] == made for row in rows)):
            return Match(story_id, "unchanged", "an older version; the newer one is kept")
        return Match(story_id, "updated")

    def write(self, draft: Draft, passages: Sequence[NewPassage], *, now: datetime) -> Match:
        """Store a draft as a new revision, in one transaction, and say of which story.

        Matched within the transaction, so that two who write the same story at
        once make one of it. Once this returns the story is kept and can be found
        by its words.
        """
        with self._write() as connection:
            match = self._matched(connection, draft)
            if match.outcome == "unchanged":
                return match
            story_id = match.story_id or self._new_id(connection, draft)
            connection.execute(
                """INSERT INTO stories VALUES (?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET
                outlet = excluded.outlet, section = excluded.section, url = excluded.url,
                status = excluded.status""",
                (story_id, draft.outlet, draft.section, draft.url, draft.status),
            )
            connection.executemany(
                "INSERT OR REPLACE INTO aliases VALUES (?, ?, ?)",
                [(alias.kind, alias.value, story_id) for alias in draft.aliases],
            )
            number = 1 + int(
                connection.execute(
                    "SELECT coalesce(max(number), 0) FROM revisions WHERE story_id = ?", (story_id,)
                ).fetchone()[0]
            )
            self._insert_revision(connection, draft, story_id, number, now)
            embargoed = draft.embargoed_until is not None and draft.embargoed_until > now
            if not embargoed:
                self._drop_passages(connection, story_id, before=number)
            self._insert_passages(
                connection, story_id, number, draft.headline, draft.body, passages
            )
            self._log(connection, now, match.outcome, story_id, f"revision {number}")
        return Match(story_id, match.outcome)

    def delete(self, story_id: str, *, now: datetime) -> None:
        """Remove a story, its revisions and passages. Raises NotFoundError."""
        with self._write() as connection:
            self._drop_passages(connection, story_id)
            gone = connection.execute("DELETE FROM stories WHERE id = ?", (story_id,)).rowcount
            if not gone:
                raise _no_story(story_id)
            self._log(connection, now, "deleted", story_id, "")

    def _insert_revision(
        self,
        connection: sqlite3.Connection,
        draft: Draft,
        story_id: str,
        number: int,
        now: datetime,
    ) -> None:
        posts = [[_moment_json(post.time), post.start, post.end] for post in draft.posts]
        connection.execute(
            f"INSERT INTO revisions VALUES ({', '.join('?' * 20)})",
            (
                story_id,
                number,
                draft.headline,
                draft.body,
                json.dumps(draft.authors, ensure_ascii=False),
                draft.dateline,
                draft.genre,
                draft.agency,
                draft.language,
                json.dumps(_moment_json(draft.published)),
                self._from(draft.published),
                json.dumps(_moment_json(draft.modified)),
                self._from(draft.modified),
                draft.correction,
                int(draft.partial),
                json.dumps(posts),
                content_hash(draft),
                _epoch(draft.embargoed_until),
                _epoch(now),
                draft.source,
            ),
        )

    @staticmethod
    def _insert_passages(
        connection: sqlite3.Connection,
        story_id: str,
        number: int,
        headline: str,
        body: str,
        passages: Sequence[NewPassage],
    ) -> None:
        headline_terms = _terms(headline)
        for ordinal, passage in enumerate(passages):
            row = connection.execute(
                """INSERT INTO passages
                (story_id, revision, ordinal, start, end, prefix, vector_key)
                VALUES (?, ?, ?, ?, ?, ?, ?)""",
                (
                    story_id,
                    number,
                    ordinal,
                    passage.start,
                    passage.end,
                    passage.prefix,
                    passage.vector_key,
                ),
            ).lastrowid
            connection.execute(
                "INSERT INTO passages_fts(rowid, headline, text) VALUES (?, ?, ?)",
                (row, headline_terms, _terms(body[passage.start : passage.end])),
            )

    @staticmethod
    def _by_alias(connection: sqlite3.Connection, aliases: Iterable[Alias]) -> str | None:
        for alias in aliases:
            row = connection.execute(
                "SELECT story_id FROM aliases WHERE kind = ? AND value = ?",
                (alias.kind, alias.value),
            ).fetchone()
            if row is None:
                continue
            if alias.kind == "path":
                ids = {a.value for a in aliases if a.kind == "id"}
                held = connection.execute(
                    "SELECT value FROM aliases WHERE kind = 'id' AND story_id = ?", (row[0],)
                ).fetchall()
                if ids and held and not ids & {str(other[0]) for other in held}:
                    continue
            return str(row[0])
        return None

    @staticmethod
    def _new_id(connection: sqlite3.Connection, draft: Draft) -> str:
        first = draft.aliases[0] if draft.aliases else Alias("path", content_hash(draft))
        for attempt in range(1000):
            name = f"{first.kind}\n{first.value}\n{attempt}"
            story_id = hashlib.sha256(name.encode()).hexdigest()[:12]
            taken = connection.execute("SELECT 1 FROM stories WHERE id = ?", (story_id,))
            if taken.fetchone() is None:
                return story_id
        raise StoreError("No free story id was found.")

    @staticmethod
    def _drop_passages(
        connection: sqlite3.Connection, story_id: str, *, before: int | None = None
    ) -> None:
        limit = before if before is not None else 2**62
        chosen = "SELECT id FROM passages WHERE story_id = ? AND revision < ?"
        connection.execute(f"DELETE FROM passages_fts WHERE rowid IN ({chosen})", (story_id, limit))
        connection.execute(
            "DELETE FROM passages WHERE story_id = ? AND revision < ?", (story_id, limit)
        )

    @staticmethod
    def _log(
        connection: sqlite3.Connection, now: datetime, action: str, story_id: str, detail: str
    ) -> None:
        connection.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?)", (_epoch(now), action, story_id, detail)
        )

    def _from(self, moment: Moment) -> int | None:
        """Epoch seconds a moment starts at, a bare date's midnight being the zone's."""
        if moment.instant is not None:
            return _epoch(moment.instant)
        if moment.date is not None:
            return _epoch(datetime.combine(moment.date, time(), tzinfo=self._zone))
        return None

    # Vectors

    def pending(self, limit: int) -> list[tuple[str, str, str]]:
        """Up to ``limit`` passages without a vector, the latest first: (vector key, prefix, text).

        Passages that share a vector come once.
        """
        with self._read() as connection:
            rows = connection.execute(
                """SELECT p.vector_key, p.prefix, substr(r.body, p.start + 1, p.end - p.start)
                FROM passages p JOIN revisions r
                ON r.story_id = p.story_id AND r.number = p.revision
                WHERE p.vector_key NOT IN (SELECT key FROM vectors)
                ORDER BY p.id DESC LIMIT ?""",
                (limit,),
            ).fetchall()
        return list({str(row[0]): (str(row[0]), str(row[1]), str(row[2])) for row in rows}.values())

    def unembedded(self, rows: Sequence[int]) -> list[int]:
        """Those passage rows whose vector the index does not hold, in the order given."""
        with self._read() as connection:
            found = connection.execute(
                """SELECT id FROM passages WHERE id IN (SELECT value FROM json_each(?))
                AND vector_key NOT IN (SELECT key FROM vectors)""",
                (json.dumps(list(rows)),),
            ).fetchall()
        missing = {int(row[0]) for row in found}
        return [row for row in rows if row in missing]

    def mark_embedded(self, keys: Sequence[str]) -> None:
        """Record that the index holds these vectors."""
        with self._write() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?)", [(key,) for key in keys]
            )

    def orphans(self) -> list[str]:
        """Keys of vectors that no passage uses any more."""
        with self._read() as connection:
            rows = connection.execute(
                "SELECT key FROM vectors WHERE key NOT IN (SELECT vector_key FROM passages)"
            ).fetchall()
        return [str(row[0]) for row in rows]

    def forget_vectors(self, keys: Sequence[str] | None = None) -> None:
        """Record that the index no longer holds these vectors; None means any."""
        with self._write() as connection:
            if keys is None:
                connection.execute("DELETE FROM vectors")
            else:
                connection.executemany(
                    "DELETE FROM vectors WHERE key = ?", [(key,) for key in keys]
                )

    def vector_keys(self) -> list[str]:
        """Every key the index should hold, in a fixed order."""
        with self._read() as connection:
            rows = connection.execute("SELECT key FROM vectors ORDER BY key").fetchall()
        return [str(row[0]) for row in rows]

    def start_index(self, name: str) -> None:
        """Record that the vectors are now kept under ``name``, and that it holds none yet."""
        with self._write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('index', ?)", (name,))
            connection.execute("DELETE FROM vectors")

    def is_empty(self) -> bool:
        """Whether there is no passage at all, live or not."""
        with self._read() as connection:
            return connection.execute("SELECT 1 FROM passages LIMIT 1").fetchone() is None

    # Cutting anew for another model

    def start_recut(self, model: str) -> None:
        """Record that the passages are being cut for another model."""
        with self._write() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                [("embedding_model", model), ("recut", "1")],
            )
            connection.execute("DELETE FROM vectors")

    def indexed_revisions(
        self,
    ) -> Iterator[tuple[str, int, str, str, str, tuple[Post, ...]]]:
        """Revisions that have passages: story id, number, headline, body, language, posts."""
        with self._read() as connection:
            keys = connection.execute(
                "SELECT DISTINCT story_id, revision FROM passages ORDER BY story_id, revision"
            ).fetchall()
            for story_id, number in keys:
                row = connection.execute(
                    "SELECT * FROM revisions WHERE story_id = ? AND number = ?", (story_id, number)
                ).fetchone()
                made = _revision(row)
                yield story_id, number, made.headline, made.body, made.language, made.posts

    def replace_passages(
        self,
        story_id: str,
        number: int,
        headline: str,
        body: str,
        passages: Sequence[NewPassage],
    ) -> None:
        """Cut one revision anew, in one transaction."""
        with self._write() as connection:
            rows = [
                (row[0],)
                for row in connection.execute(
                    "SELECT id FROM passages WHERE story_id = ? AND revision = ?",
                    (story_id, number),
                )
            ]
            connection.executemany("DELETE FROM passages_fts WHERE rowid = ?", rows)
            connection.executemany("DELETE FROM passages WHERE id = ?", rows)
            self._insert_passages(connection, story_id, number, headline, body, passages)

    # Reading

    def document_frequency(self, stems: Sequence[str]) -> tuple[int, dict[str, int]]:
        """How many passages there are, and how many hold each stem."""
        with self._read() as connection:
            total = connection.execute("SELECT count(*) FROM passages").fetchone()[0]
            rows = connection.execute(
                """SELECT term, doc FROM passages_vocab
                WHERE term IN (SELECT value FROM json_each(?))""",
                (json.dumps(list(stems)),),
            ).fetchall()
        return int(total), {str(row[0]): int(row[1]) for row in rows}

    def keyword(
        self, query: str, limit: int, *, filters: Filters, now: datetime
    ) -> list[tuple[int, float]]:
        """Rows of live passages matching an FTS5 query of stems, with BM25 (higher is better)."""
        condition, values = self._condition(filters)
        with self._read() as connection:
            rows = connection.execute(
                f"""SELECT p.id, -bm25(passages_fts, 1.0, 1.0) AS score
                FROM passages_fts JOIN passages p ON p.id = passages_fts.rowid
                JOIN stories s ON s.id = p.story_id
                JOIN revisions r ON r.story_id = p.story_id AND r.number = p.revision
                WHERE passages_fts MATCH :query AND s.status = 'usable'
                AND p.revision = {_CURRENT} {condition}
                ORDER BY score DESC, p.id LIMIT :limit""",
                {"query": query, "now": _epoch(now), "limit": limit, **values},
            ).fetchall()
        return [(int(row[0]), float(row[1])) for row in rows]

    def live_rows(
        self, *, filters: Filters, now: datetime, keys: Sequence[str] | None = None
    ) -> list[tuple[int, str]]:
        """(row, vector key) of live passages that pass the filters, of ``keys`` when given."""
        condition, values = self._condition(filters)
        if keys is not None:
            condition += " AND p.vector_key IN (SELECT value FROM json_each(:keys))"
            values["keys"] = json.dumps(list(keys))
        with self._read() as connection:
            rows = connection.execute(
                f"SELECT p.id, p.vector_key {_LIVE} {condition} ORDER BY p.id",
                {"now": _epoch(now), **values},
            ).fetchall()
        return [(int(row[0]), str(row[1])) for row in rows]

    def passages(
        self, rows: Sequence[int], *, now: datetime
    ) -> dict[int, tuple[Passage, StoryCard]]:
        """The live passages of those rows, with their stories."""
        with self._read() as connection:
            found = connection.execute(
                f"""SELECT {_PASSAGE}, {_CARD} {_LIVE}
                AND p.id IN (SELECT value FROM json_each(:rows))""",
                {"now": _epoch(now), "rows": json.dumps(list(rows))},
            ).fetchall()
        return {int(row["row"]): (_passage(row), _card(row)) for row in found}

    def body(self, story_id: str, revision: int) -> str:
        """The text of one revision. Raises NotFoundError."""
        with self._read() as connection:
            row = connection.execute(
                "SELECT body FROM revisions WHERE story_id = ? AND number = ?",
                (story_id, revision),
            ).fetchone()
        if row is None:
            raise _no_story(story_id)
        return str(row[0])

    def stories(
        self, *, now: datetime, filters: Filters | None = None, limit: int = 100, offset: int = 0
    ) -> list[StoryCard]:
        """Live stories, newest first; those without a date last."""
        condition, values = self._condition(filters or Filters())
        with self._read() as connection:
            rows = connection.execute(
                f"""SELECT {_CARD} FROM stories s JOIN revisions r
                ON r.story_id = s.id AND r.number = {_CURRENT}
                WHERE s.status = 'usable' {condition}
                ORDER BY r.published_from IS NULL, r.published_from DESC, s.id
                LIMIT :limit OFFSET :offset""",
                {"now": _epoch(now), "limit": limit, "offset": offset, **values},
            ).fetchall()
        return [_card(row) for row in rows]

    def names(self, column: str, *, now: datetime) -> list[str]:
        """The outlets or sections (``column``) of live stories, most stories first."""
        if column not in ("outlet", "section"):
            raise ValueError(column)
        with self._read() as connection:
            rows = connection.execute(
                f"""SELECT s.{column}, count(*) AS n FROM stories s JOIN revisions r
                ON r.story_id = s.id AND r.number = {_CURRENT}
                WHERE s.status = 'usable' AND s.{column} != ''
                GROUP BY s.{column} ORDER BY n DESC, s.{column}""",
                {"now": _epoch(now)},
            ).fetchall()
        return [str(row[0]) for row in rows]

    def story(self, story_id: str) -> Story:
        """A story's lasting facts. Raises NotFoundError."""
        with self._read() as connection:
            row = connection.execute("SELECT * FROM stories WHERE id = ?", (story_id,)).fetchone()
            if row is None:
                raise _no_story(story_id)
            aliases = connection.execute(
                "SELECT kind, value FROM aliases WHERE story_id = ? ORDER BY kind, value",
                (story_id,),
            ).fetchall()
        return Story(
            id=story_id,
            aliases=tuple(Alias(a["kind"], a["value"]) for a in aliases),
            outlet=row["outlet"],
            section=row["section"],
            url=row["url"],
            status=row["status"],
        )

    def revision(
        self, story_id: str, number: int | None = None, *, now: datetime
    ) -> tuple[StoryCard, Revision]:
        """One revision, by default the one current at ``now``. Raises NotFoundError."""
        with self._read() as connection:
            row = connection.execute(
                f"""SELECT r.*, {_CARD},
                (SELECT max(n.number) FROM revisions n WHERE n.story_id = s.id) AS revisions
                FROM stories s JOIN revisions r ON r.story_id = s.id
                WHERE s.id = :story AND s.status = 'usable'
                AND (r.embargoed_until IS NULL OR r.embargoed_until <= :now)
                AND r.number = coalesce(:number, {_CURRENT})""",
                {"story": story_id, "number": number, "now": _epoch(now)},
            ).fetchone()
        if row is None:
            if number is None:
                raise _no_story(story_id)
            raise NotFoundError(
                f"Story {story_id} has no revision {number}.",
                hint=f"`storybot stories show {story_id}` lists its revisions.",
            )
        return _card(row), _revision(row)

    def _condition(self, filters: Filters) -> tuple[str, dict[str, object]]:
        parts: list[str] = []
        values: dict[str, object] = {}
        for column, names in (("outlet", filters.outlets), ("section", filters.sections)):
            if names:
                parts.append(f"s.{column} IN (SELECT value FROM json_each(:{column}))")
                values[column] = json.dumps(list(names))
        if filters.since is not None:
            parts.append("r.published_from >= :since")
            values["since"] = _epoch(filters.since)
        if filters.until is not None:
            parts.append("r.published_from < :until")
            values["until"] = _epoch(filters.until)
        return "".join(f" AND {part}" for part in parts), values


def _terms(passage: str) -> str:
    return " ".join(text.stems(passage))


def _no_story(story_id: str) -> NotFoundError:
    return NotFoundError(f"There is no story {story_id}.", hint="`storybot stories` lists them.")


def _epoch(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    try:
        return int(moment.timestamp())
    except OverflowError:  # within a day of the calendar's first or last instant
        return _LAST if moment.year > 1970 else _FIRST


def _instant(epoch: int | None) -> datetime | None:
    return None if epoch is None else datetime.fromtimestamp(0, UTC) + timedelta(seconds=epoch)


def _moment_json(moment: Moment) -> list[str | int | None]:
    return [
        moment.raw,
        None if moment.instant is None else moment.instant.isoformat(),
        None if moment.date is None else moment.date.isoformat(),
        moment.offset,
        moment.flag,
    ]


def _moment(stored: str | list[Any]) -> Moment:
    parts: list[Any] = json.loads(stored) if isinstance(stored, str) else stored
    raw, instant, day, offset, flag = parts
    return Moment(
        raw=raw,
        instant=datetime.fromisoformat(instant) if instant else None,
        date=date.fromisoformat(day) if day else None,
        offset=offset,
        flag=flag,
    )


def _passage(row: sqlite3.Row) -> Passage:
    return Passage(
        id=f"{row['id']}.{row['number']}.{row['ordinal']}",
        story_id=row["id"],
        revision=row["number"],
        start=row["start"],
        end=row["end"],
        text=row["text"],
        vector_key=row["vector_key"],
        prefix=row["prefix"],
    )


def _card(row: sqlite3.Row) -> StoryCard:
    return StoryCard(
        id=row["id"],
        revision=row["number"],
        headline=row["headline"],
        outlet=row["outlet"],
        section=row["section"],
        url=row["url"],
        published=_moment(row["published"]),
        modified=_moment(row["modified"]),
        authors=tuple(json.loads(row["authors"])),
        dateline=row["dateline"],
        genre=row["genre"],
        language=row["language"],
        correction=row["correction"],
        revisions=row["revisions"] if "revisions" in row.keys() else row["number"],  # noqa: SIM118
    )


def _revision(row: sqlite3.Row) -> Revision:
    posts = [Post(_moment(time), start, end) for time, start, end in json.loads(row["posts"])]
    return Revision(
        story_id=row["story_id"],
        number=row["number"],
        headline=row["headline"],
        body=row["body"],
        authors=tuple(json.loads(row["authors"])),
        dateline=row["dateline"],
        genre=row["genre"],
        agency=row["agency"],
        language=row["language"],
        published=_moment(row["published"]),
        modified=_moment(row["modified"]),
        correction=row["correction"],
        partial=bool(row["partial"]),
        posts=tuple(posts),
        content_hash=row["content_hash"],
        embargoed_until=_instant(row["embargoed_until"]),
        ingested=_instant(row["ingested"]) or datetime.now(UTC),
    )
