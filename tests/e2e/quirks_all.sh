#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What devices and kernels do to a capture, alone and combined: files, timestamps and reports are right each time.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 capinfos tshark

export RDMAV_ALLOW_DISASSOC_DESTROY=1
chmod 755 "$tmp"
mkdir -m 777 "$tmp/d"
count=2500
gen=count=$count,size=60-1400,qps=8,seed=11
alone=100 combined=24
[ -n "${TEST_FULL-}" ] || alone=8 combined=8
own_uid=$(id -u)

# GROUP NAME WHERE OPTION: one option of a group is used at a time. WHERE: m the model's, d the device's, p the program's, c the clock's.
# x is the script's own, and + joins options.
options() {
	cat <<-'LIST'
		flow flowing m --flowing
		latency latency=3 m --latency 3
		latency slow-destroy m --latency 5,destroy_flow=60
		lifespan lifespan m --lifespan 150,20
		oversize lives d oversize=lives
		oversize kills d oversize=kills
		oversize halts d oversize=halts
		long long-frames p --max-frame 1024
		linger linger d linger_ms=20
		wqes wqes=1024 d wqes=1024
		wqes wqes=64 d wqes=64
		sniffers one-sniffer d sniffers=1
		moderation no-moderation d moderation=no
		moderation ignored-moderation d moderation=ignored
		plan no-rss d rss=no
		plan rss-sniffer d rss_sniffer=no
		caps caps=none d caps=none
		caps caps=rx d caps=shared_tir+sniffer_rx
		devx no-devx d devx=no
		devx refusing-firmware d fw_refuse=all
		comp compression d cqe_comp=asked
		clock cycles c cycles
		clock realtime c realtime
		clock wrong c cycles,wrong_every=100
		clock wrong-realtime c realtime,wrong_at=300,wrong_ms=-3600000
		clock zero c cycles,zero_every=40
		clock tx_lag c cycles,tx_lag_us=2000
		clock drift c realtime,drift=200
		clock steps c realtime,step_ms=-5000,step_after_ms=60
		clock unset c realtime,offset_ms=-5123456
		clock 63-bits c cycles,bits=63
		clock refused c realtime,refuse=yes
		burst burst m --burst 500,5000
		loss drops m --mode drop
		rx wqe p --rx-mode wqe
		rx verbs p --rx-mode verbs
		queues two-queues p --queues 2
		user nobody p -Z nobody
		user root p -Z root
		output slow-reader x slow
		ring small-ring p -b 5
		chunks small-chunks p --buffer-size 2Mi
		when wait p --when-full wait
		late latency=0 p --latency 0
	LIST
}

mapfile -t rows < <(options)

# A generator of our own: bash's RANDOM differs between versions
state=20240229
random() {
	state=$(((state * 1103515245 + 12345) & 0x7fffffff))
	chosen=$(((state >> 8) % $1))
}

# possible NAMES: what excludes each other, or what the program refuses and says so
possible() {
	local n=" $1 "
	[[ $n == *" two-queues "* && ($n == *" no-rss "* || $n == *" rss-sniffer "*) ]] && return 1
	# Where privileges are needed, and this script has none
	[ "$own_uid" = 0 ] || [[ $n != *" nobody "* ]]
}

# run ROW...: the model with these options, and what is wrong with the result
run() {
	local row group name where option dev=name=mlx5_0 clock='' names='' queues=1 slow='' fault=() m=() p=() rate=20000
	for row in "$@"; do
		read -r group name where option <<<"$row"
		names+="${names:+ }$name"
		# shellcheck disable=SC2206 # options and their arguments
		case $where in
		m) m+=($option) ;;
		d) dev+=,$option ;;
		c) clock=$option ;;
		p) p+=($option) ;;
		x) slow=yes ;;
		esac
		case $group in
		# The device is open for a while before the start
		flow) rate=5000 ;;
		oversize) fault=(--fault "cqe=loc_len,frame=700" --fault "cqe=loc_len,frame=701" --fault "cqe=loc_len,frame=1500") ;;
		queues) queues=2 ;;
		esac
	done
	possible "$names" || return 1
	local work=$tmp/d truth='' skip
	rm -rf "${work:?}"/*
	[ -z "$clock" ] || { truth=$work/truth; m+=(--clock "$clock,truth=$truth"); }
	[ -z "$slow" ] || { mkfifo -m 666 "$work/out"; m+=(--keep "$work/tree"); slow_reader "$work" & }
	started=$(date +%s%N)
	model --stats "$work/stats" --at-end sigint --gen "$gen" --rate "$rate" --dev "$dev" "${fault[@]}" "${m[@]}" -- \
		"$RDMADUMP" -d mlx5_0 --json "${p[@]}" -w "$work/out" >"$work/report" 2>"$work/log"
	status=$?
	ended=$(date +%s%N)
	[ -z "$slow" ] || { wait $!; rm "$work/out"; mv "$work/read" "$work/out"; }
	skip=$(jq '.devices[0].ports[0].before_flow' "$work/stats" 2>/dev/null)
	"$SOFTHCA_FRAMES" --write "$work/sent" --skip "${skip:-0}" "$gen" >/dev/null
	{
		[ $status = 0 ] || echo "exit status $status"
		python3 "$srcdir/tests/e2e/quirks_judge.py" out="$work/out" sent="$work/sent" report="$work/report" stats="$work/stats" \
			start="$started" end="$ended" queues=$queues clock="$clock" truth="$truth" \
			warnings="$(($(grep -c warning: "$work/log") / queues))"
		capinfos -c "$work/out" >/dev/null || echo "capinfos cannot read it"
		"$RDMADUMP" -q -r "$work/out" -w "$work/again.pcapng" || echo "rdmadump -r cannot read it"
		[ "$("$SOFTHCA_FRAMES" --hash "$work/out")" = "$("$SOFTHCA_FRAMES" --hash "$work/again.pcapng")" ] || echo "rdmadump -r gives other frames"
	} >"$work/wrong" 2>&1
	[ ! -s "$work/wrong" ]
	ok "${names// / + }" "$work/wrong"
	[ ! -s "$work/wrong" ] || grep -v 'Ctrl-C stops' "$work/log" | tail -n 5 | sed 's/^/# /'
}

# A reader that pauses until most frames have come
slow_reader() { { head -c 65536; wait_for received "$1/tree" $((count * 3 / 4)) >&2; cat; } <"$1/out" >"$1/read"; }

for row in "${rows[@]:0:alone}"; do run "$row"; done

# What failed once
while read -r names; do
	chosen_rows=()
	for name in $names; do
		for row in "${rows[@]}"; do [[ $row == *" $name "* ]] && chosen_rows+=("$row"); done
	done
	run "${chosen_rows[@]}"
done <<-LIST
	long-frames halts verbs
	halts two-queues no-devx
LIST

tested=0
for ((tries = 0; tested < combined && tries < 1000; tries++)); do
	random 4
	want=$((chosen + 3))
	chosen_rows=() groups=' '
	while [ ${#chosen_rows[@]} -lt $want ]; do
		random ${#rows[@]}
		group=${rows[chosen]%% *}
		[[ $groups == *" $group "* ]] && continue
		groups+="$group "
		chosen_rows+=("${rows[chosen]}")
	done
	run "${chosen_rows[@]}" && tested=$((tested + 1))
done
is "combinations" "$tested" "$combined"

is "Wireshark's library reads as many frames" "$(frames_read "$tmp/d/out")" "$("$SOFTHCA_FRAMES" --hash "$tmp/d/out" | cut -d' ' -f1)"

tap_done
