#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bundle: what is in it and only that, reading it back, tools that misbehave, ends of every kind.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tar zstd capinfos python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
here=$(cd "${srcdir:-.}/tests/e2e" && pwd)
chmod 755 "$tmp"
mkdir "$tmp/work" "$tmp/bin" && cd "$tmp/work" || exit 1
gen="count=100000000,size=60-1400"

# names: what is in the working directory
names() { find . -mindepth 1 -maxdepth 1 -printf '%P\n' | LC_ALL=C sort | tr '\n' ' '; }

# tool NAME SCRIPT: a tool of the bundle's table that does something else
tool() { printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1" && chmod 755 "$tmp/bin/$1"; }
export PATH=$tmp/bin:$PATH
tool ofed_info 'echo "<script>alert(1)</script>" >&2; echo partly; exit 7'
# shellcheck disable=SC2016 # the tool's own variables
tool nvidia-smi 'echo "arguments: $*"; echo "locale: $LC_ALL"; read -r line; echo "input: $line"'
tool numactl 'while :; do echo "node 0 0123456789012345678901234567890123456789012345678901234567890123456789"; done'
tool ibstat 'printf "up \033[31mred\n"'

# unpacked FILE: into $b
unpacked() {
	rm -rf "$tmp/un" && mkdir "$tmp/un" && tar -xf "$1" -C "$tmp/un" 2>"$tmp/log" &&
		b=$(echo "$tmp/un"/*) && manifest=$b/manifest.json
}
why() { jq -r --arg n "$1" '.not_taken[] | select(.name == $n) | .why' "$manifest"; }

# --- a device with traffic -------------------------------------------------------------------

mkdir other && "$SOFTHCA_FRAMES" --write given.pcap count=100,size=200 >/dev/null
python3 "$here/hosts.py" lossy hosts=2 lossy=1-2 && mv lossy/host1.pcapng other/given.pcap && rm -r lossy
cat >"$tmp/run" <<'END'
"$RDMADUMP" bundle --dry-run --json --capture 1 --file given.pcap --file other/given.pcap mlx5_0 >"$tmp/plan" || exit 9
"$RDMADUMP" bundle --dry-run --capture 1 --file given.pcap --file other/given.pcap mlx5_0 >"$tmp/plan.txt" || exit 9
ulimit -n 64 # a pipe that stays open after its command is one too many
"$RDMADUMP" bundle -w b.tar.zst --json --timeout 600 --capture 1 --file given.pcap --file other/given.pcap mlx5_0
END
export RDMADUMP tmp
NCCL_DEBUG=INFO UCX_TLS=rc SECRET_TOKEN=hidden7 model --gen $gen --rate 5000 --keep "$tmp/tree" --ethtool rx_out_of_buffer=3 \
	--counter local_ack_timeout_err=4 -- bash "$tmp/run" >"$tmp/json" 2>"$tmp/err"
exits "a device" 0 "$tmp/err" \
	"^rdmadump: b\.tar\.zst is complete: [1-9][0-9]* (problem|warning)"
is "nothing is left beside it" "$(names)" "b.tar.zst given.pcap other "
is "it is private" "$(stat -c %a b.tar.zst)" 600
unpacked b.tar.zst
ok "tar reads it" "$tmp/log"
is "page and manifest come first" "$(tar -tf b.tar.zst | head -2 | sed 's|.*/||' | tr '\n' ' ')" "manifest.json index.html "
is "the log has the verdicts, as analyze words them" "$(sed -n 's/^rdmadump: \(analysis[^:]*\)\.html: /\1 /p' "$tmp/err" | sort)" \
	"$(for name in files mlx5_0_1; do echo "analysis/$name $(jq -r .verdict.what "$b/analysis/$name.json")"; done)"
has "... how to read it" "$tmp/err" "^rdmadump: to read it: tar -xf b\.tar\.zst, then open ${b##*/}/index\.html"
has "... and counts what failed" "$tmp/err" "^rdmadump: $(jq '[.not_taken[] | select(.failed)] | length' "$manifest") members failed or incomplete: index.html"
is "... not what this machine cannot have" "$(jq -r '.not_taken[] | select(.failed != (.why | test("not installed|prints the same|no result|not supported") | not)).name' "$manifest")" ""
holds "--json prints the manifest" diff <(jq -S . "$tmp/json") <(jq -S . "$manifest")
fits "schema of the manifest and of the plan" bundle "$manifest" "$tmp/plan"
is "no command took longer than the bundle" "$(jq --argjson now "$(date +%s%N)" '.start_ns as $start | [.members[].duration_s | numbers | . > ($now - $start) / 1e9] | [length > 5, any]' -c "$manifest")" '[true,false]'
(cd "$b" && find . ! -type d ! -name manifest.json -printf '%P\n') | sort >"$tmp/have"
jq -r '.members[] | select(.size != null or .link != null) | .name' "$manifest" | sort | diff - "$tmp/have" >"$tmp/log"
ok "the manifest lists every member" "$tmp/log"
jq -r '.members[] | select(.size > 0) | .size' "$manifest" | awk '{n += $1} END {print n}' >"$tmp/size"
is "sizes" "$(<"$tmp/size")" "$(cd "$b" && find . -type f ! -name manifest.json -printf '%s\n' | awk '{n += $1} END {print n}')"
jq -r '.members[].name' "$tmp/plan" | sort >"$tmp/planned"
grep -v '^sysroot/\|^index.html$' "$tmp/have" | comm -23 - "$tmp/planned" >"$tmp/log"
empty "nothing but what --dry-run lists" "$tmp/log"
holds "it lists everything" [ "$(wc -l <"$tmp/planned")" -gt 50 ]
holds "as text: where each member comes from" diff <(jq -r '.members[].command' "$tmp/plan") <(sed -n 's/^    //p' "$tmp/plan.txt")
for name in list.txt list.json info-mlx5_0.txt info-mlx5_0.json counters.txt counters.json counters-growth.txt counters-growth.json; do
	[ -s "$b/rdmadump/$name" ] && [ -z "$(why "rdmadump/$name")" ]
	ok "rdmadump/$name"
done
one_run() { jq -r --arg name "$1" '[.members[] | select(.name | startswith($name)) | [.command, .duration_s]] | unique | length' "$manifest"; }
is "text and JSON of the growth of counters are from the same two readings" "$(one_run rdmadump/counters-growth.)" 1
is "text, JSON and page of a capture are from one run" "$(one_run analysis/mlx5_0_1.)" 1
is "... JSON has every counter, text those that grew" "$(jq '.ports[0].counters | length' "$b/rdmadump/counters-growth.json")" "$(jq '.ports[0].counters | length' "$b/rdmadump/counters.json")"
is "variables that change verbs, and no others" "$(jq -c .own "$b/host/environment.json")" '{"NCCL_DEBUG":"INFO","UCX_TLS":"rc"}'
grep -rq hidden7 "$b"
is "no other variable" $? 1
is "its documents begin as all do" "$(jq -c 'keys_unsorted[:3]' "$b"/host/*.json "$b"/rdmadump/*.json "$b"/analysis/*.json "$manifest" | sort -u)" '["version","program","start_ns"]'
is "modules: what uses the core, and others that matter" "$(jq -c '[.modules[].name] | sort' "$b/host/modules.json")" '["ib_core","ib_uverbs","mlx5_core","mlx5_ib","mlxfw"]'
is "machine" "$(jq -r '"\(.host) \(.limits.nofile)"' "$b/host/host.json")" "$(uname -n) 64"
cmp -s given.pcap "$b/captures/1-given.pcap" && cmp -s other/given.pcap "$b/captures/2-given.pcap"
ok "given captures"
frames=$(capinfos -rcMT "$b/captures/mlx5_0_1.pcapng" | cut -f2)
holds "the capture has frames" [ "$frames" -gt 0 ]
is "its analysis" "$(jq .totals.frames "$b/analysis/mlx5_0_1.json")" "$frames"
is "the analysis of given captures" "$(jq .totals.frames "$b/analysis/files.json")" 272
has "its page" "$b/analysis/mlx5_0_1.html" '<html'

# --- the page --------------------------------------------------------------------------------

grep -Eo '(href|src)="?[^">]*' "$b/index.html" | sed 's/^[a-z]*="*//; /^#/d' | sort -u >"$tmp/links"
holds "the page has links" [ "$(wc -l <"$tmp/links")" -gt 30 ]
(cd "$b" && while read -r link; do [ -e "$link" ] || echo "$link"; done) <"$tmp/links" >"$tmp/log"
empty "they lead to members only" "$tmp/log"
# verdicts PAGE: the text of the verdicts above all else but the counts of findings
verdicts() { sed -n '/<h1>/,/<nav>/p' "$1" | sed -n 's/^<section class=verdict.*<dl class=facts>//p' | sed 's|</dt><dd>|: |g; s|</dd>|\n|g; s/<[^>]*>//g; s/&gt;/>/g' | sed '/^$/d'; }
is "the verdicts on the traffic are on top" "$(verdicts "$b/index.html" | sort)" \
	"$(jq -r .verdict.text "$b/analysis/mlx5_0_1.json" "$b/analysis/files.json" | sort)"
has "... with the names of given files" "$b/index.html" '>Traffic in given\.pcap, given\.pcap: <a href="analysis/files\.html">'
has "... and of the capture" "$b/index.html" '>Traffic in mlx5_0_1\.pcapng: <a href="analysis/mlx5_0_1\.html">'
has "the page has findings of counters" "$b/index.html" 'local_ack_timeout_err is 4'
has "it says that they may be old" "$b/index.html" 'they show [1-9][0-9]* more'
has "whose machine it is" "$b/index.html" ">Support bundle of $(uname -n), collected $(date -u +%Y)-.* UTC by rdmadump [0-9]"
is "its system" "$(sed -n 's/^<dt>System<dd>//p' "$b/index.html")" "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
has "its kernel" "$b/index.html" "^<dt>Kernel<dd>$(uname -r)\$"
has "for how long it is up" "$b/index.html" '^<dt>Up<dd>[0-9]+ days?, [0-9:]+ h$'
has "its driver" "$b/index.html" '^<dt>Driver<dd>mlx5_core'
is "not what a failed ofed_info says" "$(grep -c '^<dt>OFED' "$b/index.html")" 0
if has_tool dpkg-query "the version of rdma-core"; then
	has "the version of rdma-core" "$b/index.html" "^<dt>rdma-core<dd>$(dpkg-query -W -f='${Version}' libibverbs1)\$"
fi
has "the device" "$b/index.html" '<tr><td>mlx5_0<td class=number>1<td>enp1s0f0np0'
has "text of tools is escaped" "$b/index.html" 'exit status 7: &lt;script&gt;alert'
grep -q '<script' "$b/index.html"
is "no scripts" $? 1
sed -n '/<h2 id=missing>/,/<\/table>/s/^<tr><td>\([^<]*\)<td>.*/\1/p' "$b/index.html" >"$tmp/rows"
is "the page lists what is missing" "$(sort "$tmp/rows")" "$(jq -r '.not_taken[].name' "$manifest" | sort)"
is "... first what failed" "$(grep -xm1 -e tools/ofed_info.txt -e "$(jq -r 'first(.not_taken[] | select(.why | endswith("not installed"))).name' "$manifest")" "$tmp/rows")" \
	tools/ofed_info.txt
is "... and no more findings than there are" "$(grep -c 'more: see the members below' "$b/index.html")" 0
is "elements of the page are closed in order" "$(python3 "$here/nested.py" "$b/index.html")" "[]"

# --- tools that misbehave ----------------------------------------------------------------------

is "a tool that fails" "$(why tools/ofed_info.txt)" "exit status 7: <script>alert(1)</script>"
is "... its output is kept" "$(sort "$b/tools/ofed_info.txt" | tr '\n' ' ')" "<script>alert(1)</script> partly "
is "a tool gets its arguments, no input, and writes English" "$(tr '\n' ' ' <"$b/tools/nvidia-smi-topo.txt")" \
	"arguments: topo -m locale: C input:  "
is "a tool without end" "$(why tools/numactl.txt)" "cut after 4194304 bytes"
is "... its output" "$(stat -c %s "$b/tools/numactl.txt")" 4194304
has "a tool that is absent, or would leave a database in the home directory" <(why host/packages-rpm.txt) '^(rpm is not|dpkg-query is) installed'
is "no shell: a tool's output is as it is" "$(<"$b/tools/ibstat.txt")" "$(printf 'up \033[31mred')"

# --- reading it back ---------------------------------------------------------------------------

"$RDMADUMP" list -v --sysroot "$tmp/tree" | diff - <("$RDMADUMP" list -v --sysroot "$b/sysroot") >"$tmp/log"
ok "the copy says what the device says" "$tmp/log"
"$RDMADUMP" analyze b.tar.zst >"$tmp/out" 2>"$tmp/log"
exits "a bundle that is not unpacked" 2 "$tmp/log" "is an archive; unpack it .tar -xf.: a bundle has its captures in captures/"

# --- without a device ----------------------------------------------------------------------------

tool ibstat "trap '' TERM; echo \$\$ >$tmp/pid; echo begun; while :; do cat <>$tmp/never; done"
tool numactl 'echo numactl'
# bare ARGUMENTS...: few commands, so that all begin within the limit
bare() { model --no-devices -- "$RDMADUMP" bundle "$@"; }
bare -w none.tar.zst --timeout 5 >"$tmp/log" 2>&1
is "no device: exit status" $? 0
unpacked none.tar.zst
has "the page says so" "$b/index.html" '<h1>No RDMA device was read</h1>'
is "why there is no info" "$(why rdmadump/info-@device.txt)" "no RDMA device"
has "what list says" "$b/rdmadump/list.txt" 'no RDMA devices in /sys/class/infiniband'
is "a tool that hangs and ignores SIGTERM" "$(why tools/ibstat.txt)" "it took longer than its limit and was killed"
is "... what it had written" "$(<"$b/tools/ibstat.txt")" begun
kill -0 "$(<"$tmp/pid")" 2>/dev/null
is "... it is gone" $? 1

tool ibstat 'echo ibstat'
tool ofed_info 'echo MLNX_OFED_LINUX-24.10-1.1.4.0:'
model --fault verb=create_flow,errno=EPERM -- "$RDMADUMP" bundle -w none.tar.zst --timeout 600 --capture 1 mlx5_0 >"$tmp/log" 2>&1
exits "a capture that fails" 0 "$tmp/log" 'warning: missing or incomplete: captures/mlx5_0_1.pcapng: exit status [1-9]'
is "... once, not also its analysis" "$(grep -c 'warning: missing' "$tmp/log")" 1
is "... and what was not requested is not" "$(grep -c 'not requested' "$tmp/log")" 0
ends=$TEST_DATA/roce/10_rc_write_loss
bare -w none.tar.zst --timeout 600 --file "$ends/a.pcap.zst" --file "$ends/b.pcap.zst" >"$tmp/log" 2>&1
unpacked none.tar.zst
has "the page has the version of OFED" "$b/index.html" '^<dt>OFED<dd>MLNX_OFED_LINUX-24\.10-1\.1\.4\.0$'
has "two ends: the page has what was found between them" "$b/index.html" '<h3>Packets are lost inside the sender</h3>'
has "... and counts it" "$b/index.html" '<h1>[1-9][0-9]* problem'
is "... the verdict on both ends is on top" "$(verdicts "$b/index.html")" "$(jq -r .ends.verdict.text "$b/analysis/files.json")"
has "... with the names of the files, and a link to the report" "$b/index.html" \
	'>Traffic in a\.pcap\.zst, b\.pcap\.zst: <a href="analysis/files\.html">the whole report</a>'
"$RDMADUMP" analyze --json "$b/captures" 2>/dev/null | jq -S .ends >"$tmp/ends"
jq -S .ends "$b/analysis/files.json" | diff - "$tmp/ends" >"$tmp/log"
ok "the captures of two ends, unpacked" "$tmp/log"
zstd -dcq "$ends/b.pcap.zst" >"$tmp/third.pcap"
bare -w none.tar.zst --timeout 600 --file "$ends/a.pcap.zst" --file "$ends/b.pcap.zst" --file "$tmp/third.pcap" >"$tmp/log" 2>&1
unpacked none.tar.zst
is "three points: the worst verdict is on top" "$(verdicts "$b/index.html")" "$(jq -r .verdict.text "$b/analysis/files.json")"
has "... what was found between them" "$b/index.html" '<h3>Packets are lost inside the sender</h3>'
# cards: the titles below "Traffic", in their order
cards() { sed -n '/^<h2 id=traffic>/,/^<h2 id=missing>/p' "$b/index.html" | sed -n 's/^.*<h3>\([^<]*\)<.*/\1/p'; }
bare -w none.tar.zst --timeout 600 --file "$TEST_DATA/roce/53_atomic_loss/a.pcap.zst" >"$tmp/log" 2>&1
unpacked none.tar.zst
is "one capture: what the verdict rests on is the first card" "$(cards | head -n 1)" \
	"$(jq -r '.findings[.groups[0].findings[0]].title | .[:1] as $first | ($first | ascii_upcase) + .[1:]' "$b/analysis/files.json")"
python3 "$here/../world/verdicts" --seed 90 --count 1 --keep "$tmp/incast" >"$tmp/log" 2>&1
bare -w none.tar.zst --timeout 600 --file "$tmp/incast/90.pcapng" >"$tmp/log" 2>&1
unpacked none.tar.zst
is "a cause at several QPs is one card" "$(cards | sort | uniq -d)" ""
has "... which counts the others" "$b/index.html" '<p class=soft>The same in [1-9][0-9]* more findings of the report\.</p>'
tool ibstat "trap '' TERM; echo \$\$ >$tmp/pid; echo begun; while :; do cat <>$tmp/never; done"

# --- ends ----------------------------------------------------------------------------------------

rm -f "$tmp/pid" none.tar.zst b.tar.zst
signals="INT TERM"
[ -n "${TEST_FULL-}" ] || signals=INT
for signal in $signals; do
	model --no-devices --pidfile "$tmp/bundle.pid" -- "$RDMADUMP" bundle -w b.tar.zst --timeout 500 >"$tmp/log" 2>&1 &
	wait_for test -s "$tmp/pid"
	kill -s "$signal" "$(<"$tmp/bundle.pid")"
	wait $!
	exits "SIG$signal" 4 "$tmp/log" 'interrupted: no bundle was written'
	is "SIG$signal: nothing is left" "$(names)" "given.pcap other "
	kill -0 "$(<"$tmp/pid")" 2>/dev/null
	is "SIG$signal: the tool is gone" $? 1
	rm -f "$tmp/pid" "$tmp/bundle.pid"
done
tool ibstat 'echo ibstat'

echo before >b.tar.zst
(ulimit -f 8; bare -w b.tar.zst --timeout 600) >"$tmp/log" 2>&1
is "a file that may not grow: exit status" $? 3
is "... nothing is left, and what was there stays" "$(names)$(<b.tar.zst)" "b.tar.zst given.pcap other before"
bare -w b.tar.zst --timeout 600 >"$tmp/log2" 2>&1 &
bare -w b.tar.zst --timeout 600 >"$tmp/log" 2>&1
first=$?
wait $!
is "two that write the same file: the other one" $? 0
is "an existing file is replaced" "$first $(tar -tf b.tar.zst | sed -n 's|.*/index|index|p') $(stat -c %a b.tar.zst)" "0 index.html 600"
is "... nothing else is left" "$(names)" "b.tar.zst given.pcap other "
bare -w /dev/full --timeout 600 >"$tmp/log" 2>&1
exits "a full device" 3 "$tmp/log" "cannot write to '/dev/full': No space left on device; free some space, or name another file"
holds "... which is still there" [ -c /dev/full ]
bare -w absent/b.tar.zst >"$tmp/log" 2>&1
exits "no directory" 3 "$tmp/log" 'the directory must exist'
[ -n "${TEST_FULL-}" ] || tap_done
for name in given.pcap other/../given.pcap; do
	bare -w "$name" --file given.pcap >"$tmp/log" 2>&1
	is "-w $name, which is read: refused" $? 1
done
bare -w given.pcap >"$tmp/log" 2>&1
is "over a capture: refused" $? 1
is "... which is unchanged" "$(capinfos -rcMT given.pcap | cut -f2)" 100
bare --file absent.pcap >"$tmp/log" 2>&1
is "--file absent: refused" $? 2
bare --capture 1 >"$tmp/log" 2>&1
is "--capture without a device: refused" $? 2
bare mlx5_0 >"$tmp/log" 2>&1
is "a device without --capture: refused" $? 1
bare -w - --timeout 600 2>"$tmp/log" | tar -t --zstd -f - >"$tmp/list" 2>>"$tmp/log"
is "-w -: exit status, and that of tar" "${PIPESTATUS[*]}" "0 0"
has "-w -: tar reads it" "$tmp/list" '/index.html$'
bare --timeout 600 >"$tmp/log" 2>&1
is "the default name" "$(names | sed "s/$(uname -n)-[0-9]\{8\}-[0-9]\{6\}/HOST-DATE/")" \
	"b.tar.zst given.pcap other rdmadump-bundle-HOST-DATE.tar.zst "
is "--dry-run makes nothing" "$(bare --dry-run -w dry.tar.zst >"$tmp/list"; ls dry* 2>/dev/null)" ""
has "... and prints commands" "$tmp/list" '^    lspci|^    ibstat$'

# --- without root ----------------------------------------------------------------------------------

user="setpriv --reuid 65534 --regid 65534 --clear-groups"
if [ "$(id -u)" = 0 ] && has_tool setpriv "without root"; then
	# shellcheck disable=SC2086
	if $user test -x "$RDMADUMP" 2>/dev/null; then
		mkdir "$tmp/theirs" && chown 65534 "$tmp/theirs"
		tool dmesg 'echo "dmesg: read kernel buffer failed: Operation not permitted" >&2; exit 1'
		# shellcheck disable=SC2086
		(cd "$tmp/theirs" && $user "$RDMADUMP" bundle -w b.tar.zst --timeout 600) >"$tmp/log" 2>&1
		exits "without root" 0 "$tmp/log" 'run it as root for what only root may read'
		unpacked "$tmp/theirs/b.tar.zst"
		is "without root: the manifest" "$(jq .root "$manifest")" false
		is "without root: what was not taken, and why" "$(why tools/dmesg.txt)" \
			"exit status 1: dmesg: read kernel buffer failed: Operation not permitted; it needs root"
		is "without root: the file" "$(stat -c '%a %u' "$tmp/theirs/b.tar.zst")" "600 65534"
		is "without root: what is readable" "$(jq .user "$b/host/host.json")" 65534
	else
		skip "without root" "the build directory is not readable for others"
	fi
fi

tap_done
