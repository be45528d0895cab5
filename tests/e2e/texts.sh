#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Every word that commands print about the model, on both streams, but for times and numbers of processes.
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd python3
[ "$(id -u)" = 0 ] || skip_all "not root: other words about what it may not do"
cd "$tmp" && mkdir d || exit 1

python3 "$tap_top/tests/e2e/made.py" talks talks.pcap 0:1:7:0x62 3600:3:5:0x62
n=0
while IFS='|' read -r options command; do
	n=$((n + 1))
	echo "$ $options -- $command"
	# shellcheck disable=SC2086 # words of a command line
	model --time virtual $options -- "$RDMADUMP" $command </dev/null 2>&1
	echo "= $?"
	cat d/x 2>/dev/null && rm d/x
done >"$tmp/log" <<'END'
--gen count=300,size=60-1500,seed=1 --at-end sigint|-d mlx5_0 -w o.pcapng
--gen count=300,size=60-1500,seed=1 --at-end sigint|-d mlx5_0 -w o.pcap --debug -b 8 --host 10.0.0.1
--gen count=300,size=60-1500,seed=1 --at-end sigint|-d mlx5_0 -w o.erf --json
--gen count=300,size=60-1500,seed=1 --at-end sigint|-d mlx5_0 --analyze -w o.pcapng -a packets:20
--gen count=300,size=60-1500,seed=1,acks=1 --at-end sigint --clock realtime|-d mlx5_0 -v -c 12
--gen count=3000,size=60-1500,seed=1 --at-end sigint|-d mlx5_0 -w o.pcapng -C 100k -W 2 --zero-payload
--gen count=30,seed=1 --at-end sigint --dev link=ib,lid=1|-w o.pcapng
--gen count=30,seed=1 --at-end sigint --dev link=ib,lid=1,gateway=moved|-w o.pcapng --sniffer icmd -d mlx5_0
--gen count=30,seed=1 --at-end sigint --mode drop --burst 30,1 --lifespan 10|-b 3 -w o.pcapng
--gen count=30,seed=1 --at-end sigint|record mlx5_0 -w r.pcapng
--gen count=30,seed=1 --at-end sigint|record mlx5_0 -w r.pcapng -D --json --pre 1s --trigger nak --trigger retransmission
--pcap talks.pcap --at-end sigint --clock realtime|record mlx5_0 -w r.pcapng --trigger nak=access --no-analysis -D
--pcap talks.pcap --at-end sigint --clock realtime|record mlx5_0 -w r.pcapng --trigger nak=access --json --max-dumps 1
|record mlx5_0 --trigger-explain --trigger nak --trigger retransmission,qp=7 --trigger gave-up --trigger stall>5ms --trigger out_of_buffer --trigger log=/x
|list
--dev name=mlx5_0,ports=2,state=active+down --dev name=mlx5_1,link=ib,state=down,netdev=ib0|list -v
--dev name=mlx5_0,ports=2,state=active+down --dev name=mlx5_1,link=ib,state=down,netdev=ib0|list --json
--dev name=mlx5_0,state=down|-a duration:1 -w o.pcapng
--pcap talks.pcap --at-end sigint|record mlx5_0:1 --trigger nak=access --no-analysis --whole-frames --textfile d/x
--pcap talks.pcap --at-end sigint|record --trigger nak=access --exec true --pre 5ms
--pcap talks.pcap --at-end sigint|record mlx5_0 -w none/r.pcapng --trigger nak=access --no-analysis
--pcap talks.pcap --at-end sigint|record mlx5_0 -w d/r.pcapng --trigger nak=access --no-analysis --max-disk 1Mi
--pcap talks.pcap --at-end sigint --fault port=down,after_ms=1 --fault port=up,after_ms=3|record mlx5_0 -w r.pcapng --holdoff 1 --trigger port-down --trigger any-nak -q
--fault port=down,after_ms=10 --fault port=up,after_ms=30|events -c 2
--fault port=down,after_ms=10 --fault port=up,after_ms=30 --fault fatal,after_ms=50|events -a duration:1 --json
--gen count=300 --at-end sigint --fault cqe=no_qp,frame=100|-d mlx5_0 -w o.pcapng --json
--gen count=300 --at-end sigint --fault port=down,frame=100 --fault port=up,after_ms=200|-d mlx5_0 -w o.pcapng.gz --headers-only
--gen count=300,qps=8 --at-end sigint --dev rss=yes|-d mlx5_0 -w o.pcapng --queues 4 --rx-mode verbs --debug
--gen count=300,qps=8 --at-end sigint|-d mlx5_0 -w o.pcapng -M 1Mi --rx-mode wqe --max-burst 8 --latency 5
--gen count=300,qps=8 --at-end sigint|-i mlx5_0 --count --opcode write -Q out
--gen count=300,qps=8 --at-end sigint --clock realtime|-d mlx5_0 -w o.pcapng -j adapter -s 64 --no-facts --no-owners -v -e -tt -c 9
--no-devices|-r talks.pcap -e -ttt
--no-devices|-r talks.pcap -t -v --qp 0x9
--no-devices|-r talks.pcap -w o.pcapng.zst --zero-payload --json
--no-devices|-r talks.pcap -r none.pcap
--no-devices|counters --explain rx_prio3_pause
--no-devices|list
--no-devices|-c 1
--counter out_of_buffer=7 --counter np_cnp_sent=3 --ethtool rx_prio3_pause=5|counters
--counter out_of_buffer=7 --counter np_cnp_sent=3 --ethtool rx_prio3_pause=5|counters --all
--counter out_of_buffer=7 --counter np_cnp_sent=3 --ethtool rx_prio3_pause=5|counters --json
--counter out_of_buffer=7 --counter np_cnp_sent=3 --ethtool rx_prio3_pause=5|counters --prometheus
|counters --explain out_of_buffer
|bundle --dry-run
|bundle --dry-run --json
|bundle --dry-run --capture 3 --file talks.pcap --redact
|selftest --dry-run
|selftest --dry-run --json
--fault verb=create_qp,errno=EPERM|-c 1 -w o.pcapng
|-d mlx5_9 -c 1
|-d mlx5_0:7 -c 1
|--extcap-interfaces
|--extcap-interface rdmadump-mlx5_0-1 --extcap-dlts
|--extcap-interface rdmadump-mlx5_0-1 --extcap-config
END
sed -Ei 's/process [0-9]+/process N/; s/_[0-9]{14}/_TIME/; s/^([0-9]{10}\.|[0-9:.]{18} |2[0-9-]{9} [0-9:.]{12} )[0-9]*/TIME /
	s/[0-9.]+ \([0-9a-f]{8}[^)]*\)/VERSION/; s/("node_desc": ")[^ ]* /\1HOST /; s/version=[0-9.]*/version=N/; s/ in [0-9.]+ s\b/ in N s/; s/\([0-9.]+ [kM]?B\)/(N B)/; s/(_file_bytes_total) .*/\1 N/; s/("(program|start_ns|time_ns|time|host|kernel|duration_s|file_bytes|dump_bytes[a-z_]*|bytes|[a-z_]*_ns)": ?)("[^"]*"|[0-9.e-]+)/\1N/g' "$tmp/log"
as_kept texts "$tmp/log"
is "commands" "$n" 54
tap_done
