#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The documents: README.md shows what the program prints, links lead to files, schemas fit what is printed.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool python3 make

python3 "$srcdir/scripts/readme-example" "$RDMADUMP" --check >"$tmp/log" 2>&1
ok "README.md shows the program's real output" "$tmp/log"
[ "$(sed -n '/^\$ rdmadump analyze/,/^```/p' "$srcdir/README.md" | wc -l)" -ge 12 ]
ok "of which there are a few lines"

# links FILE...: the relative targets of Markdown links and pictures, as FILE: TARGET
links() { grep -oHE '\]\([^)# ]+' -- "$@" | sed 's/:\](/ /' | grep -v ' https\?:'; }

links "$srcdir"/*.md "$srcdir"/docs/*.md "$srcdir"/tests/*/*.md "$srcdir"/tests/*/*/*.md >"$tmp/links"
while read -r file target; do
	[ -e "$(dirname "$file")/$target" ] || echo "$file links to $target, which is absent"
done <"$tmp/links" >"$tmp/log"
[ ! -s "$tmp/log" ] && [ "$(wc -l <"$tmp/links")" -ge 10 ]
ok "links in the documents lead to files" "$tmp/log"

# Paths of the tree in backquotes; patterns, and what a build makes, are left out
for document in CONTRIBUTING.md docs/how-to-add.md docs/architecture.md docs/testing.md docs/support.md; do
	# shellcheck disable=SC2016 # backquotes of Markdown
	grep -oE '`(include|src|tests|man|docs|scripts|bench)/[A-Za-z0-9_./-]+`' "$srcdir/$document" | tr -d '`' | sort -u |
		grep -vE 'NAME|\.log$|/fuzz_reader$|_tool$' | while read -r path; do
		[ -e "$srcdir/$path" ] || echo "$document names $path, which is absent"
	done
done >"$tmp/log"
[ ! -s "$tmp/log" ]
ok "paths that the documents name are there" "$tmp/log"

make -s -C "$BUILD_DIR" install-dist_docDATA DESTDIR="$tmp/root" docdir=/doc >"$tmp/log" 2>&1
ok "the documents are installed" "$tmp/log"
links "$tmp"/root/doc/*.md | while read -r file target; do
	[ -e "$(dirname "$file")/$target" ] || echo "$file links to $target, which is not installed"
done >"$tmp/log"
[ ! -s "$tmp/log" ]
ok "installed documents link only to what is installed" "$tmp/log"

for picture in "$srcdir"/docs/pictures/*.png; do
	name=${picture##*/}
	[ "$(stat -c %s "$picture")" -lt 150000 ] && [ "$(head -c 4 "$picture" | tail -c 3)" = PNG ]
	ok "$name is a small picture"
done

tap_done
