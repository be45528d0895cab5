#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The documents: they show what the program prints, their commands work, links lead to files, schemas fit what is printed.
. "${srcdir:-.}/tests/tap.sh"
need_tool python3 make

holds "README.md and docs/first-capture.md show the program's real output" python3 "$srcdir/scripts/readme-example" "$RDMADUMP" --check
[ "$(sed -n '/^\$ rdmadump analyze/,/^```/p' "$srcdir/README.md" "$srcdir/docs/first-capture.md" | wc -l)" -ge 35 ]
ok "of which there are a few lines"

# A loss depends on time, so only the labels are compared
labels() { grep -oE 'frames in|written to|filtered out|dropped by rdmadump|dropped by the device' "$1" | paste -sd,; }
sed -n '/^At its end a capture prints/,/^\* /{/^[ 0-9]/p}' "$srcdir/docs/first-capture.md" >"$tmp/losses"
model --gen count=50 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -w "$tmp/losses.pcapng" >/dev/null 2>"$tmp/log"
is "docs/first-capture.md shows the losses as a capture prints them" "$(labels "$tmp/losses")" "$(labels "$tmp/log")"
is "... all of them" "$(labels "$tmp/losses" | tr ',' '\n' | wc -l)" 5

# The first thing that a newcomer reads
if has_tool zstd "scripts/quickstart captures frames of its device"; then
	zstd -dqf -o "$tmp/in.pcap" "$srcdir/$(sed -n 's/^data=//p' "$srcdir/scripts/quickstart")"
	model --dev "$(sed -n 's/^softhca --dev \([^ ]*\) .*/\1/p' "$srcdir/scripts/quickstart")" --pcap "$tmp/in.pcap" --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -w "$tmp/quick.pcapng" 2>"$tmp/log"
	has "scripts/quickstart captures frames of its device" "$tmp/log" '^  received 110 +sent 107 +direction unknown 0$'
	has "... and says in one clause that nothing was lost" "$tmp/log" '^  no loss counter moved$'
fi

# Some of its commands run as another user
if [ "$(id -u)" != 0 ]; then
	skip "docs/hardware.md shows the program's real output" "needs root"
elif has_tool setpriv "docs/hardware.md shows the program's real output"; then
	python3 "$srcdir/scripts/hardware-example" "$BUILD_DIR" --check >"$tmp/log" 2>&1
	ok "docs/hardware.md shows the program's real output" "$tmp/log"
fi
is "for every adapter that the document names" "$(grep -cE '^<!-- (model|tree)' "$srcdir/docs/hardware.md")" 10

# Every command line of these pages runs, also those in a sentence that name all they need, in a folder with their files. Of the rows, the first one whose pattern fits:
# PATTERN | options of the model | options that make it end
commands='
selftest*icmd*|--dev link=ib,lid=1,gateway=yes --gen size=300,count=100000000 --rate 5000|
*icmd*|--dev link=ib,lid=1,gateway=yes --gen size=300,count=200 --at-end sigint|
selftest*|--gen count=100000000,size=60-1400 --rate 5000|
bundle*capture*|--gen count=100000000,size=60-1400 --rate 5000|--capture 1
bundle*||--dry-run
events*|--fault port=down,after_ms=50|-c 1
counters*||--interval 0.01 --count 1
*-j adapter|--clock realtime --gen count=50 --at-end sigint|
*|--gen count=50 --at-end sigint|
'
mkdir "$tmp/folder"
: >"$tmp/folder/app.log"
for name in out.pcapng client.pcapng server.pcapng a.pcapng b.pcapng frames; do
	"$RDMADUMP" -q -r "$TEST_DATA/roce/10_rc_write_loss/a.pcap.zst" -w "$tmp/folder/$name" 2>"$tmp/log"
done
for page in README.md docs/first-capture.md docs/selftest.md docs/infiniband.md docs/hardware.md docs/install.md; do
	awk '/^```/ { code = !code; next } code' "$srcdir/$page" | sed -nE 's/ +#.*//; s/^(sudo |.*:\/captures" )?rdmadump //p'
	# shellcheck disable=SC2016 # backquotes of Markdown
	grep -oE '`(sudo )?rdmadump [^`]*(mlx5_0|pcapng|--version)[^`]*`' "$srcdir/$page" | sed -E 's/^`(sudo )?rdmadump |`$//g'
done | sed -E 's,/(captures|var/log)/,,' >"$tmp/lines"
# What 'explain' advises
grep -ohE 'rdmadump (bundle|counters|events|info)( -v)?( DEV)?' "$srcdir"/src/explain/*.def | sed 's/^rdmadump //; s/DEV/mlx5_0/' >>"$tmp/lines"
holds "the documents have command lines" [ "$(wc -l <"$tmp/lines")" -ge 23 ]
while read -r line <&3; do
	while IFS='|' read -r pattern device ends; do
		# shellcheck disable=SC2053 # a pattern
		[ -z "$pattern" ] || [[ $line != $pattern ]] || break
	done <<<"$commands"
	# shellcheck disable=SC2086 # several options
	(cd "$tmp/folder" && eval "model $device -- \"\$RDMADUMP\" $line $ends") >"$tmp/log" 2>&1 </dev/null
	ok "it works: rdmadump $line" "$tmp/log"
done 3< <(sort -u "$tmp/lines")

# What a capture may do to other hosts
is "pages that say that copies load PCIe, and may cause pause frames" \
	"$(cd "$srcdir" && grep -lE '^[^|]*PCIe' README.md NEWS.md docs/selftest.md man/rdmadump.1 man/rdmadump-selftest.1 | xargs grep -lE 'pause frames' | wc -l)" 5

# links FILE...: the relative targets of Markdown links and pictures, as FILE: TARGET
links() { grep -oHE '\]\([^)# ]+' -- "$@" | sed 's/:\](/ /' | grep -v ' https\?:'; }

links "$srcdir"/*.md "$srcdir"/docs/*.md "$srcdir"/tests/*/*.md "$srcdir"/tests/*/*/*.md >"$tmp/links"
while read -r file target; do
	[ -e "$(dirname "$file")/$target" ] || echo "$file links to $target, which is absent"
done <"$tmp/links" >"$tmp/log"
[ ! -s "$tmp/log" ] && [ "$(wc -l <"$tmp/links")" -ge 10 ]
ok "links in the documents lead to files" "$tmp/log"

# Paths of the tree in backquotes; patterns, and what a build makes, are left out
for document in CONTRIBUTING.md docs/how-to-add.md docs/architecture.md docs/testing.md docs/support.md docs/hardware.md; do
	# shellcheck disable=SC2016 # backquotes of Markdown
	grep -oE '`(include|src|tests|man|docs|scripts|bench)/[A-Za-z0-9_./-]+`' "$srcdir/$document" | tr -d '`' | sort -u |
		grep -vE 'NAME|\.log$|/fuzz_reader$|_tool$' | while read -r path; do
		[ -e "$srcdir/$path" ] || echo "$document names $path, which is absent"
	done
done >"$tmp/log"
empty "paths that the documents name are there" "$tmp/log"

holds "the documents are installed" make -s -C "$BUILD_DIR" install-dist_docDATA DESTDIR="$tmp/root" docdir=/doc
links "$tmp"/root/doc/*.md | while read -r file target; do
	[ -e "$(dirname "$file")/$target" ] || echo "$file links to $target, which is not installed"
done >"$tmp/log"
empty "installed documents link only to what is installed" "$tmp/log"

# The table of probes, in its order
sed -n 's/^\tX(\([a-z]*\)).*/\1/p' "$srcdir/src/selftest/probes.c" >"$tmp/probes"
holds "selftest has probes" [ "$(wc -l <"$tmp/probes")" -ge 11 ]
sed -n '/^The probes, in this order/,/^The result with/s/^\.It \([a-z]*\)$/\1/p' "$srcdir/man/rdmadump-selftest.1" | diff "$tmp/probes" - >"$tmp/log"
ok "rdmadump-selftest(1) lists every probe, in their order" "$tmp/log"
sed -n 's/^### \([a-z]*\)$/\1/p; /^### The port/,/^## /s/^\*\*\([a-z]*\)\*\*.*/\1/p' "$srcdir/docs/selftest.md" | diff "$tmp/probes" - >"$tmp/log"
ok "docs/selftest.md describes every probe, in their order" "$tmp/log"

for picture in "$srcdir"/docs/pictures/*.png; do
	name=${picture##*/}
	[ "$(stat -c %s "$picture")" -lt 150000 ] && [ "$(head -c 4 "$picture" | tail -c 3)" = PNG ]
	ok "$name is a small picture"
done

# One head for all: what wrote it and when it began. Times are start_ns with duration_s, or a moment's time_ns.
for schema in "$srcdir"/docs/schema/*.json; do
	case $schema in */finding.json) continue ;; esac
	jq -r --arg name "${schema##*/}" '
		(if (.required | .[:3]) == ["version", "program", "start_ns"] then empty else "\($name): \(.required | .[:3] | join(" "))" end),
		(paths | select(.[-2] == "properties" and (.[-1] | IN("created", "seconds", "start", "end"))) | "\($name): \(join("."))")' "$schema"
done >"$tmp/log" 2>&1
empty "JSON documents have one head and one set of keys for times" "$tmp/log"

# report NAME [MODEL-ARGUMENT...] -- ARGUMENT...: what capture --json prints fits its schema
report() {
	local name=$1
	apart "${@:2}"
	if [ ${#ahead[@]} = 0 ]; then
		"$RDMADUMP" -q --json "${rest[@]}" >"$tmp/report.json" 2>"$tmp/log"
	else
		model "${ahead[@]}" --at-end sigint -- "$RDMADUMP" -q --json "${rest[@]}" >"$tmp/report.json" 2>"$tmp/log"
	fi
	fits "capture --json fits its schema: $name" capture "$tmp/report.json"
	is "$name: each delivered frame has one place" "$(json "$tmp/report.json" '.frames | .delivered - .written - .filtered - .dropped.buffer_full - .dropped.output - .left_out')" 0
}
if has_tool jq "capture --json fits its schema"; then
	generate=count=500,size=60-1500
	report "a file" -- -r "$TEST_DATA/roce/10_rc_write_loss/a.pcap.zst" --qp 0x18 -w "$tmp/out.pcapng"
	report "a device" --gen $generate -- -d mlx5_0 -w "$tmp/out.pcapng"
	report "several queues" --gen $generate -- -d mlx5_0 --queues 2 -w "$tmp/out.pcapng"
	report "a limit" --gen $generate -- -d mlx5_0 -c 70 -w "$tmp/out.pcap"
	report "analysis" --gen $generate -- -d mlx5_0 --analyze -w "$tmp/out.pcapng"
	report "a full disk" --gen $generate -- -d mlx5_0 -w /dev/full
	is "a full disk: the report says why" "$(json "$tmp/report.json" '[.exit_status, .error != null] | join(" ")')" "3 true"
fi

tap_done
