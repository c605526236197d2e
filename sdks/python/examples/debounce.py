"""Save a document 5 s after the last change. Every change creates the same timer again, which moves it."""

from punctual_client import AsyncPunctual


async def document_changed(punctual: AsyncPunctual, document: str, callback_url: str) -> None:
    """Set the timer, or move it."""
    await punctual.timers.create(
        timer_id=f"save-{document}", delay="5s", callback_url=callback_url, payload={"document": document}
    )
