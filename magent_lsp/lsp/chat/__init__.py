"""Chat documents: Markdown files that are conversations.

document.py     what a text says: front matter, turns, the message that is to be sent
marks.py        headings and tool lines, and how an answer is kept from looking like them
fences.py       which lines are code
answer.py       a run's events as Markdown that only grows
anchor.py       the place of the answer while people change the text around it
stream.py       the answer on its way into the document
history.py      a document beside what its session remembers
resume.py       the session that says what the document says
selections.py   the text that was last selected in another document
completion.py   files, commands, front matter
lens.py         buttons and folds
desk.py         the chats of one client
"""

from typing import Final

SUFFIX: Final = ".magent.md"
"""How the names of chat documents end."""
