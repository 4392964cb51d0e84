"""What was erased is nowhere in the files any more."""

import sqlite3
from pathlib import Path

from tests.stores.worker import store_at

from pollux.core.thread import ThreadErased, ThreadRenamed
from pollux.testing.store_lab import NOON, Story, tell_all, thread_change

SECRET = "xyzzy-the-secret-word"


async def test_erased_words_are_in_no_file(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    story = await Story("1").start(store, f"{SECRET} " * 3)
    action = await story.ask(store, to=SECRET)
    await story.resolve(store, action, scope="session")
    await story.execute(store, action, {"long": f"{SECRET} " * 2000})
    await story.finish(store, f"it is {SECRET}")
    renamed = thread_change(story.thread, ThreadRenamed(title=SECRET, at=NOON))
    await store.commit(renamed)
    assert renamed.thread
    neighbour = Story("2")
    await tell_all(store, neighbour)
    assert _files_with(SECRET, tmp_path)
    await store.commit(thread_change(renamed.thread, ThreadErased(by="ada", at=NOON)))
    await store.erase(story.thread.id)
    assert _files_with(SECRET, tmp_path) == []
    assert (await store.verify_audit()).valid
    assert await store.run(neighbour.run_id) == neighbour.run
    await store.close()
    assert _files_with(SECRET, tmp_path) == []


async def test_a_process_that_dies_between_the_fact_and_the_log_leaves_no_words_to_be_read(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    story = await Story("1").start(store, SECRET)
    await story.answer(store, "yes")
    await store.commit(thread_change(story.thread, ThreadErased(by="ada", at=NOON)))
    await store.close()
    with sqlite3.connect(tmp_path / "pollux.db") as db:
        assert db.execute("SELECT count(*) FROM content").fetchone() == (0,)


async def test_erased_words_are_in_no_file_of_a_busy_store_either(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    # Pages fill and split while both threads are written: copies of cells must not stay behind in them.
    marked = Story("marked")
    await marked.start(store, f"{SECRET} first")
    await marked.answer(store, f"{SECRET} answered")
    thread = marked.thread
    for number in range(150):
        other = Story(f"other{number:03}")
        await other.start(store, "other words " * (number % 40))
        await other.answer(store, "more words " * (number % 17))
        again = Story(f"marked{number:03}")
        again.thread = thread
        await again.start(store, f"{SECRET} " * (1 + number % 30))
        await again.answer(store, f"{SECRET} again {number}")
        thread = again.thread
    erased = thread_change(thread, ThreadErased(by="ada", at=NOON))
    await store.commit(erased)
    await store.erase(thread.id)
    assert _files_with(SECRET, tmp_path) == []
    await store.close()


def _files_with(word: str, place: Path) -> list[str]:
    return [path.name for path in place.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
