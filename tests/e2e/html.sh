#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The HTML report in a browser: shown without an error, nothing wider than the window, nothing from
# the capture interpreted as markup, no network request.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq zstd python3

page=$tmp/page.html

zstd -q -d -f -o "$tmp/loss.pcap" "$TEST_DATA/roce/10_rc_write_loss/b.pcap.zst"
"$RDMADUMP" analyze --html "$page" "$tmp/loss.pcap" >"$tmp/text" 2>"$tmp/log"
is "analyze --html" "$? $(grep -c '^<!DOCTYPE html>' "$page")" "0 1"
holds "... and the text beside it" [ -s "$tmp/text" ]
"$RDMADUMP" analyze --html - "$tmp/loss.pcap" 2>>"$tmp/log" | cmp - "$page"
ok "--html - is the same page" "$tmp/log"
"$RDMADUMP" analyze --json "$tmp/loss.pcap" 2>>"$tmp/log" | jq -S . >"$tmp/want.json"
"$RDMADUMP" analyze --json="$tmp/beside.json" --html "$page.2" "$tmp/loss.pcap" 2>>"$tmp/log" | cmp - "$tmp/text" &&
	jq -S . "$tmp/beside.json" | cmp - "$tmp/want.json" && cmp "$page.2" "$page"
ok "--json=FILE and --html FILE: three outputs of one run, each as alone" "$tmp/log"
"$RDMADUMP" analyze --json=/dev/fd/3 "$tmp/loss.pcap" 3>&1 >/dev/null 2>>"$tmp/log" | jq -S . | cmp - "$tmp/want.json"
ok "... to a descriptor" "$tmp/log"
cp "$tmp/loss.pcap" "$tmp/same.pcap"
"$RDMADUMP" analyze --json="$tmp/same.pcap" "$tmp/same.pcap" >/dev/null 2>"$tmp/log"
is "... never over a capture" "$? $(cmp "$tmp/same.pcap" "$tmp/loss.pcap" && echo same)" "1 same"
report_of() { sed -n 's,^<script type="application/json" id="report">\(.*\)</script>$,\1,p' "$1"; }
report_of "$page" | jq -S 'del(.conversations[].sides[].psn_plot)' >"$tmp/got.json"
holds "it holds what --json prints" cmp "$tmp/want.json" "$tmp/got.json"

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
"$RDMADUMP" analyze --json --html - "$tmp/loss.pcap" >"$tmp/out" 2>"$tmp/log"
is "page and JSON on standard output" "$? $(wc -c <"$tmp/out")" "1 0"
has "... and why not" "$tmp/log" "^rdmadump: --json: the page goes to standard output, too; give the page a file name"
"$RDMADUMP" analyze --html "$tmp/no/page.html" "$tmp/loss.pcap" >/dev/null 2>"$tmp/log"
is "no folder for it" "$?" 3

browser=$(command -v chromium) || {
	skip "in a browser" "chromium is not installed"
	tap_done
}

# One browser shows all pages.
coproc BROWSER { exec python3 "$srcdir/tests/e2e/browser.py" "$browser" "$tmp/profile" 2>"$tmp/stderr"; }
# shellcheck disable=SC2153 # coproc sets it
requests=${BROWSER[1]} replies=${BROWSER[0]} browser_pid=$BROWSER_PID
# look PAGE WIDTHxHEIGHT light|dark|print|noscript [EXPRESSION]: what is wrong with it, or the value of that JavaScript
look() {
	local line
	printf '%s\t%s\t%s' "$2" "$3" "$1" >&"$requests"
	[ $# -lt 4 ] || printf '\t%s' "${4//[$'\n\t']/ }" >&"$requests"
	printf '\n' >&"$requests"
	while read -r -t 120 -u "$replies" line; do
		[ "$line" = end ] && return
		printf '%s\n' "$line"
	done
	echo "the browser does not respond"
	cat "$tmp/stderr"
}
# right NAME PAGE WIDTHxHEIGHT HOW: nothing is cut off, overlaps or is hard to read, and the console is empty
right() {
	look "$2" "$3" "$4" >"$tmp/faults"
	empty "$1, $3, $4: nothing cut off, nothing overlaps, no message on the console" "$tmp/faults"
}
opened='[...document.querySelectorAll("td .open")].forEach(b => b.click()) || '
# shellcheck disable=SC2016 # JavaScript
first='(() => {
	const inside = e => e && e.checkVisibility() && e.getBoundingClientRect().bottom <= innerHeight;
	return [inside(document.querySelector(".verdict")), [...document.querySelectorAll(".plot")].filter(inside).length,
		inside(document.querySelector(".finding h3"))].join(" ");
})()'

# The browser's checks can fail: one fault of each sort.
cat >"$tmp/faulty.html" <<'END'
<!DOCTYPE html><html><body style="margin:0;background:#fff"><p style="color:#999">pale</p><div style="width:3000px">wide</div>
<div class="scroll" style="width:200px;overflow:auto"><div style="width:900px">cut</div></div>
<div class="plot"><svg width="200" height="50"><text x="0" y="20">left</text><text x="5" y="20">right</text></svg></div>
<script>console.log("said"); nothing();</script></body></html>
END
look "$tmp/faulty.html" 1000x800 light >"$tmp/faults"
for fault in 'contrast, 2.8: pale' 'the page is 3000 wide' 'a table is cut off: cut' 'labels overlap: left, right' 'console: .*said' 'console: .*nothing is not defined'; do
	has "what is wrong is found: $fault" "$tmp/faults" "$fault"
done

for size in 1400x1000 800x1000; do
	for scheme in light dark; do
		right "loss" "$page" $size $scheme
	done
	is "... the first screen has the verdict, three plots, a finding" "$(look "$page" $size light "$first")" "true 3 true"
done
is "what the marks of the plots mean is said" "$(look "$page" 1400x1000 light '[...document.querySelectorAll("h2")].find(e => /^Over time/.test(e.textContent)).textContent')" "Over time ▼ a finding begins"
is "the axis of bars has its time" "$(look "$page" 1400x1000 light '[...document.querySelectorAll(".plot")].filter(p => /^(Retransmitted|NAKs)$/.test(p.querySelector("h3").textContent)).map(p => p.querySelector(".legend").textContent.replace(/[\u00a0\u202f]/g, " ")).join("; ")')" \
	"$(jq -r '(.series.width_ns / 1e6) as $w | "packets  per \($w * 10 | round / 10) ms; NAK and RNR NAK  per \($w * 10 | round / 10) ms"' "$tmp/want.json")"
is "the frames of a finding are those that the text names" \
	"$(look "$page" 1400x1000 light '[...document.querySelectorAll(".finding")].map(e => /[Ff]irst at frame \d+, last at frame \d+/.exec(e.textContent)[0].toLowerCase()).join("; ")')" \
	"$(grep -o 'first at frame [0-9]*, last at frame [0-9]*' "$tmp/text" | paste -sd'|' | sed 's/|/; /g')"
is "what the capture lost is said in the words of the text" "$(look "$page" 1400x1000 light 'document.querySelector("header p:nth-of-type(2)").textContent.toLowerCase()')" \
	"$(jq -r .capture.losses "$tmp/want.json")"
is "no line ends between QP and its number" "$(look "$page" 1400x1000 light 'String(/QP 0x/.test(document.querySelector(".verdict").textContent))')" false
is "dark is dark" "$(look "$page" 1400x1000 dark 'getComputedStyle(document.body).backgroundColor')" "rgb(25, 25, 24)"
right "loss" "$page" 400x800 light
right "loss" "$page" 718x1000 print
# shellcheck disable=SC2016 # JavaScript
is "printed: what can be opened is open, and closed again" "$(look "$page" 718x1000 print '(() => {
	const open = () => [...document.querySelectorAll("details")].filter(d => d.open).length, all = document.querySelectorAll("details").length;
	const numbers = [open()];
	for (const name of ["beforeprint", "afterprint"]) {
		dispatchEvent(new Event(name));
		numbers.push(open());
	}
	return numbers.join(" ") + " " + (all > 0 && numbers[1] === all);
})()')" "0 $(look "$page" 718x1000 print 'String(document.querySelectorAll("details").length)') 0 true"
is "... and what the plots are of is not hidden" "$(look "$page" 718x1000 print 'String([...document.querySelectorAll("select")].every(s => s.checkVisibility()))')" true
right "loss" "$page" 800x1000 noscript
is "... which has the report as text" "$(look "$page" 800x1000 noscript 'String(/lost upstream/.test(document.querySelector("pre").innerText))')" true
is "details of a pair can be opened" "$(look "$page" 1400x1000 light "${opened}document.querySelectorAll('tr.more .plot svg').length")" 5
is "... and are not cut off" "$(look "$page" 800x1000 light "${opened}[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).length")" 0
mkdir -p "$tmp/$(printf 'a_long_name_%.0s' {1..9})"
cp "$tmp/loss.pcap" "$tmp"/a_long_name_*/
"$RDMADUMP" analyze --ends always --html "$tmp/long.html" "$TEST_DATA/roce/10_rc_write_loss/a.pcap.zst" "$tmp"/a_long_name_*/loss.pcap >/dev/null 2>"$tmp/log"
right "a long name of a file" "$tmp/long.html" 400x800 light
is "... has rows of more than some letters" "$(look "$tmp/long.html" 400x800 light 'String(document.querySelector("td .name").offsetWidth > 90)')" true
right "a long name of a file" "$tmp/long.html" 800x800 light

# Two ends: the plots are of both.
zstd -q -d -f -o "$tmp/other.pcap" "$TEST_DATA/roce/10_rc_write_loss/a.pcap.zst"
"$RDMADUMP" analyze --ends always --html "$tmp/ends.html" "$tmp/other.pcap" "$tmp/loss.pcap" >/dev/null 2>"$tmp/log"
for size in 1400x1000 800x1000; do
	right "two ends" "$tmp/ends.html" $size light
	is "... the first screen has the verdict, three plots, a finding" "$(look "$tmp/ends.html" $size light "$first")" "true 3 true"
done
is "... of both captures" "$(look "$tmp/ends.html" 1400x1000 light "[...document.querySelectorAll('.plot h3')].slice(0, 3).map(e => e.textContent).join()")" \
	"Rate at A,Rate at B,Retransmitted at A"

is "... findings and notes are counted" "$(look "$tmp/ends.html" 1400x1000 light 'document.querySelector("h1").textContent.split(" between")[0]')" \
	"$("$RDMADUMP" analyze --json --ends always "$tmp/other.pcap" "$tmp/loss.pcap" 2>"$tmp/log" | jq -r '[.ends.findings[].severity] | "\(map(select(. != "note")) | length) finding, \(map(select(. == "note")) | length) notes"')"
is "... and what their marks mean is said" "$(look "$tmp/ends.html" 1400x1000 light 'document.querySelector("h2").textContent')" "Over time ▼ a finding begins"

# Two ends where only one capture shows the fault: its finding is the first card.
python3 "$srcdir/tests/world/verdicts" --ends --seed 4 --count 1 --keep "$tmp/shown" >/dev/null 2>&1
"$RDMADUMP" analyze --html "$tmp/shown.html" "$tmp/shown/4.a.pcapng" "$tmp/shown/4.b.pcapng" >/dev/null 2>"$tmp/log"
is "two ends: what the verdict rests on is the first finding, of one capture" \
	"$(look "$tmp/shown.html" 1400x1000 light '(c => c.querySelector("h3").textContent + ", " + c.querySelector(".mark").textContent)(document.querySelector(".finding"))')" \
	"READ responses are lost upstream of this capture point, problem, likely, in capture A"
is "... and no sentence says that there is none" \
	"$(look "$tmp/shown.html" 1400x1000 light 'String(/No (problem|finding)/.test(document.querySelector("main").textContent.split("Capture A alone")[0]))')" false
right "two ends, a finding of one" "$tmp/shown.html" 800x1000 light

# Two networks in VXLAN tunnels with the same addresses and QPs: everywhere, the network is named.
for end in a b; do
	zstd -q -d -f -o "$tmp/inner.pcap" "$TEST_DATA/roce/17_rnr_nak/$end.pcap.zst"
	python3 "$srcdir/tests/e2e/captures.py" networks "$tmp/inner.pcap" "$tmp/tunnels.$end.pcap"
done
"$RDMADUMP" analyze --json --html "$tmp/tunnels.html" "$tmp/tunnels.a.pcap" >"$tmp/tunnels.json" 2>"$tmp/log"
is "two networks: there are both" "$(jq -c '[.conversations[].network] | unique' "$tmp/tunnels.json")" '[10,20]'
names='(list => list.length + " " + new Set(list).size + " " + list.every(t => / .network [12]0./.test(t)))'
is "... each row of the table has its own name" "$(look "$tmp/tunnels.html" 1400x1000 light "$names([...document.querySelectorAll('td .open')].map(e => e.textContent))")" \
	"$(jq -r '[.conversations[].sides[] | select(.requests > 0)] | "\(length) \(length) true"' "$tmp/tunnels.json")"
is "... each choice for the plots, too" "$(look "$tmp/tunnels.html" 1400x1000 light "[...document.querySelectorAll('select')].map(s => $names([...s.options].slice(s.options[0].value ? 0 : 1).map(o => o.textContent)).replace(/^(\\d+) \\1 /, '')).join()")" "true,true"
right "two networks" "$tmp/tunnels.html" 800x1000 light
is "... another page names none" "$(look "$page" 1400x1000 light 'String(/network \d/.test(document.querySelector("main").textContent))')" false
"$RDMADUMP" analyze --json --html "$tmp/tunnels.html" "$tmp/tunnels."{a,b}.pcap >"$tmp/tunnels.json" 2>"$tmp/log"
is "... between two ends, too" \
	"$(look "$tmp/tunnels.html" 1400x1000 light "$names([...[...document.querySelectorAll('h2')].find(e => e.textContent === 'Between the ends').nextElementSibling.querySelectorAll('tbody tr')].map(e => e.cells[0].textContent))")" \
	"$(jq -r '[.ends.paths[].qps[]] | "\(length) \(length) true"' "$tmp/tunnels.json")"
right "two networks, two ends" "$tmp/tunnels.html" 800x1000 light
"$RDMADUMP" analyze "$tmp/tunnels.a.pcap" >"$tmp/tunnels.txt" 2>"$tmp/log"
is "... and in the text no line ends before its number" "$(grep -c 'network 20' "$tmp/tunnels.txt" | awk '{ print ($1 > 2) }') $(grep -c 'network$' "$tmp/tunnels.txt")" "1 0"

# Native InfiniBand: management datagrams are RDMA frames like others, and counted once.
python3 "$srcdir/tests/e2e/made.py" subnet "$tmp/subnet.pcap"
"$RDMADUMP" analyze --html "$tmp/subnet.html" "$tmp/subnet.pcap" >/dev/null 2>"$tmp/log"
is "InfiniBand: frames are counted once" \
	"$(look "$tmp/subnet.html" 1400x1000 light '[...document.querySelectorAll(".tile")].slice(0, 3).map(t => t.textContent).join("|")')" \
	"Frames57|RDMA frames57|QP pairs, UD flows4"
right "InfiniBand" "$tmp/subnet.html" 800x1000 light
# The text has one decimal, the page up to three digits.
look "$tmp/subnet.html" 1400x1000 light '[...document.querySelectorAll("td .open")].map(e => e.textContent.replace(/ . /, " -> ") + " " + e.closest("tr").cells[4].textContent.replace(/\u00a0.*/, "")).join("|")' >"$tmp/cells"
tr "|" "\n" <"$tmp/cells" | LC_ALL=C sort >"$tmp/rates"
"$RDMADUMP" analyze "$tmp/subnet.pcap" 2>>"$tmp/log" | sed -nE 's/^(LID .*[^ ]) +-> (LID [^ ]*) .* ([0-9.]+) kb.s .*/\1 -> \2 \3/p' | LC_ALL=C sort >"$tmp/want"
awk '{ for (k = 1; k < 6; k++) if ($k != $(k + 6)) print; if (NF != 12 || ($6 - $12) ^ 2 > 0.25) print }' < <(paste -d" " "$tmp/want" "$tmp/rates") >"$tmp/differ"
[ "$(wc -l <"$tmp/want")" = 5 ] && [ ! -s "$tmp/differ" ]
ok "... the goodput of each pair is that of the text" "$tmp/differ"

# Pauses in the one, marks and CNPs in the other.
for seed in 10005 10016; do
	RDMADUMP=$RDMADUMP python3 "$srcdir/tests/world/run" --seed $seed --keep "$tmp/world" >/dev/null 2>&1
	"$RDMADUMP" analyze --html "$tmp/congestion.html" "$tmp/world/$seed.a."* >/dev/null 2>"$tmp/log"
	for size in 1400x1000 800x1000; do
		right "congestion control ($seed)" "$tmp/congestion.html" $size dark
	done
done

is "CNPs are in front of the marks that are many more" "$(look "$tmp/congestion.html" 1400x1000 light \
	'(all => String(all.length > 9 && /three/.test(all[all.length - 1].getAttribute("fill")) && all.every(r => r.getAttribute("height") >= 2)))([...[...document.querySelectorAll(".plot")].find(p => /^Congestion/.test(p.textContent)).querySelectorAll("rect")])')" true

# Several hosts: who sent to whom, as --json has it.
python3 "$srcdir/tests/world/verdicts" --seed 90 --count 1 --keep "$tmp/incast" >/dev/null 2>&1
"$RDMADUMP" analyze --json --html "$tmp/hosts.html" "$tmp/incast/90.pcapng" >"$tmp/hosts.json" 2>"$tmp/log"
is "incast: the matrix of hosts has a cell for each pair" \
	"$(look "$tmp/hosts.html" 1400x1000 light '[...document.querySelectorAll("h3")].find(e => /^Bytes from host/.test(e.textContent)).nextElementSibling.querySelectorAll("td[style]").length')" \
	"$(jq '.hosts.pairs | length' "$tmp/hosts.json")"
for size in 1400x1000 800x1000; do
	for scheme in light dark; do
		right "incast" "$tmp/hosts.html" $size $scheme
	done
	is "... the first screen has the verdict, three plots, a finding" "$(look "$tmp/hosts.html" $size light "$first")" "true 3 true"
done
right "incast" "$tmp/hosts.html" 718x1000 print

# Captures at several points: what they show together, then the report of the worst pair, or of another one.
python3 "$srcdir/tests/e2e/hosts.py" "$tmp/points" hosts=14 messages=20 lossy=3-9,4-9,5-9 missing=2 facts=1 ranks=2
"$RDMADUMP" analyze --json --html "$tmp/points.html" "$tmp/points" >"$tmp/points.json" 2>"$tmp/log"
is "several points: what they show together" "$(look "$tmp/points.html" 1400x1000 light '[...document.querySelectorAll("header")][0].innerText.split("\n").filter(Boolean).map(t => t.replace(/: .*/, "").replace(/\u00a0/g, " ")).join("; ")')" \
	"Faults in 3 of 78 reports of several points; 3 of 3 faulty paths end at 10.0.0.9, 10 of the 179 others do; No capture was made at 10.0.0.2; The clocks of 13 captures are up to 780 s apart, known within 20 us"
cells='document.querySelectorAll("table")[2].querySelectorAll("td[style]")'
is "... the matrix has the lost packets" "$(look "$tmp/points.html" 1400x1000 light "[...$cells].map(e => e.textContent).join()")" \
	"$(jq -r '[.paths[] | select(.lost > 0).lost] | join(",")' "$tmp/points.json")"
choose='((s, n) => { s.value = n; s.dispatchEvent(new Event("change")); })(document.querySelector'
is "... or the packets of each path between twelve hosts" "$(look "$tmp/points.html" 1400x1000 light "$choose('select[aria-label^=From]'), 4); String($cells.length)")" 132
is "... programs and ranks" "$(look "$tmp/points.html" 1400x1000 light "[...document.querySelectorAll('h2')].find(e => e.textContent.startsWith('Programs')).nextElementSibling.querySelectorAll('tbody tr')[1].innerText.replace(/\\s+/g, ' ')")" "10.0.0.3 python3 2 4-5 77"
is "... each verdict is in one of two tables" "$(look "$tmp/points.html" 1400x1000 light \
	'[...document.querySelectorAll("details")][0].querySelector("summary").textContent.split(":")[0] + " " + [...document.querySelectorAll("table")].slice(0, 2).map(t => t.tBodies[0].rows.length).join()')" \
	"Other verdicts 3,75"
is "... a report that is chosen is shown" "$(look "$tmp/points.html" 1400x1000 light "$choose('select[aria-label^=Report]'), 2); document.querySelector('.verdict dd').textContent")" \
	"$(jq -r '.pairs[.verdicts[2].pair].ends.verdict.rows[0].text' "$tmp/points.json")"
for size in 400x800 800x1000 1400x1000; do right "several points" "$tmp/points.html" $size light; done
right "several points" "$tmp/points.html" 1400x1000 dark
right "several points" "$tmp/points.html" 718x1000 print

# Names of counters keep their small letters, other titles begin with a capital.
python3 "$srcdir/tests/world/verdicts" --seed 20 --count 1 --keep "$tmp/dies" >/dev/null 2>&1
"$RDMADUMP" analyze --html "$tmp/dies.html" "$tmp/dies/20.pcapng" >/dev/null 2>"$tmp/log"
is "titles are sentences, but for the names of counters" \
	"$(look "$tmp/dies.html" 800x1000 light '[...document.querySelectorAll(".finding h3")].map(e => getComputedStyle(e, "::first-letter").textTransform + " " + e.textContent.split(" ")[0]).sort().join()')" \
	"none Responses,none local_ack_timeout_err"

exec {requests}>&-
wait "$browser_pid"
tap_done
