#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bundle: tools that open an adapter run one after another on it, and are never killed.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tar zstd
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
mkdir "$tmp/work" "$tmp/bin" "$tmp/held" && cd "$tmp/work" || exit 1
mkfifo "$tmp/gate" || exit 1

# A tool of an adapter: notes its steps and what it gets. The first ones wait until both adapters are in use, so that
# those of one adapter overlap if they can.
cat >"$tmp/bin/mstflint" <<'END'
#!/bin/bash
name=${0##*/} function=$2
note() { echo "$name $function $*" >>"$tmp/notes"; }
for s in HUP INT TERM; do trap "note got SIG$s" $s; done
mkdir "$tmp/held/${function%.*}" || note overlaps
[ "${*:3}" != "-m -e -c" ] || note eye
note begins
: >"$tmp/seen-${function%.*}"
for adapter in 3b 5e; do wait_for test -e "$tmp/seen-0000:$adapter:00"; done
[ "$name" != "${gated-}" ] || read -r _ <"$tmp/gate"
[ "$name" != "${slow-}" ] || sleep 2 # pause: in virtual time
echo "output of $name"; note ends
rmdir "$tmp/held/${function%.*}"
END
chmod 755 "$tmp/bin/mstflint"
for name in mlxconfig mstconfig mlxlink mstlink; do ln "$tmp/bin/mstflint" "$tmp/bin/$name"; done
# Ordinary tools take no time, so that the limit of --timeout is enough for them.
for name in dpkg-query rpm ethtool devlink rdma dcb mlnx_qos tc ip lspci ibstat ibdev2netdev ofed_info nvidia-smi numactl dmesg; do
	ln -s /bin/true "$tmp/bin/$name"
done
export PATH=$tmp/bin:$PATH RDMADUMP tmp

# collect ARGUMENTS...: on two functions of an adapter and one of another
collect() {
	rm -f "$tmp/notes" "$tmp"/seen-*
	model --dev name=mlx5_0,pci=0000:3b:00.0 --dev name=mlx5_1,netdev=enp2s0,pci=0000:3b:00.1 \
		--dev name=mlx5_2,netdev=enp3s0,pci=0000:5e:00.0 "$@" >"$tmp/log" 2>&1
}
# steps TOOL...: what each of them notes on each function if nothing disturbs it
steps() {
	for name; do printf "$name %s\n" 0000:3b:00.{0,1}" "{begins,ends} 0000:5e:00.0" "{begins,ends}; done | sort
}
manifest() { tar -xOf b.tar.zst --wildcards '*/manifest.json'; }
why() { manifest | jq -r --arg n "$1" '.not_taken[] | select(.name == $n) | .why'; }

slow=mlxlink collect --time virtual -- "$RDMADUMP" bundle -w b.tar.zst --timeout 1
is "exit status" $? 0
sort "$tmp/notes" | diff - <(steps mstflint mlxconfig mlxlink) >"$tmp/log"
ok "one at a time, one variant, to its end, no measurement of the eye" "$tmp/log"
is "the output" "$(tar -xOf b.tar.zst --wildcards '*/tools/mlxlink-0000_5e_00.0.txt')" "output of mlxlink"
is "the other variant" "$(why tools/mstlink-0000_3b_00.1.txt)" "mlxlink is installed, which prints the same"

rm "$tmp/bin/mlxconfig"
if PATH=/usr/sbin:/usr/bin:/opt/mellanox/bin command -v mlxconfig >/dev/null; then
	skip "the second variant where the first is absent" "mlxconfig is installed"
else
	collect -- "$RDMADUMP" bundle -w b.tar.zst --timeout 600
	sort "$tmp/notes" | diff - <(steps mstflint mstconfig mlxlink) >"$tmp/log"
	ok "the second variant where the first is absent" "$tmp/log"
fi

# held: the tools of both adapters hold them
held() { [ "$(grep -c 'mlxlink .* begins' "$tmp/notes")" = 2 ]; }
rm -f b.tar.zst "$tmp/notes"
gated=mlxlink collect --pidfile "$tmp/pid" -- "$RDMADUMP" bundle -w b.tar.zst --timeout 600 &
wait_for held
kill -INT "$(<"$tmp/pid")"
wait_for grep -q 'waiting for' "$tmp/log"
exec {gate}<>"$tmp/gate"
printf '\n\n' >&"$gate"
wait $!
exits "Ctrl-C" 4 "$tmp/log" \
	"waiting for 'mlxlink -d 0000:3b:00.0 -m -c', at most [1-6][0-9] s: it uses the adapter"
has "... on each adapter" "$tmp/log" "waiting for 'mlxlink -d 0000:5e:00.0 -m -c'"
grep '^mlxlink' "$tmp/notes" | sort | diff - <(steps mlxlink | grep -v 3b:00.1) >"$tmp/log"
ok "... until they end, without a signal, and starts no other" "$tmp/log"

rm -f "$tmp/pid" "$tmp/notes"
gated=mlxlink collect --pidfile "$tmp/pid" -- "$RDMADUMP" bundle -w b.tar.zst --timeout 600 &
wait_for held
kill -KILL "$(<"$tmp/pid")"
wait $!
printf '\n\n' >&"$gate"
wait_for sh -c "[ \$(grep -c '^mlxlink .* ends' '$tmp/notes') = 2 ]"
ok "SIGKILL of bundle does not end them, nor that nobody reads their output" "$tmp/notes"

tap_done
