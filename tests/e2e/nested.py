#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""nested.py PAGE: which elements of a page of HTML are not closed in order."""
import html.parser
import sys


class Page(html.parser.HTMLParser):
    """Elements whose end HTML lets one omit are not looked at."""
    omitted = {"meta", "td", "th", "tr", "dt", "dd", "thead", "tbody"}

    def __init__(self):
        super().__init__()
        self.open, self.faults, self.seen = [], [], 0

    def handle_starttag(self, tag, attrs):
        self.seen += 1
        if tag not in self.omitted:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.omitted and (not self.open or self.open.pop() != tag):
            self.faults.append((tag, self.getpos()))


page = Page()
with open(sys.argv[1], encoding="utf-8") as f:
    page.feed(f.read())
print(page.faults + page.open if page.seen > 100 else "nothing was read")
