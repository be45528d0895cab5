# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# Boots small virtual machines with Debian's kernel and a real rdma_rxe. The kernel and a root file
# system are made once and cached; the machines run under QEMU without KVM.
# Sourced by tests/vm/run and tests/vm/suite.sh. Expects VM_BIN (where the programs of tests/vm are).

vm_src=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm_cache=${VM_CACHE:-$(cd "$vm_src/../.." && pwd)/build/cache/vm}

# Programs in the machines besides the program under test; the tests need those of the first line.
vm_programs="busybox dash ip tc rdma tcpdump ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong
	ibv_srq_pingpong ibv_devinfo ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw rping mckey
	setpriv sysctl timeout ibstat ibstatus zstd"
vm_extras="ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat ibv_devices ucmatose udaddy bash
	ethtool strace iperf3"
# Files beside the programs, as FILE:PACKAGE; a pattern must match something. The RDMA core loads its
# drivers by name, threads that end load libgcc_s, tcpdump and ip read the names of protocols.
vm_files="/usr/lib/*/libibverbs/librxe-rdmav*.so:ibverbs-providers
	/etc/libibverbs.d/rxe.driver:ibverbs-providers /lib/x86_64-linux-gnu/libgcc_s.so.1:libgcc-s1
	/etc/protocols:netbase"
# Loaded at boot, dependencies added; the others are there for modprobe.
vm_modules="virtio_pci virtio_net 9pnet_virtio 9p crc32_generic ib_uverbs rdma_ucm rdma_rxe"
vm_more_modules="ib_umad veth 8021q sch_netem sch_prio sch_ingress cls_matchall cls_u32 act_gact brd nvme_rdma nvmet_rdma"

vm_found= # vm_files, expanded
vm_why=   # what is missing

vm_say() { echo "vm: $*" >&2; }

# --- the kernel ----------------------------------------------------------------------------

# Extracts vmlinux from a bzImage: the guest would need seconds to unpack it.
vm_unpack_kernel() {
	local at
	at=$(LC_ALL=C grep -aboP '\xfd7zXZ\x00' "$1" | head -n 1 | cut -d: -f1)
	[ -n "$at" ] && tail -c +"$((at + 1))" "$1" | xz -dc --single-stream >"$2" 2>/dev/null
	# xz fails because of the data after the stream.
	[ "$(LC_ALL=C head -c 4 "$2" 2>/dev/null)" = $'\x7fELF' ] || cp "$1" "$2"
}

# The package with Debian's kernel, or another one of Debian (VM_KERNEL); "" where apt knows none.
vm_kernel_package() {
	apt-cache depends "${VM_KERNEL:-linux-image-amd64}" 2>/dev/null |
		awk '$1 == "Depends:" && $2 ~ /^linux-image-/ {print $2; exit}'
}

vm_download_kernel() {
	local package=$1 work=$vm_cache/work.$$ status
	mkdir -p "$work" "$vm_kernel"
	# apt's user cannot write here, and apt would print a warning.
	if (cd "$work" && apt-get -q -o APT::Sandbox::User=root download "$package") >"$work/log" 2>&1; then
		vm_why="cannot unpack $package into $vm_kernel"
		dpkg -x "$work"/*.deb "$work/root" &&
			rm -rf "${vm_kernel:?}/lib" && mv "$work/root/lib" "$vm_kernel/" &&
			depmod -b "$vm_kernel" "$(ls "$vm_kernel/lib/modules")" &&
			vm_unpack_kernel "$work"/root/boot/vmlinuz-* "$vm_kernel/vmlinux.new" &&
			mv "$vm_kernel/vmlinux.new" "$vm_kernel/vmlinux"
		status=$?
	else
		vm_why="cannot download $package: $(tail -n 1 "$work/log")"
		status=1
	fi
	[ "$status" = 0 ] || rm -rf "$vm_kernel"
	rm -rf "$work"
	return "$status"
}

# The kernel that linux-image-amd64 depends on, in $vm_cache/kernel-VERSION/; sets vm_kernel. If apt
# has none, a cached one is used.
vm_get_kernel() {
	local package
	package=$(vm_kernel_package)
	if [ -z "$package" ]; then
		apt-get -q update >/dev/null 2>&1
		package=$(vm_kernel_package)
	fi
	vm_why="apt knows no linux-image-amd64"
	if [ -n "$package" ]; then
		vm_kernel=$vm_cache/kernel-${package#linux-image-}
		[ -e "$vm_kernel/vmlinux" ] && return 0
		vm_download_kernel "$package" && return 0
	fi
	vm_kernel=$(find "$vm_cache" -maxdepth 2 -path '*/kernel-*/vmlinux' 2>/dev/null | sort | tail -n 1)
	vm_kernel=${vm_kernel%/vmlinux}
	[ -n "$vm_kernel" ]
}

# --- the root file system ------------------------------------------------------------------

# Real files that a program needs, one per line: itself, its libraries, its loader.
vm_needs() {
	local p
	for p in "$@"; do
		echo "$p"
		ldd "$p" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3} $1 ~ /^\// {print $1}'
	done | sort -u
}

vm_paths() {
	local p
	for p in "$@"; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$p"
	done
}

# Copies files to the same names below a directory, links followed.
vm_copy() {
	local to=$1 f
	shift
	for f in "$@"; do
		[ -e "$to$f" ] || { mkdir -p "$to${f%/*}" && cp -L "$f" "$to$f"; } ||
			{ vm_why="cannot copy $f to $to$f"; return 1; }
	done
}

vm_pack() { (cd "$1" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$2"; }

# The files of vm_files, patterns expanded; fails at one that is not there, which vm_why names.
vm_find_files() {
	local file found
	for file in $vm_files; do
		found=$(compgen -G "${file%:*}") ||
			{ vm_why="${file%:*} is missing: install the package ${file##*:} (scripts/deps vm)"; return 1; }
		vm_found="${vm_found-} $found"
	done
}

# The modules with all they depend on; /modules names those to load at boot, in their order.
vm_copy_modules() {
	local root=$1 version=$2 name f
	for name in $vm_modules $vm_more_modules; do
		modprobe -d "$vm_kernel" -S "$version" --show-depends "$name" >"$root/depends" ||
			{ vm_why="$vm_kernel has no module $name"; return 1; }
		while read -r _ f _; do
			[ "${f#/}" != "$f" ] || continue # built in
			f=${f#"$vm_kernel"}
			if [ ! -e "$root$f" ]; then
				mkdir -p "$root${f%/*}" && cp "$vm_kernel$f" "$root$f" || return 1
			fi
			case " ${vm_modules//[[:space:]]/ } " in
			*" $name "*)
				grep -qxF "$f" "$root/modules" 2>/dev/null || echo "$f" >>"$root/modules"
				;;
			esac
		done <"$root/depends"
	done
	rm "$root/depends"
	cp "$vm_kernel/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} \
		"$root/lib/modules/$version/" && depmod -b "$root" "$version"
}

# A hash of the image's inputs, to detect changes.
vm_fingerprint() {
	{
		echo "$vm_kernel $vm_programs $vm_extras $vm_modules $vm_more_modules"
		# shellcheck disable=SC2046,SC2086 # lists of names
		stat -L -c '%n %s %Y' $(vm_paths $vm_programs $vm_extras)
		dpkg-query -W -f '${Package} ${Version}\n' libc6 libibverbs1 librdmacm1 \
			ibverbs-providers libpcap0.8
		cat "$vm_src/vm.sh" "$vm_src/init" "$vm_src/lib.sh"
	} 2>/dev/null | sha256sum | cut -c 1-16
}

# Sets vm_image; makes it if there is none with these inputs.
vm_get_image() {
	local version root files f
	version=$(ls "$vm_kernel/lib/modules")
	vm_image=$vm_cache/root-$(vm_fingerprint).cpio
	[ -e "$vm_image" ] && return 0
	root=$vm_cache/root.$$
	vm_why="cannot make $vm_image"
	mkdir -p "$root"/{bin,proc,sys,dev,tmp,share,etc,run,var,root} || return 1
	# shellcheck disable=SC2046,SC2086 # lists of names
	files=$(vm_needs $(vm_paths $vm_programs $vm_extras) $vm_found) &&
		vm_copy "$root" $files &&
		vm_copy_modules "$root" "$version" &&
		cp "$vm_src/init" "$root/init" && cp "$vm_src/lib.sh" "$root/lib.sh" &&
		for f in $(busybox --list); do ln -s "$(vm_paths busybox)" "$root/bin/$f"; done &&
		ln -sf "$(vm_paths dash)" "$root/bin/sh" &&
		printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd" &&
		printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group" &&
		vm_pack "$root" "$vm_image.new.$$" && rm -f "$vm_cache"/root-*.cpio &&
		mv "$vm_image.new.$$" "$vm_image"
	local status=$?
	rm -rf "$root" "$vm_image.new.$$"
	return $status
}

# Prepares everything for booting a machine; on failure vm_why says what is missing.
vm_prepare() {
	local t
	for t in qemu-system-x86_64 depmod modprobe cpio xz busybox; do
		[ -n "$(vm_paths "$t")" ] || { vm_why="$t is not installed (scripts/deps vm)"; return 1; }
	done
	for t in $vm_programs; do
		[ -n "$(vm_paths "$t")" ] || { vm_why="$t is not installed (scripts/deps vm)"; return 1; }
	done
	vm_find_files || return 1
	# shellcheck disable=SC2034 # who calls reads it
	mkdir -p "$vm_cache" || { vm_why="cannot make $vm_cache"; return 1; }
	exec 9>"$vm_cache/lock" && flock 9 # two runs make one image
	vm_get_kernel && vm_get_image
	local status=$?
	exec 9>&-
	return $status
}

# --- running -------------------------------------------------------------------------------

# The machines of a run, by their number; each is named by what it is: a router and hosts.
vm_sides() {
	case $1 in
	1) echo a ;;
	2) echo a b ;;
	3) echo r a b ;;
	5) echo r a b c d ;;
	esac
}

# The cable: Unix sockets, since a TCP socket between the machines would collect small frames.
vm_nics() {
	local side=$1 n=$2 dir=$3 hosts=abcd i
	wire() {
		echo -n "-netdev stream,id=$1,server=$3,addr.type=unix,addr.path=$dir/$2.wire" \
			"-device virtio-net-pci,netdev=$1,mac=52:54:00:77:0$4:0$5,romfile= "
	}
	case $n$side in
	2a) wire n0 ab on 0 1 ;;
	2b) wire n0 ab off 0 2 ;;
	[35]r) for ((i = 1; i < n; i++)); do wire "n$i" "r${hosts:i-1:1}" on "$i" 9; done ;;
	[35]?)
		i=${hosts%%"$side"*}
		i=$((${#i} + 1))
		wire n0 "r$side" off "$i" "$i"
		;;
	esac
}

# The clock is the PM timer: on a busy host the kernel measures a wrong TSC frequency, and its check
# whether the timer ticks can fail.
# vm_boot N SECONDS SHARE OVERLAY: runs /script of the overlay in N machines; the machines' output
# goes to standard output, a line beginning with the machine's name. Status: the worst of them.
vm_boot() {
	local n=$1 seconds=$2 share=$3 overlay=$4 side worst=0 status run
	run=$(mktemp -d "${TMPDIR:-/tmp}/vm.XXXXXX")
	cat "$vm_image" "$overlay" >"$run/initrd"
	for side in $(vm_sides "$n"); do
		# shellcheck disable=SC2046 # a list of arguments
		(
			timeout -k 5 "$seconds" qemu-system-x86_64 -M pc,usb=off,vmport=off,hpet=off \
				-accel tcg -cpu "${VM_CPU:-max}" -m "${VM_MEMORY:-768}" -smp "${VM_CPUS:-1}" \
				-nodefaults -no-user-config -display none -no-reboot \
				-kernel "$vm_kernel/vmlinux" -initrd "$run/initrd" \
				-append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr clocksource=acpi_pm no_timer_check \
random.trust_cpu=on vm.side=$side vm.n=$n" \
				-serial "file:$share/console.$side" -serial stdio \
				-virtfs "local,path=$share,mount_tag=share,security_model=none" \
				$(vm_nics "$side" "$n" "$run") </dev/null 2>"$share/qemu.$side"
			echo $? >"$run/qemu-status.$side"
			# So that no machine waits for one that has died.
			[ -e "$share/status.$side" ] || : >"$share/gone"
		) | sed -u -e 's/\r$//' -e "s/^/$side: /" &
		# The listening end of a cable first.
		vm_wait_wire "$side" "$n" "$run"
	done
	wait
	for side in $(vm_sides "$n"); do
		status=$(cat "$share/status.$side" 2>/dev/null)
		if [ -z "$status" ]; then
			vm_say "machine $side ended without a status after at most $seconds s" \
				"(QEMU's status $(cat "$run/qemu-status.$side")): $(cat "$share/qemu.$side")"
			tail -n 5 "$share/console.$side" >&2
			status=99
		fi
		[ "$status" -le "$worst" ] || worst=$status
	done
	rm -rf "$run"
	return "$worst"
}

vm_wait_wire() {
	local wires= w i
	case $2$1 in
	2a) wires=ab ;;
	?r) wires=$(vm_sides "$2" | sed 's/^r//; s/ / r/g') ;;
	esac
	for w in $wires; do
		for ((i = 0; i < 500; i++)); do
			[ -S "$3/$w.wire" ] && break
			sleep 0.02 # pause: a socket that qemu makes
		done
	done
}

# vm_overlay FILE SCRIPT PROGRAM...: an archive that is unpacked over the image: the script, the
# programs on PATH in /x, their libraries.
vm_overlay() {
	local to=$1 script=$2 work p
	shift 2
	work=$(mktemp -d "${TMPDIR:-/tmp}/vm.XXXXXX")
	chmod 755 "$work" # it will be /
	mkdir "$work/x" && cp -L "$script" "$work/script" || return 1
	for p in "$@"; do
		[ -f "$p" ] || { vm_say "'$p' is no file"; return 1; }
		cp -L "$p" "$work/x/" || return 1
		# shellcheck disable=SC2046 # a list of files
		vm_copy "$work" $(vm_needs "$p" | grep -vxF "$p") || return 1
	done
	vm_pack "$work" "$to"
	rm -rf "$work"
}
