"""A parser of HTML that checks what it reads."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "img"}


class Page(HTMLParser):
    """Checks nesting while reading, and keeps identifiers, references and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.tags, self.references, self.words = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        self.references += [attributes[key] for key in ("src", "href") if key in attributes]
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
