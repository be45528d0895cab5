#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The HTML report in a browser: shown without an error, nothing wider than the window, nothing from
# the capture interpreted as markup, no network request.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
: "${FRAMES_TOOL:?path of frames_tool}"
need_tool jq zstd python3

page=$tmp/page.html

zstd -q -d -f -o "$tmp/loss.pcap" "$TEST_DATA/roce/10_rc_write_loss/b.pcap.zst"
"$RDMADUMP" analyze --html "$page" "$tmp/loss.pcap" >"$tmp/text" 2>"$tmp/log"
is "analyze --html" "$? $(grep -c '^<!DOCTYPE html>' "$page")" "0 1"
[ -s "$tmp/text" ]
ok "... and the text beside it"
"$RDMADUMP" analyze --html - "$tmp/loss.pcap" 2>>"$tmp/log" | cmp - "$page"
ok "--html - is the same page" "$tmp/log"
"$RDMADUMP" analyze --json "$tmp/loss.pcap" 2>>"$tmp/log" | jq -S . >"$tmp/want.json"
report_of() { sed -n 's,^<script type="application/json" id="report">\(.*\)</script>$,\1,p' "$1"; }
report_of "$page" | jq -S 'del(.conversations[].sides[].psn_plot)' >"$tmp/got.json"
cmp "$tmp/want.json" "$tmp/got.json"
ok "it holds what --json prints"

# PSN plots against the numbers of the same requester, for losses, RNR NAKs, READs, restarts.
for name in 01_rc_send 03_rc_read 10_rc_write_loss 11_rc_read_loss 17_rnr_nak 53_atomic_loss 54_duplicate; do
	for end in a b; do
		zstd -q -d -f -o "$tmp/plot.pcap" "$TEST_DATA/roce/$name/$end.pcap.zst"
		"$RDMADUMP" analyze --html - "$tmp/plot.pcap" 2>>"$tmp/log" >"$tmp/plot.html"
		report_of "$tmp/plot.html" | jq -c '.conversations[].sides[] | select(.psn_plot) | {s: ., p: .psn_plot, e: .events}' >"$tmp/plots"
		# shellcheck disable=SC2016 # jq
		jq -c 'def times(k): [.e[k].count // 0] | add;
			select((.p.naks_in_all != ([.e | to_entries[] | select(.key | test("^(nak_sequence|nak_invalid|nak_remote|nak_other|rnr$)")) | .value.count] | add // 0))
				or ((.p.retransmitted | length > 0) != (times("retransmitted") > 0))
				or .p.psn != .s.psn_first or .p.late or .p.restarts != times("restarts")
				or (.p.restarts == 0 and ([.p.sent[], .p.retransmitted[] | .[2]] | max) != ((.s.psn_last - .s.psn_first + 16777216) % 16777216))
				or ([.p.sent[], .p.retransmitted[] | .[0]] | max) >= .p.steps
				or ([.p.sent[], .p.retransmitted[] | .[1] - .[2]] | max) > 0
				or (.p.acked | map(.[1]) | . != sort))
			| {psn_first: .s.psn_first, psn_last: .s.psn_last, events: (.e | keys), naks: .p.naks_in_all, restarts: .p.restarts}' "$tmp/plots" >"$tmp/wrong"
		[ -s "$tmp/plots" ] && [ ! -s "$tmp/wrong" ]
		ok "$name/$end: the PSN plots agree with the numbers" "$tmp/wrong"
	done
done
! grep -oE '(https?:)?//[a-z0-9.]+\.[a-z]+|@[A-Z]+@' "$page" | grep -vx 'http://www.w3.org' >"$tmp/links"
ok "it asks nothing of the network, and no mark is left" "$tmp/links"

cp "$tmp/loss.pcap" "$tmp/<b>&<script>alert(1)<"$'\xff'"script>.pcap"
"$RDMADUMP" analyze --html "$tmp/odd.html" "$tmp/<b>"*.pcap >/dev/null 2>"$tmp/log"
is "a name that looks like markup" "$?" 0
! grep -nE '<b>|<script>alert' "$tmp/odd.html" >"$tmp/found"
ok "... is text only" "$tmp/found"

"$RDMADUMP" analyze --html /dev/full "$tmp/loss.pcap" >/dev/null 2>"$tmp/log"
is "a page that cannot be written" "$? $(test -c /dev/full && echo kept)" "3 kept"
has "... and why" "$tmp/log" "^rdmadump: --html: cannot write '/dev/full': No space left on device; "
"$RDMADUMP" analyze --html "$tmp/no/page.html" "$tmp/loss.pcap" >/dev/null 2>"$tmp/log"
is "no folder for it" "$?" 3

browser=$(command -v chromium) || {
	skip "in a browser" "chromium is not installed"
	tap_done
}

# The page measures itself: every table and the page itself against the room they have.
# shellcheck disable=SC2016 # JavaScript
probe='<script>
document.querySelectorAll("td .open").forEach(b => b.click());
const wide = [document.documentElement, ...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth);
document.title = `wide ${wide.length} plots ${document.querySelectorAll(".plot svg").length} dark ${matchMedia("(prefers-color-scheme: dark)").matches}`;
</script></body>'

# look PAGE WIDTH [ARGUMENT...]: prints the title that the probe left; the console goes to $tmp/console
look() {
	local file=$1 width=$2
	python3 - "$file" "$tmp/probed.html" "$probe" <<'PY'
import sys
text = open(sys.argv[1], encoding="utf-8").read()
open(sys.argv[2], "w", encoding="utf-8").write(text.replace("</body>", sys.argv[3]))
PY
	timeout -k 5 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$tmp/profile" --window-size="$width,1200" --enable-logging=stderr "${@:3}" \
		--dump-dom "file://$tmp/probed.html" 2>"$tmp/stderr" | sed -n 's,.*<title>\(wide [^<]*\)</title>.*,\1,p'
	grep CONSOLE "$tmp/stderr" >"$tmp/console"
}

for width in 1400 800; do
	for scheme in light dark; do
		arguments=()
		[ $scheme = light ] || arguments=(--blink-settings=preferredColorScheme=0)
		got=$(look "$page" $width "${arguments[@]}")
		is "$width wide, $scheme: nothing cut off" "$got" \
			"wide 0 plots 9 dark $([ $scheme = dark ] && echo true || echo false)"
		[ ! -s "$tmp/console" ]
		ok "... and no message on the console" "$tmp/console"
	done
done

# Native InfiniBand: management datagrams are RDMA frames like others, and counted once.
"$FRAMES_TOOL" subnet "$tmp/subnet.pcap"
"$RDMADUMP" analyze --html "$tmp/subnet.html" "$tmp/subnet.pcap" >/dev/null 2>"$tmp/log"
all=$probe
probe='<script>
document.title = "wide " + [...document.querySelectorAll(".tile")].map(t => t.textContent).join("|");
</script></body>'
is "InfiniBand: frames are counted once" "$(look "$tmp/subnet.html" 1400 | grep -oE 'Frames[0-9]+[|]RDMA frames[0-9]+[|][A-Za-z, ]+4')" \
	"Frames57|RDMA frames57|QP pairs, UD flows4"
probe=$all
got=$(look "$tmp/subnet.html" 800)
is "... and nothing is cut off" "${got%% plots*}" "wide 0"
[ ! -s "$tmp/console" ]
ok "... and no message on the console" "$tmp/console"

# Pauses in the one, marks and CNPs in the other.
for seed in 10005 10016; do
	RDMADUMP=$RDMADUMP python3 "$srcdir/tests/world/run" --seed $seed --keep "$tmp/world" >/dev/null 2>&1
	"$RDMADUMP" analyze --html "$tmp/congestion.html" "$tmp/world/$seed.a."* >/dev/null 2>"$tmp/log"
	for width in 1400 800; do
		got=$(look "$tmp/congestion.html" $width)
		is "congestion control ($seed), $width wide: nothing cut off" "${got%% plots*}" "wide 0"
		[ ! -s "$tmp/console" ]
		ok "... and no message on the console" "$tmp/console"
	done
done

tap_done
