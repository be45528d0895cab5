#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmadump-fleet: the same capture on many hosts, fetched and analysed once. Hosts are ports of sshd on the loopback of a network
# namespace, each with a model device of its own; with TEST_FULL also eight nodes of a real Slurm, and clush.
. "${srcdir:-.}/tests/tap.sh"
PATH=$PATH:/usr/sbin
unset PYTHONUNBUFFERED # users have none
need_tool ssh sshd ip zstd pgrep
[ "$(id -u)" = 0 ] || skip_all "daemons need root"
if [ "${FLEET_INSIDE-}" != yes ]; then
	unshare -mnpf true 2>/dev/null || skip_all "no right to make namespaces"
	# All daemons end with the namespace of processes, whatever happens, and reach nothing but its loopback.
	FLEET_INSIDE=yes exec unshare -mnpf --kill-child --mount-proc bash "$0"
fi
ip link set lo up
ip addr add 192.0.2.1/32 dev lo # resolvers give no addresses to a host that has none but 127.0.0.1
mount -t tmpfs none /run
mkdir /run/sshd

# Both ends of a path that loses packets, and other hosts
mkdir "$tmp/spool" "$tmp/bin" "$tmp/node"
for side in a b; do zstd -dqf -o "$tmp/$side.pcap" "$TEST_DATA/roce/10_rc_write_loss/$side.pcap.zst"; done
rested() { # what each device has when nothing is to go wrong
	rm -f "$tmp/node"/*
	echo "--pcap $tmp/a.pcap --pace --time virtual --at-end sigint" >"$tmp/node/node0"
	echo "--pcap $tmp/b.pcap --pace --time virtual --at-end sigint" >"$tmp/node/node1"
	for i in 2 3 4 5 6 7; do echo "--gen count=200,seed=$i --at-end sigint" >"$tmp/node/node$i"; done
}
busy() { for node in "$@"; do echo "--gen count=100000000,size=100 --rate 2000" >"$tmp/node/$node"; done; }
# The rdmadump of a node: of Slurm, or of the port of sshd
cat >"$tmp/bin/rdmadump" <<END
#!/bin/bash
read -r _ _ _ port <<<"\${SSH_CONNECTION-}"
node=\${POD:-\${SLURMD_NODENAME:-node\$((port - 2200))}}
[ ! -e "$tmp/node/odd" ] || { ln -s "$tmp/key" link; ln -s "$tmp" folder; : >\$'../files/a\\nb;c'; }
export SOFTHCA_PRELOAD_FIRST='${SOFTHCA_PRELOAD_FIRST-}'
exec '$SOFTHCA' --pidfile "$tmp/node/pid.\$node" \$(<"$tmp/node/\$node") -- '$RDMADUMP' "\$@"
END
chmod +x "$tmp/bin/rdmadump"

ssh-keygen -q -t ed25519 -N '' -f "$tmp/key"
cat >"$tmp/sshd_config" <<END
HostKey $tmp/key
AuthorizedKeysFile $tmp/key.pub
PermitRootLogin yes
StrictModes no
UsePAM no
Subsystem sftp internal-sftp
END
for i in 0 1 2; do /usr/sbin/sshd -f "$tmp/sshd_config" -o "PidFile $tmp/sshd.$i" -o "ListenAddress 127.0.0.1:$((2200 + i))"; done
printf 'Host node%d\nPort 220%d\n' 0 0 1 1 2 2 9 9 >"$tmp/ssh_config"
printf 'Host silent\nProxyCommand cat %s\n' "$tmp/never" >>"$tmp/ssh_config"
cat >>"$tmp/ssh_config" <<END
Host *
HostName 127.0.0.1
IdentityFile $tmp/key
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
LogLevel ERROR
END
# ssh has no variable for its configuration
printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$tmp/ssh_config" >"$tmp/bin/ssh"
chmod +x "$tmp/bin/ssh"
# Of Kubernetes, only what is run is shown: this runs it here.
cat >"$tmp/bin/kubectl" <<'END'
#!/bin/bash
case $1 in
get) echo "pod/${6#spec.nodeName=}" ;;
exec) POD=${3#pod/} exec "${@:5}" ;;
esac
END
chmod +x "$tmp/bin/kubectl"
PATH=$tmp/bin:$PATH

# fleet BACKEND HOSTS ARGUMENT...: into a new $tmp/out; status in $status, messages in $tmp/err, the report in $tmp/report
fleet() {
	local backend=$1 nodes=$2
	shift 2
	rm -rf "$tmp/out"
	timeout -k 5 "$PATIENCE" "$fleet" -b "$backend" -w "$nodes" -s "$tmp/spool" -p "$tmp/bin/rdmadump" -t "$PATIENCE" -o "$tmp/out" -- "$@" \
		>"$tmp/report" 2>"$tmp/err" </dev/null
	status=$?
}
captures() { (cd "$tmp/out/captures" && echo *); }
left() { find "$tmp/spool" -mindepth 1 | wc -l; }
# It analyses with the rdmadump beside it, which is that of no node.
mkdir "$tmp/here" && ln -s "$RDMADUMP" "$tmp/here/rdmadump" && cp "$srcdir/scripts/rdmadump-fleet" "$tmp/here"
fleet=$tmp/here/rdmadump-fleet

# well BACKEND: every host's file is here, under the name of the host; one report finds both ends of the path that loses packets
well() {
	rested
	[ "$1" = clush ] || : >"$tmp/node/odd" # scp follows links
	fleet "$1" "$2" -d mlx5_0
	is "$1: all well" "$status $(captures)" "0 $3"
	[ "$status" = 0 ] || tap_comment <"$tmp/err"
	has "$1: ... one report of both ends" "$tmp/report" '^LOSS +Packets from 10\.77\.0\.2 to 10\.77\.0\.1 are lost before'
	is "$1: ... of all files" "$(sed -n 's,^<script type="application/json" id="report">\(.*\)</script>$,\1,p' "$tmp/out/report.html" | jq -r '.names[]' | sort)" \
		"$(cd "$tmp/out" && ls captures/*.pcapng*)"
	cmp "$tmp/report" "$tmp/out/report.txt" && grep -q '^<!DOCTYPE html>' "$tmp/out/report.html"
	ok "$1: ... and it is kept"
	is "$1: ... nothing is left on the hosts" "$(left)" 0
}
# odd BACKEND HOSTS: one of them has no such device, the others do not care
odd() {
	rested
	echo "--dev name=mlx5_9 --at-end sigint" >"$tmp/node/node1"
	fleet "$1" "$2" -d mlx5_0
	is "$1: a host without the device" "$status $(captures)" "4 $3"
	[ "$status" = 4 ] || tap_comment <"$tmp/err"
	has "$1: ... its own error line" "$tmp/err" "^node1: exit 2: rdmadump: no device or netdev 'mlx5_0'; there are: mlx5_9"
	has "$1: ... counted" "$tmp/err" "^$(($(wc -w <<<"$3"))) of $(($(wc -w <<<"$3") + 1)) hosts captured without a fault"
	is "$1: ... nothing is left on the hosts" "$(left)" 0
}
# begun NODE: its capture has written frames
begun() { larger "$(echo "$tmp/spool"/*."$1"/files/rdma.pcapng)" 5000; }
# during BACKEND HOSTS COMMAND...: captures until somebody ends them; COMMAND once all have written frames
during() {
	local backend=$1 nodes=$2 node
	shift 2
	rm -rf "$tmp/out"
	# In a session of its own, and with the signals, as from a terminal: what is sent to the group reaches all of it.
	setsid env --default-signal=INT "$fleet" -b "$backend" -w "$nodes" -s "$tmp/spool" -p "$tmp/bin/rdmadump" -t "$PATIENCE" -o "$tmp/out" -- \
		-d mlx5_0 -U >"$tmp/report" 2>"$tmp/err" &
	pid=$!
	for node in $(cd "$tmp/node" && grep -l rate node*); do wait_for begun "$node"; done
	"$@"
	wait "$pid"
	status=$?
}
# readable: how many of the captures are whole
readable() {
	local file n=0
	for file in "$tmp/out/captures"/*; do "$RDMADUMP" -q -r "$file" --count >/dev/null 2>&1 && n=$((n + 1)); done
	echo "$n"
}
interrupted() {
	rested
	# shellcheck disable=SC2086 # a list of names
	busy $3
	during "$1" "$2" interrupt
	is "$1: Ctrl-C ends all, and all is fetched" "$status $(captures) $(readable)" "0 $4"
	has "$1: ... it says so" "$tmp/err" '^ending all captures'
	is "$1: ... nothing is left on the hosts" "$(left)" 0
}
interrupt() { kill -INT -- "-$pid"; }

# Names of what is fetched: of captures; of these and of what else may lie in such a folder
# documented PATTERN: the command lines of docs/fleet.md that it fits work
documented() {
	local line
	sed -nE 's/ +#.*//; s/^rdmadump-fleet (-[bw] .*)/\1/p' "$srcdir/docs/fleet.md" | grep -E -- "$1" >"$tmp/lines"
	holds "docs/fleet.md has lines of '$1'" [ -s "$tmp/lines" ]
	while read -r line <&4; do
		rested
		rm -rf "$tmp/out"
		eval "timeout -k 5 $PATIENCE '$fleet' -s '$tmp/spool' -p '$tmp/bin/rdmadump' -t $PATIENCE -o '$tmp/out' $line" >"$tmp/log" 2>&1 </dev/null
		ok "it works: rdmadump-fleet $line" "$tmp/log"
	done 4<"$tmp/lines"
}
files() { printf '%s@rdma.pcapng\n' "$@" | paste -sd ' '; }
all() { { printf '%s@a_b_c\n' "$@" && files "$@" | tr ' ' '\n'; } | sort | paste -sd ' '; }

well ssh node0,node1,node2 "$(all node0 node1 node2)"
odd ssh node0,node1,node2 "$(files node0 node2)"
interrupted ssh "node0 node2" "node0 node2" "$(files node0 node2) 2"
well kubectl node0,node1,node2 "$(all node0 node1 node2)"
documented '^(-w|-b kubectl)'

# A program that dies, and a connection that is lost: each ends alone
die() {
	kill -9 "$(<"$tmp/node/pid.node1")"
	wait_for grep -q '^node1: exit' "$tmp/err"
	interrupt
}
rested
busy node0 node1
during ssh node0,node1 die
is "rdmadump dies on a host" "$status $(captures)" "4 $(files node0 node1)"
has "... which is named" "$tmp/err" '^node1: exit 137: '
has "... the other one ends well" "$tmp/err" '^node0: exit 0: .* frames in '
cut_off() {
	# shellcheck disable=SC2046 # numbers of processes
	kill $(pgrep -P "$(<"$tmp/sshd.1")")
	wait_for grep -q '^node1: the connection' "$tmp/err"
	interrupt
}
rested
busy node0 node1
during ssh node0,node1 cut_off
is "a connection is lost" "$status $(captures) $(readable)" "4 $(files node0 node1) 2"
is "... the capture there has ended, and nothing is left" "$(left) $(pgrep -c softhca)" "0 0"

# Hosts that cannot be reached
rested
fleet ssh node0,node9 -d mlx5_0
is "no sshd" "$status $(captures)" "4 $(files node0)"
has "... ssh's own line" "$tmp/err" '^node9: did not start: ssh: connect to host 127\.0\.0\.1 port 2209: Connection refused'
PATIENCE=0 fleet ssh silent -d mlx5_0
is "a host that does not get ready" "$status $(captures)" "2 *"
has "... is left out" "$tmp/err" '^silent: not ready after'
mkdir "$tmp/mine" && : >"$tmp/mine/file"
"$fleet" -w node0 -o "$tmp/mine" -- -d mlx5_0 2>"$tmp/err"
is "a folder that exists is not touched" "$? $(ls -A "$tmp/mine")" "3 file"
while IFS= read -r name; do
	fleet ssh "$name" -d mlx5_0
	is "refused: '$name'" "$status $(find "$tmp/out" 2>/dev/null | wc -l)" "1 0"
done <<'END'
-oProxyCommand=x
node0,-oProxyCommand=x
node0;x
node0$(x)
../node0
node0,.node1
a@node0
node0'
nöde
END
fleet ssh "" -d mlx5_0
is "refused: no host" "$status" 1

if [ -n "${TEST_FULL-}" ]; then
	if has_tool clush "clush"; then
		export CLUSTERSHELL_CFGDIR=$tmp/clush
		mkdir "$tmp/clush" && printf '[Main]\nssh_options: -F %s\n' "$tmp/ssh_config" >"$tmp/clush/clush.conf"
		well clush 'node[0-2]' "$(files node0 node1 node2)"
		documented '^-b clush'
		odd clush 'node[0-2]' "$(files node0 node2)"
		interrupted clush 'node[0,2]' "node0 node2" "$(files node0 node2) 2"
	fi
	if has_tool munged "Slurm" && has_tool slurmctld "Slurm" && has_tool slurmd "Slurm" && has_tool srun "Slurm"; then
		head -c 1024 /dev/urandom >"$tmp/munge.key" && chmod 400 "$tmp/munge.key"
		munged --force --key-file="$tmp/munge.key" --socket="$tmp/munge" --pid-file="$tmp/munged.pid" --log-file="$tmp/munged.log" \
			--seed-file="$tmp/munge.seed"
		mkdir "$tmp/state"
		export SLURM_CONF=$tmp/slurm.conf
		cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$tmp/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$tmp/state
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdSpoolDir=$tmp/slurmd.%n
SlurmdPidFile=$tmp/slurmd.%n.pid
SlurmdLogFile=$tmp/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
NodeName=node[0-7] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[7010-7017] CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP
END
		slurmctld
		for i in 0 1 2 3 4 5 6 7; do slurmd -N "node$i"; done
		idle() { [ "$(sinfo -h -o '%D %T')" = "8 idle" ]; }
		wait_for idle
		# A job that has all nodes, beside whose steps captures run
		salloc --no-shell -N 8 >"$tmp/log" 2>&1
		SLURM_JOB_ID=$(sed -n 's/.*Granted job allocation //p' "$tmp/log")
		export SLURM_JOB_ID SLURM_JOB_NODELIST='node[0-7]'
		well srun "" "$(all node0 node1 node2 node3 node4 node5 node6 node7)"
		documented '^-b srun'
		odd srun 'node[0-7]' "$(files node0 node2 node3 node4 node5 node6 node7)"
		interrupted srun 'node[0,2]' "node0 node2" "$(files node0 node2) 2"
		scancel "$SLURM_JOB_ID"
	fi
fi
tap_done
