#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tests/pack: the archives of the tests repack to the same bytes; what it lists of one.
. "${srcdir:-.}/tests/tap.sh"

pack=$srcdir/tests/pack
for archive in "$srcdir"/tests/fuzz/corpus/*.tar.gz "$TEST_DATA"/sysfs/*.tar.gz "$TEST_DATA"/sysfs/*/*.tar.gz "$TEST_DATA"/{roce,apps}/*.tar.gz; do
	holds "${archive#"$srcdir"/tests/}" "$pack" check "$archive"
done
holds "$tap_n archives" [ "$tap_n" -ge 20 ]

mkdir -p "$tmp/tree/sys/empty" "$tmp/tree/sys/a b"
echo 1 >"$tmp/tree/sys/a b/value"
printf 'x\ny\n' >"$tmp/tree/sys/lines"
printf '\1' >"$tmp/tree/sys/binary"
ln -s ../nowhere "$tmp/tree/sys/link"
"$pack" pack "$tmp/tree" "$tmp/one.tar.gz" && "$pack" unpack "$tmp/one.tar.gz" "$tmp/again" && diff -r --no-dereference "$tmp/tree" "$tmp/again"
ok "a tree comes back as it was"
chmod -R go-rwx "$tmp/again"
touch -d 2001-01-01 "$tmp/again/sys/lines"
"$pack" pack "$tmp/again" "$tmp/two.tar.gz" && cmp "$tmp/one.tar.gz" "$tmp/two.tar.gz"
ok "neither times nor modes change the bytes"
is "the list names files, links and contents" "$("$pack" list "$tmp/one.tar.gz")" "sys/a b/value: 1
sys/binary: 1 bytes
sys/lines: x
sys/lines: y
sys/link -> ../nowhere"
tar -cf - -C "$tmp/tree" sys | gzip >"$tmp/one.tar.gz"
! "$pack" check "$tmp/one.tar.gz" 2>"$tmp/log"
has "an archive that others packed is found" "$tmp/log" 'one.tar.gz: repacking gives other bytes'

tap_done
