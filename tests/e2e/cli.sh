#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Command lines: exit status and message. One line of the list is one case.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq script zstd

model --dev name=mlx5_0,netdev=enp1s0f0np0,pci=0000:3b:00.0 \
	--dev name=mlx5_1,netdev=enp2s0np0,pci=0000:5e:00.0,state=down \
	--gen count=50,size=200,seed=1 --at-end sigint --keep "$tmp/tree" -- true
# STATUS|COMMAND LINE|EXTENDED REGULAR EXPRESSION that the output has
while IFS='|' read -r want line pattern; do
	case $want in ''|'#'*) continue ;; esac
	# shellcheck disable=SC2086 # words of a command line
	on_tree "$tmp/tree" "$RDMADUMP" ${line//TMP/$tmp} >"$tmp/log" 2>&1
	status=$?
	[ "$status" = "$want" ] && grep -qE -- "${pattern//TMP/$tmp}" "$tmp/log"
	ok "rdmadump $line" "$tmp/log"
done <<'LIST'
0|--version|^rdmadump [0-9.]+ \(.+\)$
0|--version|libpcap version
0|--help|^Commands
0|-h|^Commands
0|-?|^Commands
0|list -h|--sysroot=DIR
0|--help-all|--snapshot-length=N
0|--usage|--snapshot-length=N
0|-V|^rdmadump [0-9]
1|--no-such-option|unrecognized option '--no-such-option'; see 'rdmadump --help'
1|--snaplenn 3|unrecognized option '--snaplenn'; did you mean '--snapshot-length'\?
1|-w TMP/o --when-ful=drop --jsonn|unrecognized option '--jsonn'; did you mean '--json'\?
1|list --jsno|did you mean '--json'\?
0|-w --writ --version|^rdmadump [0-9]
0||RoCEv2 RC_
1|-w TMP/o nonsense|'nonsense': can't parse filter expression
1|lsit|there is no command 'lsit'; did you mean 'rdmadump list'\?
1|nosuchcommand|there is no command 'nosuchcommand', and it is not a filter; 'rdmadump --help'
1|TMP|is a file, neither a command nor a filter; to read it
1|analyse TMP/o.pcapng|did you mean 'rdmadump analyze'
1|-w TMP/o udp prot 4791|can't parse filter expression: syntax error; see pcap-filter\(7\)$
1|-w TMP/o -c 0|-c: '0' is not a whole number, 1 or more
1|-w TMP/o -c 1x|-c: '1x' is not a whole number
1|-w TMP/o -b 21|-b: '21' is not a whole number from 1 to 20, the log2
1|-w TMP/o --buffer-size 5 |'5' is not a size from 1
1|-w TMP/o --when-full maybe|'maybe' is not one of drop, wait
1|-w TMP/o --format png|png.*pcapng
0|-w TMP/one|written to TMP/one \(
0|-w TMP/two -C 1|written to TMP/two \(
0|-w TMP/ringed -C 1 -W 3|written to 1 file named after TMP/ringed \(
0|-w TMP/numbered -b filesize:5 -b files:2|written to [2-9] files named after TMP/numbered \(
0|-w TMP/at-%F -G 100|written to 1 file named after TMP/at-%F \(
0|-d mlx5_0 -i mlx5_1 -w TMP/o|capturing on mlx5_1 port 1
1|-r TMP/x -d mlx5_0|give one of them
1|-s quiet|called --silent here
1|-p host|called --no-promiscuous-mode here
1|-W 3 -w TMP/o|give -C or -G too
1|-b files:3 -w TMP/o|give -C or -G too
1|-C 1|give -w FILE
1|--write= -c 1|-w: '' is empty
1|--host= -c 1|--host: '' is empty; give a value, or leave it out
1|-w TMP/o -z TMP/none|-z 'TMP/none': No such file or directory; name a program
1|-m mst -w TMP/o|mst device, which is not needed
1|-x|tshark -x
1|-P -w TMP/o|--format pcap here
0|-n -l -c 2|RoCEv2 RC_
0|--count -c 7|^7 frames$
0|--count -s 0 -c 7|^7 frames$
1|--count -w TMP/o|--count prints a number only
1|--count=7|doesn't allow an argument
0|-c 2 -ttt|^00:00:00\.000000000 (IN|OUT)
0|-c 2 -ttttt|^00:00:00\.000000000 (IN|OUT)
1|-b files:0 -w TMP/o|whole number from 1
1|--headers-only --zero-payload|exclude each other
1|--netdev --sniffer verbs|exclude each other
1|--opcode sned|sned
1|-a foo:3 -w TMP/o|duration, filesize, files, packets
1|-i 9 -w TMP/o|no port number 9
2|-i nosuch|no device or netdev 'nosuch'
2|-d mlx5_7 -w TMP/o|no device or netdev 'mlx5_7'; there are: mlx5_0
2|-d mlx5_0 -i 3 -w TMP/o|port 3
0|-w TMP/o|capturing on mlx5_0 port 1 \(enp1s0f0np0, RoCE, [0-9.]+ Gb/s\), software clock, 16384 buffers
0|-w TMP/o|^50 frames in .* written to .*/o
0|capture -w TMP/o|^50 frames
0|-d mlx5_0:1 -w TMP/o|^50 frames
0|-d enp1s0f0np0 -w TMP/o|^50 frames
0|-d 0000:3b:00.0 -w TMP/o|^50 frames
0|-d 3b:00.0 -w TMP/o|^50 frames
0|-d mlx5_0 -i 1 -w TMP/o|^50 frames
0|-i mlx5_0 -w TMP/o|^50 frames
0|-i 1 -w TMP/o|capturing on mlx5_0 port 1
0|--ib-dev mlx5_0 --ib-port 1 --write TMP/o|^50 frames
0|-o TMP/o|^50 frames
0|-w TMP/o --max-burst 6|, 64 buffers of
0|-w TMP/o --max-frame 4096|buffers of 4\.[01] KiB
0|list|mlx5_1 .*down
0|list -v|ConnectX-5 \(MT4119\)
1|info|name one of them
0|info mlx5_1|port 1 is down
2|info mlx5_0:256|mlx5_0 has no port 256: it has port 1
1|record --latency|^rdmadump record: option '--latency' requires an argument; see 'rdmadump record --help'$
1|-qw|^rdmadump: option '-w' requires an argument; see 'rdmadump --help'$
1|list -x|^rdmadump list: unrecognized option '-x'; see 'rdmadump list --help'$
1|list x|list shows all devices; see 'rdmadump list --help'$
2|analyze --annotate TMP/a TMP/none|cannot open 'TMP/none': No such file or directory; check the name
1|events -c 0|--count: '0' is not a whole number, 1 or more
1|events -a foo|-a: 'foo' is not 'duration:' and a number of seconds
1|counters --interval x|--interval: 'x' is not a number of seconds from 0.01 to 86400
2|counters --diff TMP/none TMP/none|No such file or directory; name a file that 'rdmadump counters --json' wrote
1|compare TMP/none|two captures or reports are compared: before, and now; see 'rdmadump compare --help'
2|-r TMP|Is a directory; give a file, not a directory
2|analyze TMP/tree|has no capture file among its [0-9]+ files; name the files to see why
1|-F TMP/none|cannot read the filter in 'TMP/none': No such file or directory; name a file
1|-C 1 -w -|a series of files needs a name, not standard output: give -w FILE
2|list --sysroot=TMP/one|no directory 'sys' in 'TMP/one'; name the directory that holds a copied 'sys'
2|bundle --dry-run --file TMP|--file 'TMP' is not a regular file; give the name of a capture file
2|bundle --dry-run --file /dev/null|--file '/dev/null' is not a regular file; give the name of a capture file
1|bundle --dry-run --file TMP/one --write TMP/one|is a file that is read; it was not touched: give the output another name
1|bundle -w TMP/b.zip|-w '.*/b.zip': a bundle is a tar file that is compressed by zstd: name it .tar.zst
1|record mlx5_0 --trigger nak --trigger-explain --json|--trigger-explain prints text: leave out --json
3|bundle -w TMP/none/x|cannot write to 'TMP/none/x': No such file or directory; the directory must exist
1|record mlx5_0 --trigger stall|--trigger 'stall': the time is missing: stall>TIME; rdmadump-record\(1\) lists
1|record mlx5_0 --trigger nak,qp=zz|qp must be a QP number from 0 to 0xffffff
1|record mlx5_0 --trigger port-down=1|this trigger takes no value: leave out '='
3|record mlx5_0 -w TMP|cannot write to 'TMP': Is a directory; give a file name, not a directory
3|record mlx5_0 -w TMP/none/|cannot write to 'TMP/none/': Is a directory; give a file name
1|record mlx5_0 --exec TMP/one|--exec 'TMP/one': Permission denied; name a program
1|record mlx5_0 --exec no-such-program|--exec 'no-such-program': No such file or directory; name a program
1|record mlx5_0 --trigger nakk|there is no trigger 'nakk'; did you mean 'nak'\?; rdmadump-record\(1\) lists
1|record mlx5_0 -w -|-w '-': every trigger begins a file of its own, so it cannot be standard output: give a name
LIST

model --gen count=50,size=200,seed=1 --at-end sigint -- "$RDMADUMP" -q -w "$tmp/o" >"$tmp/log" 2>&1
is "-q says nothing" "$(<"$tmp/log")" ""
# A program is looked for as execvp(3) does
cp "$(type -P true)" "$tmp/mine"
for search in "-u PATH|true|0" "PATH=:/none|mine|0" "PATH=/none|mine|1" "PATH=|true|1"; do
	IFS='|' read -r path command want <<<"$search"
	(
		cd "$tmp" || exit
		# shellcheck disable=SC2086 # words of a command line
		model --gen count=5 --at-end sigint -- "$(type -P env)" $path "$RDMADUMP" -q -w o -G 100 -z "$command" >"$tmp/log" 2>&1
	)
	is "-z $command, $path: exit status" $? "$want"
done
for option in -V --version; do
	model --dev name=mlx5_0 -- "$RDMADUMP" $option >"$tmp/log" 2>&1
	is "$option says nothing of devices" "$(grep -c mlx5_0 "$tmp/log")" 0
done
# An old libmlx5 is not used: a library of that name without its functions is found first.
mkdir "$tmp/old"
ln -s "$(ldd "$RDMADUMP" | sed -n 's/^.*libjansson.* => \(.*\) (.*/\1/p')" "$tmp/old/libmlx5.so.1"
LD_LIBRARY_PATH=$tmp/old "$RDMADUMP" --version >"$tmp/log"
has "an old libmlx5: said" "$tmp/log" '^  no libmlx5 that has mlx5dv_[a-z_]+\(\): .*install ibverbs-providers'
LD_LIBRARY_PATH=$tmp/old model --gen count=50 --at-end sigint -- "$RDMADUMP" -w "$tmp/old.pcapng" >/dev/null 2>"$tmp/log"
has "... a capture works without" "$tmp/log" '^50 frames '
[ "$("$RDMADUMP" --help | wc -l)" -le 40 ] && [ "$("$RDMADUMP" --help | wc -L)" -le 80 ]
ok "--help fits a screen"
# argp breaks an entry that ends exactly at the margin: a line of spaces, or the next words out of place
for command in --help-all list\ --help info\ --help events\ --help counters\ --help analyze\ --help record\ --help \
	selftest\ --help bundle\ --help explain\ --help compare\ --help digest\ --help export\ --help; do
	# shellcheck disable=SC2086 # words of a command line
	"$RDMADUMP" $command >"$tmp/log"
	! grep -nE '^ +$|^ {31}|.{81}' "$tmp/log"
	ok "$command: no entry is broken at the margin"
done
for command in '' capture list counters 'bundle --json'; do
	# shellcheck disable=SC2086 # words of a command line
	"$RDMADUMP" help $command >"$tmp/log" 2>&1
	is "help $command: exit status" $? 0
	# shellcheck disable=SC2086
	"$RDMADUMP" $command --help >"$tmp/said"
	diff "$tmp/said" "$tmp/log" >"$tmp/differ" && [ -s "$tmp/said" ]
	ok "help $command: as --help" "$tmp/differ"
done
"$RDMADUMP" help counter >"$tmp/log" 2>&1
exits "help counter" 1 "$tmp/log" "did you mean 'rdmadump counters'"
script -qec "'$RDMADUMP' -r /dev/null -w -" /dev/null >"$tmp/log" 2>&1 </dev/null
exits "-w - to a terminal" 1 "$tmp/log" 'standard output is a terminal; give a file'
# --- completion: WORDS, the last one unfinished | what is offered, the same by each shell

mkdir "$tmp/shells"
ln -s "$(realpath "$RDMADUMP")" "$tmp/shells/rdmadump"
# What completion calls in zsh, as it prints
cat >"$tmp/shells/offers.zsh" <<'END'
compadd() { [[ $1 == -a ]] && { print -l -- ${(P)2}; return }; [[ $1 == -- ]] && shift; print -l -- "$@" }
compset() { words[CURRENT]=${words[CURRENT]#*=} }
_files() { print -l -- ${words[CURRENT]}*(N) }
_describe() { local -a all; [[ $1 == -o ]] && shift; all=("${(@P)2}"); print -l -- ${all%%:*} }
complete_words() { local -a words; words=("${(@s: :)2}"); local CURRENT=$#words; source $1; }
complete_words "$@"
END
# others WORDS WANTED: the same of the other shells
others() {
	local last=${1##* } completions
	completions=$(realpath "${srcdir:-.}/completions")
	if has_tool zsh "completion of '$1' in zsh"; then
		is "completion of '$1' in zsh" "$(PATH=$tmp/shells:$PATH zsh -f "$tmp/shells/offers.zsh" "$completions/_rdmadump" "rdmadump $1" |
			grep -- "^$last" | sort | paste -sd' ')" "$2"
	fi
	if has_tool fish "completion of '$1' in fish"; then
		is "completion of '$1' in fish" "$(PATH=$tmp/shells:$PATH fish -N -c "source '$completions/rdmadump.fish'; complete -C 'rdmadump $1'" |
			cut -f1 | sort | paste -sd' ')" "$2"
	fi
}
# shellcheck source=completions/rdmadump
. "${srcdir:-.}/completions/rdmadump"
: >"$tmp/witness"
while IFS='|' read -r words want; do
	words=${words/TMP/$tmp} want=${want/TMP/$tmp}
	read -ra COMP_WORDS <<<"rdmadump $words"
	case $words in *' ') COMP_WORDS+=("") ;; esac
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	_rdmadump "$RDMADUMP" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	is "completion of '$words'" "${COMPREPLY[*]-}" "$want"
	others "$words" "$want"
done <<'LIST'
--snap|--snapshot-length
--ro|--roce
co|compare counters
--when-full d|drop
--when-full |drop wait
-Q in|in inout
--zero-payload --he|--headers-only --help --help-all
list --js|--json
analyze --ht|--html
he|help
help co|compare counters
counters lo|lo
export --tables co|counters
counters --diff TMP/wi|TMP/witness
LIST

# --- a terminal

# on_terminal ENVIRONMENT...: the lines of a capture with NAKs on a terminal
zstd -dqfc "$TEST_DATA/roce/17_rnr_nak/a.pcap.zst" >"$tmp/naks.pcap"
on_terminal() {
	env "$@" script -qec "'$RDMADUMP' -r $tmp/naks.pcap -t --opcode nak,rnr" /dev/null </dev/null 2>&1
}
"$RDMADUMP" -r "$tmp/naks.pcap" -t --opcode nak,rnr >"$tmp/log" 2>/dev/null
is "a NAK is named once in its line" "$(grep -c NAK "$tmp/log") $(grep -c 'NAK.*NAK' "$tmp/log")" "75 0"
on_terminal -u NO_COLOR TERM=xterm >"$tmp/log"
has "a NAK is coloured" "$tmp/log" $'^\033\\[1;3[15]m.*NAK.*\033\\[0m'
for environment in 'NO_COLOR=1 TERM=xterm' 'TERM=dumb' '-u TERM'; do
	# shellcheck disable=SC2086 # words of a command line
	on_terminal $environment >"$tmp/log"
	grep -q NAK "$tmp/log" && ! grep -q $'\033' "$tmp/log"
	ok "$environment: no colour"
done
model --no-devices -- "$RDMADUMP" -i nosuch >"$tmp/log" 2>&1
has "no device at all: the name" "$tmp/log" "no device or netdev 'nosuch', and no RDMA device"
"$RDMADUMP" -i lo -w /nowhere/o >"$tmp/log" 2>&1
has "a netdev, and no RDMA device: it is not called unknown" "$tmp/log" \
	"netdev 'lo' exists but has no RDMA device; (load the driver|there are: )"
model --no-devices -- "$RDMADUMP" -w "$tmp/o" >"$tmp/log" 2>&1
exits "no device" 2 "$tmp/log" 'no RDMA device found.*; load the driver'
model --gen count=50,size=200,seed=1 --at-end sigint -- "$RDMADUMP" --json -w "$tmp/o" >"$tmp/json" 2>"$tmp/log"
is "--json is JSON" "$(jq -r '.version, .sources[0].device, .frames.written' "$tmp/json" | paste -sd' ')" "2 mlx5_0 50"

if [ "$(id -u)" = 0 ]; then
	chmod 755 "$tmp" && mkdir -m 777 "$tmp/theirs"
	# another user must be able to execute the programs
	if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$RDMADUMP" 2>/dev/null; then
		setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$tmp/theirs" \
			"$SOFTHCA" -- "$RDMADUMP" -b 4 -w "$tmp/theirs/o" >"$tmp/log" 2>&1
		exits "without privilege" 2 "$tmp/log" \
			'(create_qp|create_flow) on mlx5_0:1: Operation not permitted; needs CAP_NET_RAW: run as root or setcap'
	else
		skip "without privilege" "$(lack setpriv "the build directory is not readable for others")"
	fi
else
	skip "without privilege" "not root"
fi

since() { "$RDMADUMP" -r "$TEST_DATA/roce/10_rc_write_loss/a.pcap.zst" -c 4 "$1" 2>"$tmp/log" | awk '{split($1, t, ":"); s = t[3]; n += s} END {printf "%.9f %.9f\n", s, n}'; }
is "-ttt is the time since the last frame, -ttttt since the first" "$(since -ttt | cut -d' ' -f2)" "$(since -ttttt | cut -d' ' -f1)"
has "a file that is read: its format, compression and size" "$tmp/log" "^rdmadump: reading '.*a.pcap.zst', pcap in zstd, 37.6 kB$"
tap_done
