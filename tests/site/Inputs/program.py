"""program.py DOCUMENT WORDS: the first code block of a document that begins with these words."""
import sys
from pathlib import Path

document, words = sys.argv[1:]
text = Path(document).read_text()
print(text[text.index(words):].split("```")[0], end="")
