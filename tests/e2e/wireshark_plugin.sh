#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The Wireshark plugin: marks as `analyze --marks`, frame by frame, for the captures of tests/data; RoCE by its
# destination port; names that Wireshark lacks; the profile.
. "${srcdir:-.}/tests/tap.sh"
need_tool tshark mergecap zstd jq python3
tshark --version 2>/dev/null | grep -q 'with Lua' || skip_all "tshark is built without Lua"
roce=$TEST_DATA/roce
plugin=$srcdir/wireshark/rdmadump.lua
export HOME=$tmp/home XDG_CONFIG_HOME=$tmp/home/.config
mkdir -p "$HOME/.local/lib/wireshark/plugins" "$XDG_CONFIG_HOME/wireshark/profiles"
cp "$plugin" "$HOME/.local/lib/wireshark/plugins/"
cp -r "$srcdir/wireshark/RDMA" "$XDG_CONFIG_HOME/wireshark/profiles/"
fields() { tshark -n -r "$1" --disable-protocol rpcordma -T fields -E separator='|' "${@:2}" 2>"$tmp/err"; }

# Names of the report's sums, by the fields of the plugin
names='{"gaps": "lost", "response_gaps": "lost", "retransmitted": "again", "responses_repeated": "again", "duplicated": "twice",
	"responses_duplicated": "twice", "reordered": "late", "responses_reordered": "late"}'

# same_marks NAME FILE OPTION...: no frame differs; the number of marks is in $marked
same_marks() {
	"$RDMADUMP" analyze --json="$tmp/report.json" --marks "$tmp/marks" "$2" >"$tmp/log" 2>&1
	jq -r --argjson name "$names" '"\(.frame) \($name[.incident] // "nak")"' "$tmp/marks" | sort -u >"$tmp/wanted"
	fields "$2" -2 -Y rdma.analysis -e frame.number -e rdma.analysis.retransmission -e rdma.analysis.lost_segment \
		-e rdma.analysis.duplicate -e rdma.analysis.out_of_order -e rdma.analysis.nak_reason "${@:3}" |
		awk -F '|' 'BEGIN {split("again lost twice late nak", name, " ")} {for (i = 1; i <= 5; i++) if ($(i + 1) != "") print $1, name[i]}' |
		sort -u >"$tmp/got"
	holds "$1: the same marks" diff "$tmp/wanted" "$tmp/got"
	marked=$(wc -l <"$tmp/wanted")
}

# One after the other in one file, since tshark takes long to start: each QP number is used by many connections.
mkdir "$tmp/captures"
for f in "$roce"/*_*/a.pcap.zst; do zstd -dqc "$f" >"$tmp/captures/$(basename "$(dirname "$f")").pcap"; done
mergecap -a -F nsecpcap -w "$tmp/all.pcap" "$tmp"/captures/*.pcap
echo 'print("it runs")' >"$tmp/try.lua"
tshark -X lua_script:"$tmp/try.lua" -r "$tmp/all.pcap" -c 1 2>/dev/null | grep -q '^it runs' || skip_all "tshark runs no Lua as this user: 4.4 as root"
same_marks "all captures of real traffic" "$tmp/all.pcap" -o rdma.icrc:TRUE
holds "... which are many" [ "$marked" -gt 5000 ]
fields "$tmp/captures/17_rnr_nak.pcap" -Y rdma.analysis.nak_reason -e rdma.analysis.nak_reason | sort | uniq -c >"$tmp/naks"
has "the reasons of NAKs" "$tmp/naks" '^ *39 RNR: receiver not ready$'
has "... of the other ones" "$tmp/naks" '^ *36 PSN sequence error$'
for link in ethernet infiniband; do
	python3 "$srcdir/tests/e2e/made.py" $link "$tmp/made.$link"
	same_marks "every opcode, $link" "$tmp/made.$link" -o rdma.icrc:TRUE
done
if [ -n "${TEST_FULL-}" ]; then
	tar -C "$tmp" --zstd -xf "$TEST_DATA/explain/stories.tar.zst"
	for f in "$roce"/*_*/?.pcap.zst "$tmp"/*_*/?.pcapng; do
		zstd -dqfc "$f" >"$tmp/one" 2>/dev/null || cp "$f" "$tmp/one"
		same_marks "${f#"$TEST_DATA/"}" "$tmp/one" -o rdma.icrc:TRUE
	done
fi

# --- what Wireshark takes for something else, or does not name --------------------------------

python3 "$srcdir/tests/e2e/made.py" ports "$tmp/ports.pcap"
is "RoCE from the ports of other protocols" "$(fields "$tmp/ports.pcap" -Y 'infiniband.bth.opcode == 4' -e frame.number | wc -l)" 6
is "... which Wireshark alone takes for these" \
	"$(HOME=$tmp XDG_CONFIG_HOME=$tmp fields "$tmp/ports.pcap" -Y 'infiniband.bth.opcode == 4' -e frame.number | wc -l)" 3
is "a CNP, and that it reports congestion" "$(fields "$tmp/ports.pcap" -Y rdma.becn -e rdma.opcode)" "CNP (congestion notification)"
fields "$tmp/made.ethernet" -Y 'infiniband.bth.opcode >= 0xa0' -e rdma.opcode | sort -u >"$tmp/xrc"
has "opcodes of XRC" "$tmp/xrc" '^XRC RDMA READ response First$'
tshark -n -r "$tmp/captures/10_rc_write_loss.pcap" -C RDMA 2>"$tmp/err" >"$tmp/profile"
has "the profile RDMA has columns of the analysis" "$tmp/profile" ' retransmitted$'
is "... and nothing in it is refused" "$(grep -vc 'Running as user' "$tmp/err")" 0
tap_done
