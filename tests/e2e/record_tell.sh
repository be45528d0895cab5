#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two flight recorders that tell each other what fired: both files, and other ends that are dead, silent or hostile.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tshark mergecap
n=8
[ -z "${TEST_FULL-}" ] || n=50

# ssh: runs the command here; a host is how its other end behaves
mkdir "$tmp/bin"
cat >"$tmp/bin/ssh" <<'END'
#!/bin/bash
while [ "$1" != -- ]; do shift; done
case $2 in
dead) exit 255 ;;
silent) exec cat >/dev/null ;;
hostile) exec yes + ;;
loud) while read -r _; do printf '\033[2J+++\n'; done ;;
*) printf '%s\n' "$$" >>"$tmp/ssh" && exec sh -c "$3" ;;
esac
END
chmod +x "$tmp/bin/ssh"
export tmp PATH=$tmp/bin:$PATH

# recorder NAME OPTION...: in the background, until it records
recorder() {
	local name=$1
	shift
	mkdir -p "$tmp/$name" && : >"$tmp/$name/log"
	model --clock realtime,truth="$tmp/$name/truth" --pidfile "$tmp/$name/pid" --gen count=1000000,size=200 --rate 500 -- \
		"$RDMADUMP" record mlx5_0 -w "$tmp/$name/r.pcapng" --memory 16Mi --json -D --no-analysis --pre 1h --post 20ms \
		"$@" >"$tmp/$name/report" 2>"$tmp/$name/log" &
	jobs[$name]=$!
	wait_for grep -q 'memory for frames' "$tmp/$name/log"
}
declare -A jobs
finish() {
	kill -INT "$(<"$tmp/$1/pid")"
	wait "${jobs[$1]}"
}
delivered() { wc -l 2>/dev/null <"$tmp/$1/truth" || echo 0; }
more_than() { [ "$(delivered "$1")" -gt "$2" ]; }
# new_frames NAME...: there are some that are in no file yet, without which there is none
new_frames() {
	local name
	for name; do wait_for more_than "$name" $(($(delivered "$name") + 20)); done
}
count() { grep -c "$2" "$tmp/$1/log"; }
reaches() { [ "$(count "$1" "$2")" -ge "$3" ]; }
begun() { jq '.triggers.began' "$tmp/$1/report"; }

recorder a --trigger fifo="$tmp/a.fifo" --tell "other:$tmp/b.fifo"
recorder b --trigger fifo="$tmp/b.fifo" --tell "other:$tmp/a.fifo"
for i in $(seq $n); do
	new_frames a b
	echo "event $i" >"$tmp/a.fifo"
	wait_for reaches b "sent by .*: event $i\$" 1
	# The next one gets a file of its own.
	wait_for reaches a 'pcapng: [0-9]* frames' "$i"
	wait_for reaches b 'pcapng: [0-9]* frames' "$i"
done
new_frames a b
long=$(printf '%0220d' 7)
echo "of b: sent by rank 3 $long" >"$tmp/b.fifo"
wait_for reaches a "sent by .*: of b: sent by rank 3 $long\$" 1
for name in a b; do
	finish $name
	is "$name: sent and confirmed" "$(jq -c '[.triggers_sent, .triggers_confirmed]' "$tmp/$name/report")" "$([ $name = a ] && echo "[$n,$n]" || echo '[1,1]')"
	is "$name: a file for each event of both" "$(begun $name)" $((n + 1))
	is "$name: the files have them" \
		"$(mergecap -w - "$tmp/$name"/r_* | tshark -r - -T fields -e frame.comment 2>/dev/null | grep -o 'event [0-9]*$\|of b: sent by rank' | sort -u | wc -l)" $((n + 1))
done
while read -r pid; do [ ! -d "/proc/$pid" ] || left=$pid; done <"$tmp/ssh"
is "no ssh is left" "${left-}" ""

# --- the other end ------------------------------------------------------------------------------------------------

# other HOST WARNING CONFIRMED (at most): nothing is lost here
other() {
	rm -rf "$tmp/a"
	recorder a --trigger fifo="$tmp/a.fifo" --tell "$1:$tmp/none"
	for i in 1 2; do
		new_frames a
		echo "event $i" >"$tmp/a.fifo"
		wait_for reaches a 'pcapng: [0-9]* frames' "$i"
	done
	[ -z "$2" ] || wait_for reaches a "$2" 1
	finish a
	is "$1: the report" "$(jq -c "[.triggers_sent, .triggers_confirmed <= $3, .triggers.began, .dumps, .exit_status]" "$tmp/a/report")" "[2,true,2,2,0]"
}
other dead 'dead is not connected' 0
other silent '' 0
other hostile 'hostile sent something else than confirmations' 1
other loud 'loud sent something else than confirmations' 0
lacks "loud: nothing of it is shown" "$tmp/a/log" $'\033'
other elsewhere 'elsewhere has no FIFO of a recorder' 0
[ ! -e "$tmp/none" ]
ok "elsewhere: no file is made there" "$tmp/a/log"
for to in other :/run/x -oProxyCommand=x:/run/x "other:/run/x'y"; do
	model -- "$RDMADUMP" record mlx5_0 --tell "$to" >"$tmp/out" 2>"$tmp/err"
	exits "'$to'" 1 "$tmp/err" 'is not HOST:/PATH'
done
tap_done
