#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The flight recorder: each trigger about packets fires on the packets that it names, and on no other.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
tool() { python3 "${srcdir:-.}/tests/e2e/record.py" "$@"; }
d=$tmp/d
tool wire "$tmp/in.pcap" >"$tmp/wanted"

# record OPTIONS...: until all frames are delivered; the report in $tmp/report
record() {
	rm -rf "$d" && mkdir "$d"
	model --clock realtime,truth="$tmp/truth" --pcap "$tmp/in.pcap" --rate 6000 --at-end sigint -- \
		"$RDMADUMP" record mlx5_0 -w "$d/r.pcapng" --memory 16Mi --json --no-analysis "$@" >"$tmp/report" 2>"$tmp/log"
}
# fired TRIGGER...: how often each one did
fired() {
	local t
	for t in "$@"; do
		jq -r --arg t "$t" '.of_triggers[] | select(.trigger == $t) | .fired' "$tmp/report"
	done | tr '\n' ' '
}

# The first of several triggers that a packet fires is in its comment: cnp>5/s is before cnp.
record --whole-frames --pre 8ms --post 4ms --trigger rnr --trigger qp-error --trigger cm-reject --trigger gave-up \
	--trigger 'cnp>5/s' --trigger cnp --trigger icrc-error
is "it ends as asked" "$?" 0
tool comments "$d"/r_*.pcapng | sed 's/ trigger / /' | sort -n >"$tmp/got"
is "the packets that each trigger names have its comment, and no other packet has one" "$(<"$tmp/got")" "$(<"$tmp/wanted")"
is "... of each trigger" "$(cut -d' ' -f2 "$tmp/got" | sort -u | tr '\n' ' ')" "cm-reject cnp cnp>5/s gave-up icrc-error qp-error rnr "
n=$(wc -l <"$tmp/wanted")
files=("$d"/r_*.pcapng)
said=$(tool check 0.008 0.004 "$tmp/truth" "${files[@]}")
is "each frame around them is in one file once, in order, and no other is" "${said#* }" \
	"${#files[@]} $n $(cut -d' ' -f1 "$tmp/wanted" | tr '\n' ' ' | sed 's/ $//')"
is "the report counts them" "$(jq -r '"\(.frames.written) \(.dumps) \(.triggers.began + .triggers.extended)"' "$tmp/report")" \
	"${said%% *} ${#files[@]} $n"
is "... by trigger: the rate fires once" "$(fired rnr qp-error cm-reject gave-up 'cnp>5/s' cnp icrc-error)" "2 2 1 1 1 8 1 "
is "all frames are accounted for" "$(jq '.frames | .delivered - .written - .expired - .buffer_full - .output - .filtered' "$tmp/report")" 0
has "a message describes the packet" "$tmp/log" 'trigger cm-reject: .*10\.0\.0\.2 .*ConnectReject'

# Of the same packets, some
record --pre 1h --post 1h --trigger rnr,qp=7,host=10.0.0.1 --trigger rnr,qp=8 --trigger rnr,host=10.0.0.3 --trigger nak=sequence \
	--trigger nak=invalid,qp=7 --trigger nak=access --trigger 'cnp>8/s' --trigger cnp,host=10.0.0.2 --trigger gave-up,qp=9
is "a QP, a host, a code and a rate are conditions" \
	"$(fired rnr,qp=7,host=10.0.0.1 rnr,qp=8 rnr,host=10.0.0.3 nak=sequence nak=invalid,qp=7 nak=access 'cnp>8/s' cnp,host=10.0.0.2 gave-up,qp=9)" \
	"2 0 0 1 2 0 0 8 0 "
tap_done
