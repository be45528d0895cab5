# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# What the test scripts share: TAP output, temporary files, the programs under test.
# Expects from the environment: RDMADUMP (the program), SOFTHCA (the model's launcher; the model is $SOFTHCA.so),
# SOFTHCA_FRAMES, SOFTHCA_PROBE, TEST_DATA (tests/data).

tap_n=0
tap_failed=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rdmadump-test.XXXXXX")
trap 'tap_cleanup' EXIT

# A build with ThreadSanitizer: its reports are gathered, for a case of their own at the end.
tap_races=
if [ "${THREAD_SANITIZER-}" = yes ]; then
	tap_races=$tmp/tsan-reports
	mkdir -m 1777 "$tap_races" && chmod 711 "$tmp"
	export TSAN_OPTIONS="${TSAN_OPTIONS-} exitcode=0 log_path=$tap_races/program"
fi

# What is found before the programs in the path: Debian's own python3, which has what scripts/deps installs
mkdir "$tmp/instead"
PATH=$tmp/instead:$PATH
[ ! -x /usr/bin/python3 ] || ln -s /usr/bin/python3 "$tmp/instead"

tap_cleanup() {
	declare -F cleanup >/dev/null && cleanup
	[ ! -d "$tmp/small" ] || umount "$tmp/small" 2>/dev/null # a small file system, if it is one
	rm -rf "$tmp"
}

# tap_comment: standard input as comments, of which the last one ends its line, too
tap_comment() { LC_ALL=C awk '{print "# " $0}'; }

# ok NAME [LOG]: the last command's status decides; if it failed, the end of LOG is shown
ok() {
	local status=$?
	tap_n=$((tap_n + 1))
	if [ "$status" = 0 ]; then
		echo "ok $tap_n - $1"
	else
		echo "not ok $tap_n - $1"
		tap_failed=1
		if [ -n "${2-}" ] && [ -e "$2" ]; then tail -n 20 "$2" | tap_comment; fi
	fi
	return 0
}

# is NAME GOT WANTED
is() {
	[ "$2" = "$3" ]
	ok "$1"
	[ "$2" = "$3" ] || printf '  got: %s\n want: %s\n' "$2" "$3" | tap_comment
}

# has NAME FILE PATTERN: an extended regular expression
has() {
	grep -qE -- "$3" "$2"
	ok "$1" "$2"
}

# lacks NAME FILE PATTERN
lacks() {
	! grep -qE -- "$3" "$2"
	ok "$1" "$2"
}

# holds NAME COMMAND...: it succeeds; else what it printed is shown
holds() { "${@:2}" >"$tmp/holds" 2>&1; ok "$1" "$tmp/holds"; }
# empty NAME FILE
empty() { [ ! -s "$2" ]; ok "$1" "$2"; }

# exits NAME STATUS FILE PATTERN: how the last command ended, and what it said there
exits() {
	local status=$?
	is "$1: exit status" "$status" "$2"
	has "$1: message" "$3" "$4"
}

skip() {
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

# skip_all REASON: before any test
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# races: fails where ThreadSanitizer reported anything
races() {
	cat "$tap_races"/* >"$tmp/races" 2>/dev/null
	[ ! -s "$tmp/races" ]
	ok "ThreadSanitizer reports nothing"
	head -n 400 "$tmp/races" | tap_comment
}

# A plan of no case at all would read as "skipped".
tap_done() {
	[ -z "$tap_races" ] || races
	[ ! -e "$tmp/in-vain" ] || { false; ok "waits for nothing in vain" "$tmp/in-vain"; }
	[ "$tap_n" -gt 0 ] || { false; ok "any case ran"; }
	echo "1..$tap_n"
	exit "$tap_failed"
}

# need_tool TOOL...: all cases need them. For one case there is has_tool.
need_tool() {
	local t
	for t in "$@"; do command -v "$t" >/dev/null || skip_all "$t is not installed"; done
}

# as_root: the script begins again as root of a user namespace, unless it is root
as_root() {
	[ "$(id -u)" != 0 ] || return 0
	unshare -r true 2>/dev/null || skip_all "neither root nor user namespaces"
	exec unshare -r bash "$0"
}

# has_tool TOOL CASE: else CASE is skipped
has_tool() {
	command -v "$1" >/dev/null || { skip "$2" "$1 is not installed"; false; }
}

# lack TOOL REASON: why a case that needs TOOL cannot run, where REASON is the other possible cause
lack() {
	if command -v "$1" >/dev/null; then echo "$2"; else echo "$1 is not installed"; fi
}

# has_jsonschema CASE: else CASE is skipped
has_jsonschema() {
	python3 -c 'import jsonschema' 2>/dev/null || { skip "$1" "python3-jsonschema is not installed"; false; }
}

tap_top=$(cd "${srcdir:-.}" && pwd)
# fits CASE SCHEMA FILE...: each file ("-": one JSON text per line of standard input) is as docs/schema/SCHEMA.json says
fits() {
	has_jsonschema "$1" || return 0
	python3 "$tap_top/tests/unit/schema.py" "$tap_top/docs/schema/$2.json" "${@:3}" >"$tmp/fits" 2>&1
	ok "$1" "$tmp/fits"
}

# as_kept NAME FILE: it is tests/data/kept/NAME.zst; UPDATE_GOLDEN=1 writes that
as_kept() {
	[ -z "${UPDATE_GOLDEN-}" ] || zstd -qf -19 --long "$2" -o "$TEST_DATA/kept/$1.zst"
	zstd -dcq --long "$TEST_DATA/kept/$1.zst" | diff -u -F '^[$]' - "$2" >"$tmp/diff" ||
		! echo "if this is meant: UPDATE_GOLDEN=1 make check TESTS=tests/${0##*tests/}" >>"$tmp/diff"
	ok "as kept: $1" "$tmp/diff"
	! grep -Pan '(?<![\d.,-])(?<!\d )(?<!\d of )1 ([A-Z]+ |[a-z]+ed )?(counter|frame|gap|message|packet|receive|repl(?=ies)|request|response|time|[A-Z]{3})(s|ies)\b' "$2" >"$tmp/diff"
	ok "... nouns after 1" "$tmp/diff"
}

# said COMMAND...: of rdmadump; what it prints is kept for as_said
said() {
	local kept=$tmp/said.$BASHPID.$RANDOM$RANDOM status program=("$RDMADUMP" "$1")
	# What rdmadump would run
	[[ $1 != analyze && $1 != explain ]] || program=("$RDMADUMP-$1")
	echo "$ $*" >"$kept"
	"${program[@]}" "${@:2}" | tee -pa "$kept"
	status=${PIPESTATUS[0]}
	echo "= $status" >>"$kept"
	return "$status"
}
# as_said NAME: all that the commands of a script printed, of JSON a sum, is as it was; whatever the script looks at
as_said() {
	[ -z "${TEST_FULL-}" ] || return 0 # has other commands
	python3 "$tap_top/tests/e2e/said.py" "$tmp" >"$tmp/as_said"
	as_kept "$1" "$tmp/as_said"
}

an() { said analyze "$@"; }
# refused NAME STATUS PATTERN ARGUMENT...: by analyze
refused() {
	an "${@:4}" >"$tmp/out" 2>"$tmp/err"
	exits "$1" "$2" "$tmp/err" "$3"
}
# Of a capture file: its frames, and a hash of their lengths and bytes
hash_of() { "$SOFTHCA_FRAMES" --hash "$@"; }
frames_of() {
	local frames
	frames=$(hash_of "$1")
	echo "${frames%% *}"
}
# frames_read FILE: its frames, as Wireshark's library reads it; status 1 if it is cut or damaged, and $tmp/frames_read says how
frames_read() {
	local line status
	line=$(capinfos -Tmrc "$1" 2>"$tmp/frames_read")
	status=$?
	echo "${line##*,}"
	return $status
}
# The number behind "key": in a JSON report, by jq path
json() { jq -r "$2" "$1"; }

# A pipe into which nobody writes: what reads it hangs.
mkfifo -m 666 "$tmp/never"
# Seconds after which what a test waits for has not come. No test depends on it: only what will
# never happen takes so long, on any machine.
export PATIENCE=${PATIENCE-900}
# wait_for COMMAND...: until it succeeds, tried again after 20 ms, and later 60.
# If it never does: the script fails and ends here, as nothing after it would be true; in a subshell, status 1.
wait_for() {
	local limit=$((PATIENCE + SECONDS)) looks=0
	until "$@" 2>/dev/null; do
		if [ -e "$tmp/in-vain" ] || [ "$SECONDS" -gt "$limit" ]; then
			echo "$*" >>"$tmp/in-vain"
			[ "$BASHPID" != $$ ] || ! declare -F tap_done >/dev/null || tap_done
			return 1
		fi
		read -rt 0.0$(((looks += 1) > 5 ? 6 : 2)) -u 9 || :
	done 9<>"$tmp/never"
}
# larger FILE BYTES: it exists, and is
larger() { [ "$(stat -c %s "$1")" -gt "$2" ]; }
is_gone() { ! kill -0 "$1"; }

# received TREE FRAMES: port 1 of mlx5_0 has had so many; TREE as of the model's --keep
received() { [ "$(<"$1/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_packets")" -ge "$2" ]; }
# Also for scripts in bash that a test starts
export tmp
export -f wait_for larger is_gone received

# apart ARGUMENT... -- ARGUMENT...: into $ahead, what is before it, and $rest
# shellcheck disable=SC2034 # the scripts'
apart() {
	ahead=()
	while [ "$1" != -- ]; do ahead+=("$1"); shift; done
	rest=("${@:2}")
}
model() { "$SOFTHCA" "$@"; }
# on_tree DIR COMMAND...: on the devices that `model --keep DIR ... -- true` laid out; to lay them out again for each
# command costs more than most commands
on_tree() {
	local tree=$1
	shift
	env SOFTHCA_CONFIG="$tree/config" \
		LD_PRELOAD="${SOFTHCA_PRELOAD_FIRST:+$SOFTHCA_PRELOAD_FIRST:}$SOFTHCA.so" "$@"
}
