#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The receive queue on devices and kernels that are not as quick and tolerant as the model is by default.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq

export RDMAV_ALLOW_DISASSOC_DESTROY=1

before=() # a command in front of the program
# capture NAME SOFTHCA-OPTIONS... -- RDMADUMP-OPTIONS...: $tmp/out, report, log, stats, $status
capture() {
	local name=$1
	apart "${@:2}"
	[ -p "$tmp/out" ] || rm -f "$tmp/out"
	model --stats "$tmp/stats" --at-end sigint "${ahead[@]}" -- "${before[@]}" \
		"$RDMADUMP" -d mlx5_0 --json -w "$tmp/out" "${rest[@]}" >"$tmp/report" 2>"$tmp/log"
	status=$?
	is "$name: no memory taken from a live queue" "$(jq '.order_violations // 0' "$tmp/stats")" 0
	is "$name: nothing left on the device" "$(jq '[.leaked[]] | add' "$tmp/stats")" "${left:-0}"
}
frames_of() { hash_of "$1" | cut -d' ' -f1; }
before_flow() { jq '.devices[0].ports[0].before_flow' "$tmp/stats"; }
stat() { jq ".$1" "$tmp/stats"; }

# turn MODE: begins a case of a loop over the two modes. In the short form each case runs in one of them.
declare -A turns=([wqe]=0 [verbs]=1)
turn() {
	turns[$1]=$((turns[$1] + 1))
	[ -n "${TEST_FULL-}" ] || [ $((turns[$1] % 2)) = 1 ]
}

# --- the start: traffic flows already, commands take their time ---------------------------------

# For 1.5 s
count=30000
[ -n "${TEST_FULL-}" ] || count=5000
gen=count=$count,size=300,qps=8,seed=9
flowing=(--flowing --gen "$gen" --rate $((count * 2 / 3)))
for mode in wqe verbs; do
	while read -r latency linger; do
		turn $mode || continue
		name="$mode, commands take ${latency//,/ }, frames for $linger ms after"
		capture "$name" "${flowing[@]}" --latency "$latency" --dev name=mlx5_0,linger_ms="$linger" -- \
			--rx-mode $mode -b 14
		is "$name: exit status" $status 0
		skip=$(before_flow)
		holds "$name: traffic was flowing before the start" [ "$skip" -gt 20 ]
		is "$name: the frames since the start and no others" "$(hash_of "$tmp/out")" \
			"$("$SOFTHCA_FRAMES" --skip "$skip" "$gen")"
		is "$name: none lost" "$(json "$tmp/report" .lost_before_us.frames)" 0
	done <<-LIST
		destroy_flow=300 0
		10,destroy_flow=150 20
		create_flow=120 20
		create_flow=120 300
	LIST

	# The ring overflows while the flow is tried: that is no loss of the capture
	if turn $mode; then
		capture "$mode, small ring" "${flowing[@]}" --mode drop --latency destroy_flow=300 -- --rx-mode $mode -b 6
		skip=$(before_flow)
		is "$mode, small ring: delivered + lost = frames since the start" \
			$(($(json "$tmp/report" .frames.delivered) + $(json "$tmp/report" .lost_before_us.frames))) $((count - skip))
	fi

	turn $mode || continue
	capture "$mode, 4 queues" "${flowing[@]}" --latency destroy_flow=300 -- --rx-mode $mode -b 12 --queues 4
	is "$mode, 4 queues: frames since the start" "$(frames_of "$tmp/out")" $((count - $(before_flow)))
done

# A reader that opens the pipe late: frames have passed
rm -f "$tmp/out"
mkfifo "$tmp/out"
{ wait_for received "$tmp/tree" 100; cat "$tmp/out" >"$tmp/read"; } &
capture "late reader" "${flowing[@]}" --keep "$tmp/tree" --latency destroy_flow=100 -- -b 14
wait
rm "$tmp/out"
is "late reader: the frames since the start and no others" "$(hash_of "$tmp/read")" \
	"$("$SOFTHCA_FRAMES" --skip "$(before_flow)" "$gen")"

# --- frames that are longer than a buffer ---------------------------------------------------------

# A device with an MTU of 1500 gets frames of 2000 bytes now and then: no other frame is lost
export short_count=6000
short=(--gen "count=$short_count,size=300,seed=4" --rate 40000)
for mode in wqe verbs; do
	for oversize in lives kills halts; do
		turn $mode || continue
		name="$mode, a long frame: the queue $oversize"
		capture "$name" "${short[@]}" --dev name=mlx5_0,oversize=$oversize --fault cqe=loc_len,frame=2000 \
			--fault cqe=loc_len,frame=4000 -- --rx-mode $mode -b 8 -Z root
		is "$name: exit status" $status 0
		has "$name: counted and reported" "$tmp/log" 'lost 1 frame.*: longer than the receive buffers'
		has "$name: in the report" "$tmp/report" '"longer_than_buffer": 2'
		gaps=$(json "$tmp/report" .gaps)
		if [ $oversize = lives ]; then
			is "$name: not repaired" "$gaps" 0
			is "$name: all others captured" "$(frames_of "$tmp/out")" $((short_count - 2))
			lacks "$name: not restored" "$tmp/log" restored
		else
			is "$name: restored each time" "$gaps" 2
		fi
		# No frame twice, none before another
		got=$(frames_of "$tmp/out")
		is "$name: the frames in the file were delivered" "$got" "$(stat delivered)"
	done
	# A work queue's state can be read by DEVX only
	for device in devx=yes devx=no fw_refuse=90b; do
		turn $mode || continue
		name="$mode, 4 queues, a long frame: the queue halts, $device"
		capture "$name" "${short[@]}" --dev name=mlx5_0,oversize=halts,$device --fault cqe=loc_len,frame=2000 \
			--fault cqe=loc_len,frame=4000 -- --rx-mode $mode -b 8 --queues 4
		is "$name: exit status" $status 0
		is "$name: all others captured" "$(frames_of "$tmp/out")" $((short_count - 2))
		is "$name: restored each time" "$(json "$tmp/report" .gaps)" 2
		text='the receive queue failed \(a frame was longer than its buffer\) and was restored'
		[ $device = devx=yes ] || text='no frame arrived for 1 s after one that was longer than the receive buffers: the queue was reset'
		has "$name: why" "$tmp/log" "$text"
	done
	# The long frame is the last one of a burst, and the next burst comes after 1.5 s, or late enough for a reset after 1 s
	for device in devx=yes devx=no; do
		turn $mode || continue
		name="$mode, a long frame, then silence: the queue lives, $device"
		capture "$name" --gen count=4000,size=300,seed=4 --burst 2000,1500000 --dev name=mlx5_0,oversize=lives,$device \
			--fault cqe=loc_len,frame=2000 -- --rx-mode $mode -b 12
		is "$name: exit status" $status 0
		is "$name: all others captured" "$(frames_of "$tmp/out")" 3999
		is "$name: not reset" "$(json "$tmp/report" .gaps)" 0
	done
	# Without larger buffers it is exactly those two frames, whatever the size of the ring
	for ring in 3 8; do
		turn $mode || continue
		name="$mode, ring of 2^$ring, long frames of a queue that lives"
		capture "$name" --gen "count=10500,size=60-9000,seed=4" --dev name=mlx5_0,mtu=9000,oversize=lives \
			--fault cqe=loc_len,frame=20 --fault cqe=loc_len,frame=21 --fault cqe=loc_len,frame=10000 -- \
			--rx-mode $mode -b $ring --max-frame 65536 --when-full wait
		is "$name: exit status" $status 0
		is "$name: three lost" "$(frames_of "$tmp/out")" 10497
		is "$name: nothing repaired" "$(json "$tmp/report" .gaps)" 0
	done
	# Every frame is too long: all are counted, and their receives are posted again
	name="$mode, all frames too long, no larger buffers"
	capture "$name" --gen count=3000,size=3000 --fault verb=reg_mr,errno=ENOMEM,nth=2 --dev name=mlx5_0,oversize=lives -- \
		--rx-mode $mode -b 6
	is "$name: exit status" $status 0
	has "$name: why they stay" "$tmp/log" 'buffers stay at 1.5 KiB, longer frames are lost and counted: reg_mr.*--max-frame'
	has "$name: each is counted" "$tmp/report" '"longer_than_buffer": 3000'
	has "$name: with the length" "$tmp/log" 'the longest of 3000 bytes'
	name="$mode, all frames too long at first"
	capture "$name" --gen count=3000,size=3000 --rate 10000 --dev name=mlx5_0,oversize=lives -- --rx-mode $mode -b 6 -Z root
	has "$name: the buffers grow" "$tmp/log" 'buffers are now 3.0 KiB'
	is "$name: once" "$(grep -c 'buffers are now' "$tmp/log")" 1
	lost=$(json "$tmp/report" '.lost_before_us.at_least')
	[ "$(frames_of "$tmp/out")" -gt 2000 ] && [ "$lost" -ge 1 ]
	ok "$name: then they are captured" "$tmp/log"
done

# Without privileges and with a small limit of locked memory, larger buffers cannot be allocated
if command -v setpriv >/dev/null; then
	for oversize in lives kills; do
		name="no memory for larger buffers, the queue $oversize"
		before=(setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource bash -c 'ulimit -l 128; exec "$@"' -)
		capture "$name" --gen count=3000,size=1000-2000,seed=3 --rate 10000 --dev name=mlx5_0,oversize=$oversize -- -b 6
		before=()
		is "$name: exit status" $status 0
		has "$name: why" "$tmp/log" 'buffers stay at 1.5 KiB, longer frames are lost and counted: reg_mr of .*: Cannot allocate memory; a capture with --max-frame'
		is "$name: said once" "$(grep -c 'buffers stay' "$tmp/log")" 1
		[ "$(frames_of "$tmp/out")" -gt 400 ]
		ok "$name: the others are captured" "$tmp/log"
		is "$name: delivered or reported" "$(frames_of "$tmp/out")" "$(stat delivered)"
	done
fi

# The queues of a port, each with its own
mode=wqe
name="$mode, 4 queues, long frames"
capture "$name" --gen count=10000,size=300,qps=32,seed=5 --dev name=mlx5_0,oversize=lives \
	--fault cqe=loc_len,frame=2000 --fault cqe=loc_len,frame=9000 -- --rx-mode $mode -b 8 --queues 4 --max-frame 65536 --when-full wait
is "$name: two lost" "$(frames_of "$tmp/out")" 9998

# --- commands that the kernel refuses ------------------------------------------------------------

name="modify_qp refused"
capture "$name" "${short[@]}" --fault verb=modify_qp,errno=EACCES,nth=5 --fault cqe=loc_prot,frame=2000 --
is "$name: exit status" $status 4
has "$name: message" "$tmp/log" 'could not be replaced: modify_qp to RESET on mlx5_0:1: Permission denied'
name="destroy_flow refused"
# libmlx5 frees nothing of what could not be destroyed.
ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}" left=5 capture "$name" "${short[@]}" --fault verb=destroy_flow,errno=EACCES,nth=2 --
is "$name: exit status" $status 0
has "$name: message" "$tmp/log" 'destroy_flow on mlx5_0:1: Permission denied; the kernel frees it when the device is closed'
is "$name: all frames" "$(frames_of "$tmp/out")" $short_count

# --- what devices may refuse ----------------------------------------------------------------------

capture "one sniffer at a time" "${short[@]}" --dev name=mlx5_0,sniffers=1 --
is "one sniffer at a time: all frames" "$(frames_of "$tmp/out")" $short_count
for mode in auto wqe verbs; do
	name="$mode, 1024 work queue entries, no RSS"
	capture "$name" "${short[@]}" --dev name=mlx5_0,wqes=1024,rss=no -- --rx-mode $mode
	is "$name: all frames" "$(frames_of "$tmp/out")" $short_count
done
for mode in wqe verbs; do
	name="$mode, compressed completions"
	capture "$name" "${short[@]}" --dev name=mlx5_0,cqe_comp=forced -- --rx-mode $mode
	is "$name: exit status" $status 4
	has "$name: message" "$tmp/log" 'the device compresses completions.*CQE_COMPRESSION.*BALANCED\(0\)'
	is "$name: no frame is made up" "$(frames_of "$tmp/out")" 0
done
name="a virtual function"
model --dev name=mlx5_0,devid=1018,sniffer=no,caps=none,rss=no -- "$RDMADUMP" -d mlx5_0 -w "$tmp/none" 2>"$tmp/log"
exits "$name" 2 "$tmp/log" 'no sniffer'

# --- all of it ------------------------------------------------------------------------------------

for mode in wqe verbs; do
	turn $mode || continue
	name="$mode, everything at once"
	# In virtual time, the long frame comes after the start, however long a busy machine takes for that.
	capture "$name" --time virtual "${flowing[@]}" --latency 5,destroy_flow=100 --clock cycles --fault cqe=loc_len,frame=$((count * 2 / 3)) \
		--dev name=mlx5_0,linger_ms=30,oversize=lives,sniffers=1,wqes=16384 -- --rx-mode $mode --max-frame 65536
	is "$name: exit status" $status 0
	is "$name: all frames since the start but one" "$(frames_of "$tmp/out")" $((count - $(before_flow) - 1))
	is "$name: that one is reported" "$(json "$tmp/report" .lost_before_us.frames)" 1
done

tap_done
